// Tool activity, folded: one line says what was done, opening it shows input and output.
import { duration, plural } from "../../format.js";
import { html } from "../../preact.js";
import { brief } from "./items.js";

export function ToolGroup({ calls, running }) {
  const last = calls[calls.length - 1];
  const active = calls.find((call) => running && call.endedAt === null && !call.ended);
  const failed = calls.filter((call) => call.failed).length;
  const spent = calls.reduce((sum, call) => sum + Math.max(0, (call.endedAt ?? call.at) - call.at), 0);
  return html`
    <details class="tools ${active ? "active" : ""}">
      <summary>
        <i class="dot ${active ? "running" : failed ? "error" : "ok"}"></i>
        ${active || calls.length === 1
          ? html`<${CallLine} call=${active ?? last} running=${Boolean(active)} />`
          : html`
              <span class="ellipsis">
                <b>${plural(calls.length, "tool call")}</b> <span class="dim">${names(calls)}</span>
              </span>
            `}
        <small>${failed ? `${failed} failed · ` : ""}${active ? "" : duration(spent)}</small>
      </summary>
      <ol>${calls.map((call) => html`<${ToolCall} key=${call.id} call=${call} running=${running} />`)}</ol>
    </details>
  `;
}

const CallLine = ({ call, running }) => html`
  <span class="ellipsis">
    <b>${call.name}</b> <span class="dim mono">${call.brief || brief(call.input)}</span>${running ? " …" : ""}
  </span>
`;

function names(calls) {
  const counts = new Map();
  for (const call of calls) counts.set(call.name, (counts.get(call.name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count > 1 ? `${name} × ${count}` : name)).join(", ");
}

export function ToolCall({ call, running }) {
  const isActive = running && call.endedAt === null && !call.ended;
  const output = call.output ?? (call.lines ?? []).join("\n");
  return html`
    <li class="tool-call ${call.failed ? "failed" : ""}">
      <div class="tool-line">
        <i class="dot ${isActive ? "running" : call.failed ? "error" : call.endedAt ? "ok" : ""}"></i>
        <b>${call.name}</b>
        <small>${call.endedAt ? duration(call.endedAt - call.at) : isActive ? "running" : "no result"}</small>
      </div>
      ${hasInput(call) && html`<${ToolText} label="Input" text=${inputText(call.input)} />`}
      ${output && html`<${ToolText} label=${call.failed ? "Error" : "Output"} text=${output} />`}
    </li>
  `;
}

export const hasInput = (call) => Object.keys(call.input ?? {}).length > 0;

const ToolText = ({ label, text }) => html`
  <div class="tool-text"><span class="label">${label}</span><pre tabindex="0">${text}</pre></div>
`;

/** A single text argument as it is, several as JSON. */
export function inputText(input) {
  const entries = Object.entries(input);
  if (entries.length === 1 && typeof entries[0][1] === "string") return entries[0][1];
  return entries
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");
}
