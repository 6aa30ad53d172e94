// The selected run: what it is, what it did step by step, and its buttons.
import { at } from "../../api.js";
import { duration, money, number, sessionName, tokens } from "../../format.js";
import { workerName } from "../../hosts.js";
import { html, useEffect, useRef, useState } from "../../preact.js";
import { Icon } from "../../parts/icons.js";
import { StateTag, isLive } from "../../parts/marks.js";
import { Loaded } from "../../parts/states.js";
import { useResource } from "../../resource.js";
import { Link, chatPath } from "../../router.js";
import { canChat } from "../../sessions.js";
import { RunActions } from "./actions.js";
import { Story } from "./story.js";
import { isRunChange } from "./runs.js";
import { nameOf, subtreeCost } from "./tree.js";

export function RunPanel({ run, root, title, now, me, reload }) {
  const [open, setOpen] = useState(run !== root);
  const live = isLive(run.state);
  const journal = useResource(at("runs", run.runId, "journal"), { on: isRunChange, everyMs: live ? 3000 : undefined });
  const panel = useRef(null);
  const name = run === root ? title : nameOf(run);
  useEffect(() => {
    const onKey = (event) => event.key === "Escape" && !document.querySelector("dialog[open]") && setOpen(false);
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return html`
    <aside class="panel ${open ? "open" : ""}" ref=${panel} aria-label="The selected run">
      <button class="quiet icon panel-close" aria-label="Close" onClick=${() => setOpen(false)}>
        <${Icon} name="close" />
      </button>
      <div>
        <h2>${name}</h2>
        <p class="sub"><${StateTag} state=${run.state} /> ${waitsFor(run)}</p>
      </div>
      <div class="actions">
        <${Link} class="button" to=${chatPath(run.sessionKey)}>Open chat<//>
        ${canChat(me) && html`<${RunActions} run=${run} reload=${reload} />`}
      </div>
      ${run.error && html`<p class="notice error">${run.error}</p>`}
      <${RunFacts} run=${run} now=${now} />
      <div class="section-line label">What it did</div>
      <${Loaded} resource=${journal}>${(data) => html`<${Story} run=${run} entries=${data.journal} />`}<//>
    </aside>
    ${!open && html`<button class="panel-open primary" onClick=${() => setOpen(true)}>Details</button>`}
  `;
}

function waitsFor(run) {
  const live = (run.children ?? []).filter((child) => isLive(child.state)).length;
  if (run.state === "parked")
    return live ? `waits for ${live} sub-agent${live > 1 ? "s" : ""}` : "waits for another session";
  if (run.state === "queued") return "waits for a worker";
  return run.reason && run.reason !== "complete" ? run.reason : "";
}

const ANNOUNCE = {
  running: "when its batch has ended",
  settled: "pending",
  delivered: "delivered to its parent",
  none: "not wanted",
  attached: "part of its parent's result",
  folded: "part of its parent's result",
  archived: "in the archive: the parent was reset",
  nobody: "nobody is left to get it",
  blocked: "blocked",
};

function RunFacts({ run, now }) {
  const usage = run.usage ?? {};
  const total = run.tokens ?? usage.total;
  const below = subtreeCost(run);
  const facts = [
    ["Run", run.runId],
    ["Session", html`<${Link} to=${chatPath(run.sessionKey)}>${sessionName(run.sessionKey)}<//>`],
    ["Agent", run.agentId],
    ["Lane", run.lane],
    ["Host", run.attempts?.length ? workerName(run.attempts[run.attempts.length - 1].worker) : null],
    ["Model", run.model],
    ["Attempts", run.attempts?.length > 1 ? attemptsText(run) : null],
    ["Took", run.endedAt || run.startedAt ? duration((run.endedAt ?? now) - (run.startedAt ?? run.queuedAt)) : null],
    ["Tokens", total ? `${tokens(total)} (${number(usage.input ?? 0)} in, ${number(usage.output ?? 0)} out)` : "0"],
    ["Cost", below > run.cost ? `${money(run.cost)}, with sub-agents ${money(below)}` : money(run.cost)],
    ["Announce", run.delivery ? (ANNOUNCE[run.delivery] ?? run.delivery) : null],
  ];
  const known = facts.filter(([, value]) => value);
  return html`<dl class="kv">${known.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function attemptsText(run) {
  const lost = run.attempts.filter((attempt) => attempt.how === "takeover").length;
  const hosts = [...new Set(run.attempts.map((attempt) => workerName(attempt.worker)))].join(", then ");
  return `${run.attempts.length}${lost ? `, ${lost} lost` : ""}: ${hosts}`;
}
