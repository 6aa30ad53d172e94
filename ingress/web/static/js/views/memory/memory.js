// Memory: the files of an agent, what stands in them, and a search over them and past conversations.
import { at, withQuery } from "../../api.js";
import { age, bytes, plural } from "../../format.js";
import { html } from "../../preact.js";
import { AgentSwitch } from "../../parts/agent_switch.js";
import { Empty, Loaded } from "../../parts/states.js";
import { useNow, useResource } from "../../resource.js";
import { Link, memoryPath, navigate } from "../../router.js";
import { Reader } from "./reader.js";
import { Results } from "./results.js";

const SOURCES = [
  ["", "All"],
  ["memory", "Files"],
  ["sessions", "Conversations"],
];

export function MemoryView({ route }) {
  const agents = useResource(at("agents"));
  return html`<${Loaded} resource=${agents}>${(data) => {
    const names = data.agents.map((each) => each.agentId);
    const agent = names.includes(route.parts[0]) ? route.parts[0] : names[0];
    return html`<${AgentMemory} key=${agent} agent=${agent} names=${names} query=${route.query} />`;
  }}<//>`;
}

function AgentMemory({ agent, names, query }) {
  const files = useResource(withQuery(at("memory", "files"), { agentId: agent }), { everyMs: 30000 });
  const search = (event) => {
    event.preventDefault();
    const given = new FormData(event.target);
    navigate(memoryPath(agent, { q: given.get("q").trim(), in: given.get("in") }));
  };
  return html`
    <div class="scroll">
      <div class="view-head">
        <div><h1>Memory</h1><p class="sub">What an agent keeps, and what was said before.</p></div>
        <${AgentSwitch} agent=${agent} names=${names} path=${memoryPath} />
      </div>
      <form class="memory-search" role="search" onSubmit=${search}>
        <input type="search" name="q" aria-label="Search memory" placeholder="Search files and past conversations"
          key=${query.q} value=${query.q ?? ""} />
        <select name="in" aria-label="Where">${SOURCES.map(([value, name]) => html`
          <option key=${value} value=${value} selected=${(query.in ?? "") === value}>${name}</option>
        `)}</select>
        <button class="primary">Search</button>
      </form>
      <div class="memory-columns">
        <section class="card memory-files" aria-label="Memory files">
          <${Loaded} resource=${files}>${(data) => html`<${Files} agent=${agent} files=${data.files} current=${query.path} />`}<//>
        </section>
        <section class="card memory-text" aria-label=${query.path ? "File" : "Results"}>
          ${query.path
            ? html`<${Reader} key=${query.path + (query.lines ?? "")} agent=${agent} path=${query.path} lines=${query.lines} />`
            : query.q
              ? html`<${Results} agent=${agent} text=${query.q} source=${query.in} />`
              : html`<${Empty} title="Open a file, or search">A citation of an answer leads here too.<//>`}
        </section>
      </div>
    </div>
  `;
}

function Files({ agent, files, current }) {
  const now = useNow(30000);
  if (!files.length)
    return html`<${Empty} title="No files yet">The agent writes MEMORY.md and files below memory/.<//>`;
  const waiting = files.filter((each) => !each.indexed).length;
  return html`
    <ul>${files.map((file) => html`
      <li key=${file.path}>
        <${Link} to=${memoryPath(agent, { path: file.path })} aria-current=${file.path === current ? "true" : undefined}>
          <span class="ellipsis" title=${file.path}>${file.path}</span>
          <small>${bytes(file.bytes)} · ${age(file.modifiedAt, now)}</small>
        <//>
      </li>
    `)}</ul>
    ${waiting > 0 && html`<p class="small faint">${plural(waiting, "file")} not indexed yet.</p>`}
  `;
}
