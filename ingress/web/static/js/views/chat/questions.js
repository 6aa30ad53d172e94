// What runs wait for: commands that a person must allow, and questions of agents. Shown above the input.
import { at, post } from "../../api.js";
import { age, sessionName } from "../../format.js";
import { html } from "../../preact.js";
import { attempt } from "../../parts/toasts.js";
import { useNow, useResource } from "../../resource.js";

export function Questions() {
  const waiting = useResource(at("questions"), { everyMs: 3000 });
  const now = useNow(1000);
  const { questions = [] } = waiting.data ?? {};
  if (!questions.length) return null;
  return html`
    <section class="questions" aria-label="Waiting for you">
      ${questions.map((each) => html`<${Question} key=${each.id} one=${each} now=${now} reload=${waiting.reload} />`)}
    </section>
  `;
}

function Question({ one, now, reload }) {
  const act = async (path, body) => {
    await attempt(() => post(at("questions", path), { id: one.id, ...body }), (done) => done.text);
    reload();
  };
  const decide = (how) => () => act("decide", { how });
  return html`
    <div class="card question" role="group" aria-label=${one.kind === "approval" ? "Command to allow" : "Question"}>
      <p class="small dim">${sessionName(one.sessionKey)} · asked ${age(one.askedAt, now)} ago</p>
      ${one.kind === "approval"
        ? html`
            <p>Let this command run on the ${one.place} in <span class="mono">${one.cwd}</span>? ${one.text}</p>
            <pre class="mono">${one.command}</pre>
            <div class="actions">
              <button class="primary" onClick=${decide("once")}>Allow once</button>
              <button onClick=${decide("for")}>Allow for a time</button>
              ${one.canAlways && html`<button onClick=${decide("always")}>Allow always</button>`}
              <button class="danger" onClick=${decide("deny")}>Deny</button>
            </div>
          `
        : html`
            <p>${one.text}</p>
            <div class="actions">
              ${one.choices.map((choice, at) => html`
                <button key=${choice} onClick=${() => act("answer", { text: String(at + 1) })}>${choice}</button>
              `)}
            </div>
            <form class="actions" onSubmit=${(event) => answerFrom(event, act)}>
              <input name="answer" aria-label="Your answer" placeholder="Answer in your own words" required />
              <button>Answer</button>
            </form>
          `}
    </div>
  `;
}

function answerFrom(event, act) {
  event.preventDefault();
  act("answer", { text: new FormData(event.target).get("answer") });
}
