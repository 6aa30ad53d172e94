// The head of a conversation: name, state, model, and what one can do with the session.
import { at, patch, post, remove } from "../../api.js";
import { money, sessionName, tokens } from "../../format.js";
import { html } from "../../preact.js";
import { confirm, prompt } from "../../parts/dialog.js";
import { StateTag } from "../../parts/marks.js";
import { attempt } from "../../parts/toasts.js";
import { Link, navigate, sessionRunsPath } from "../../router.js";
import { canChat, isAdmin } from "../../sessions.js";

export function SessionHeader({ sessionKey, talk, busy, me, onChanged, onDeleted }) {
  const session = talk.session;
  const label = session?.label;
  const facts = session
    ? [
        session.agentId,
        session.model ?? session.row?.model,
        `${tokens(session.tokens)} tokens`,
        session.cost ? money(session.cost) : null,
        session.thinkingLevel && session.thinkingLevel !== "off" ? `thinking ${session.thinkingLevel}` : null,
      ].filter(Boolean)
    : [];
  return html`
    <header class="chat-head">
      <div class="ellipsis">
        <h1 class="ellipsis" title=${sessionKey}>${sessionName(sessionKey, label ?? undefined)}</h1>
        <p class="sub ellipsis">
          ${session && html`<${StateTag} state=${busy && session.state === "idle" ? "queued" : session.state} /> `}
          ${talk.missing ? "new session" : facts.join(" · ")}
        </p>
      </div>
      ${session && html`
        <div class="actions">
          <${Link} class="button" to=${sessionRunsPath(sessionKey)}>Runs<//>
          ${canChat(me) && html`
            <button onClick=${() => rename(sessionKey, label, onChanged)}>Rename</button>
            <button onClick=${() => reset(sessionKey, onChanged)}>Reset</button>
          `}
          ${isAdmin(me) && html`<button class="danger" onClick=${() => forget(sessionKey, onDeleted)}>Delete</button>`}
        </div>
      `}
    </header>
  `;
}

async function rename(key, label, onChanged) {
  const values = await prompt({
    title: "Name this session",
    action: "Save",
    text: "Other sessions can send to it by this name.",
    fields: [{ name: "label", label: "Name", value: label ?? "", required: false }],
  });
  if (values && (await attempt(() => patch(at("sessions", key), { label: values.label.trim() || null })))) onChanged();
}

async function reset(key, onChanged) {
  const sure = await confirm(
    "Reset the session?",
    "A running turn is stopped. The transcript is archived, and the agent starts without it.",
    "Reset",
  );
  if (sure && (await attempt(() => post(at("sessions", key, "reset")), "The session was reset."))) onChanged();
}

async function forget(key, onDeleted) {
  const sure = await confirm(
    "Delete this session?",
    "A running turn is stopped. The transcript is archived in the state directory.",
    "Delete",
  );
  if (!sure || !(await attempt(() => remove(at("sessions", key)), "The session is deleted."))) return;
  await onDeleted();
  navigate("/chat");
}
