// A memory file with line numbers; the lines of a citation are marked.
import { at, withQuery } from "../../api.js";
import { html, useEffect, useRef, useState } from "../../preact.js";
import { Loaded } from "../../parts/states.js";
import { useResource } from "../../resource.js";

const BEFORE = 30;

/** `"3-7"` → [3, 7]; `"3"` → [3, 3]. */
export function lineRange(text) {
  const found = /^(\d+)(?:-(\d+))?$/.exec(text ?? "");
  return found ? [Number(found[1]), Number(found[2] ?? found[1])] : null;
}

export function Reader({ agent, path, lines }) {
  const marked = lineRange(lines);
  const [first, setFirst] = useState(marked ? Math.max(1, marked[0] - BEFORE) : 1);
  const file = useResource(withQuery(at("memory", "file"), { agentId: agent, path, first: first > 1 ? first : null }));
  return html`
    <header class="memory-head"><h2 class="mono">${path}</h2>
      ${first > 1 && html`<button class="quiet" onClick=${() => setFirst(1)}>From the first line</button>`}
    </header>
    <${Loaded} resource=${file}>${(data) => html`
      <${Lines} data=${data} marked=${marked} />
      ${data.truncated && html`<p class="small faint memory-more">${data.truncated}</p>`}
    `}<//>
  `;
}

function Lines({ data, marked }) {
  const element = useRef(null);
  useEffect(() => {
    element.current?.querySelector(".marked")?.scrollIntoView({ block: "center" });
  }, [data.from]);
  const isMarked = (number) => marked && number >= marked[0] && number <= marked[1];
  return html`
    <ol class="lines" ref=${element} start=${data.from}>${data.text.split("\n").map((line, index) => html`
      <li key=${index} value=${data.from + index} class=${isMarked(data.from + index) ? "marked" : ""}>${line || " "}</li>
    `)}</ol>
  `;
}
