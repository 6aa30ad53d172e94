// What one can do with a run: stop, steer, run again.
import { at, post } from "../../api.js";
import { html } from "../../preact.js";
import { confirm, prompt } from "../../parts/dialog.js";
import { isLive } from "../../parts/marks.js";
import { attempt } from "../../parts/toasts.js";
import { navigate, runPath } from "../../router.js";

export function RunActions({ run, isTree = false, live = isLive(run.state), reload }) {
  return html`
    ${isLive(run.state) && html`<button onClick=${() => steer(run, reload)}>Steer…</button>`}
    ${!live && html`<button onClick=${() => rerun(run)}>Rerun</button>`}
    ${live && html`
      <button class="danger" onClick=${() => stop(run, isTree, reload)}>${isTree ? "Stop tree" : "Stop"}</button>
    `}
  `;
}

async function steer(run, reload) {
  const values = await prompt({
    title: "Steer this run",
    text: "The agent reads it before its next step.",
    action: "Send",
    fields: [{ name: "text", label: "Message", kind: "area" }],
  });
  if (
    values?.text.trim() &&
    (await attempt(
      () => post(at("runs", run.runId, "steer"), { text: values.text.trim() }),
      "The message joins the run.",
    ))
  )
    reload();
}

async function stop(run, isTree, reload) {
  const sure =
    !isTree || (await confirm("Stop the whole tree?", "The run and everything it spawned end as stopped.", "Stop"));
  if (sure && (await attempt(() => post(at("runs", run.runId, "stop")), "Stopping."))) reload();
}

async function rerun(run) {
  const sure = await confirm("Run it again?", "The same message is sent to the session as a new run.", "Rerun", false);
  const answer = sure && (await attempt(() => post(at("runs", run.runId, "rerun"))));
  if (answer?.runId) navigate(runPath(answer.runId));
}
