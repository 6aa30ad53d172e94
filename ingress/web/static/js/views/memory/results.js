// What a search finds: memory files and conversations, best first.
import { at, withQuery } from "../../api.js";
import { sessionName } from "../../format.js";
import { html } from "../../preact.js";
import { Empty, Loaded } from "../../parts/states.js";
import { useResource } from "../../resource.js";
import { Link, chatPath, memoryPath } from "../../router.js";

export function Results({ agent, text, source }) {
  const path = withQuery(at("memory", "search"), { agentId: agent, query: text, source, limit: 20 });
  const found = useResource(path);
  return html`
    <${Loaded} resource=${found}>${(data) => html`
      ${data.note && html`<p class="notice warning">Searched by words alone: ${data.note}</p>`}
      ${data.results.length
        ? html`<ol class="results">${data.results.map((each, index) => html`
            <li key=${index}>
              <${Citation} agent=${agent} result=${each} />
              <pre>${each.snippet}</pre>
            </li>
          `)}</ol>`
        : html`<${Empty} title="Nothing found">Quoted words, or words joined by AND, must all appear.<//>`}
    `}<//>
  `;
}

function Citation({ agent, result }) {
  if (result.source === "sessions" && result.sessionKey)
    return html`<${Link} to=${chatPath(result.sessionKey)}>${sessionName(result.sessionKey)}<//>
      <small class="faint"> conversation</small>`;
  const lines = result.endLine > result.startLine ? `${result.startLine}-${result.endLine}` : String(result.startLine);
  return html`<${Link} class="mono" to=${memoryPath(agent, { path: result.path, lines })}>${result.citation}<//>`;
}
