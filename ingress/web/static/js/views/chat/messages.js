// One item of the transcript.
import { clock, firstLine, moment, plural, tokens } from "../../format.js";
import { html } from "../../preact.js";
import { Dot, isLive, stateWord } from "../../parts/marks.js";
import { withCode } from "../../parts/states.js";
import { Link, chatPath, runPath } from "../../router.js";
import { FileChips } from "./attachments.js";
import { Rendered } from "./rendered.js";
import { ToolGroup } from "./tools.js";

export function Item({ item, running }) {
  switch (item.kind) {
    case "user":
      return html`<${UserMessage} ...${item} />`;
    case "assistant":
      return html`<article class="msg assistant" aria-label="Agent"><${Rendered} text=${item.text} /></article>`;
    case "thinking":
      return html`<${Fold} title="Reasoning" text=${item.text} />`;
    case "tools":
      return html`<${ToolGroup} calls=${item.calls} running=${running} />`;
    case "internal":
      return html`<${Fold} title=${SOURCES[item.source] ?? `From ${item.source}`} text=${item.text} />`;
    case "compaction":
      return html`<${Fold} title=${compacted(item.entry)} text=${item.entry.summary} />`;
    default:
      return html`<p class="notice ${item.level}" role="note">${withCode(item.text)}</p>`;
  }
}

const SOURCES = { subagent: "Results of sub-agents", "inter-session": "From another session", event: "Event" };

const compacted = (entry) =>
  `Older messages were summed up (${tokens(entry.tokensBefore)} → ${tokens(entry.tokensAfter)} tokens)`;

const UserMessage = ({ text, attachments, steered, at }) => html`
  <article class="msg user" aria-label="You">
    ${text && html`<div class="bubble">${text}</div>`}
    <${FileChips} files=${attachments} />
    <small>${steered ? "steered · " : ""}<time title=${moment(at)}>${clock(at)}</time></small>
  </article>
`;

const Fold = ({ title, text }) => html`
  <details class="fold">
    <summary><b>${title}</b> <span class="dim ellipsis">${firstLine(text)}</span></summary>
    <pre>${text}</pre>
  </details>
`;

/** A message that was just sent: on its way, failed, or a command with its output. */
export function Pending({ item, retry, forget }) {
  const words = { sending: "sending…", accepted: "accepted", failed: "not sent", command: "command" };
  return html`
    <article class="msg user ${item.state}" aria-label="You">
      ${item.text && html`<div class="bubble">${item.text}</div>`}
      <${FileChips} files=${item.attachments} />
      <small>${words[item.state]}</small>
    </article>
    ${item.state === "command" && html`<pre class="command-output" role="status">${item.output}</pre>`}
    ${item.state === "failed" && html`
      <div class="notice error" role="alert">
        ${item.error.message} ${withCode(item.error.hint ?? "")}
        <span class="actions">
          <button onClick=${() => retry(item)}>Send again</button>
          <button class="quiet" onClick=${() => forget(item.id)}>Discard</button>
        </span>
      </div>
    `}
  `;
}

/** The turn in progress below the transcript. */
export function LiveTurn({ turn, extraCalls, busy }) {
  const active = busy && !turn.closed;
  // Text before a tool call is closed by it; open text came after the calls.
  const text =
    turn.text &&
    html`
      <article class="msg assistant ${turn.closed ? "" : "streaming"}" aria-label="Agent, writing">
        <div class="prose plain">${turn.text}</div>
      </article>
    `;
  const isIdle = !turn.text && !turn.thinking && !extraCalls.length && !turn.note;
  return html`
    ${turn.thinking && html`
      <details class="fold live" open><summary><b>Reasoning</b></summary><pre>${turn.thinking}</pre></details>
    `}
    ${turn.closed && text}
    ${extraCalls.length > 0 && html`<${ToolGroup} calls=${extraCalls} running=${busy} />`}
    ${!turn.closed && text}
    ${turn.note && busy && html`<p class="notice">${turn.note}</p>`}
    ${active && isIdle && html`
      <p class="thinking-dots" role="status"><i></i><i></i><i></i><span class="sr-only">The agent works</span></p>
    `}
  `;
}

/** The sub-agents of this conversation: those at work, and those that ended since the page is open. */
export function Children({ turn }) {
  const all = Object.values(turn.children);
  if (!all.length) return null;
  const live = all.filter((child) => isLive(child.state));
  const root = (live[0] ?? all[all.length - 1]).parent ?? turn.runId;
  return html`
    <details class="children" open=${live.length > 0}>
      <summary>
        <b>${plural(all.length, "sub-agent")}</b>
        <span class="dim">${live.length ? `${live.length} at work` : "all have ended"}</span>
        ${root && html`<${Link} to=${runPath(root)}>Show the tree<//>`}</summary>
      <ul>${all.map((child) => html`
        <li key=${child.run}><${Dot} state=${child.state} />
          <span class="ellipsis">${child.session
            ? html`<${Link} to=${chatPath(child.session)}>${child.label || child.run}<//>`
            : child.label || child.run}</span>
          <small>${stateWord(child.state)}</small></li>
      `)}</ul>
    </details>
  `;
}
