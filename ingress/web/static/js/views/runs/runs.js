// Runs: recent trees, or one tree with its panel.
import { at, withQuery } from "../../api.js";
import { age, duration, money, plural, sessionName, tokens } from "../../format.js";
import { html, useState } from "../../preact.js";
import { Dot, isLive } from "../../parts/marks.js";
import { Empty, Loaded } from "../../parts/states.js";
import { Head } from "../../parts/table.js";
import { useNow, useResource } from "../../resource.js";
import { Link, chatPath, navigate, runPath } from "../../router.js";
import { TreeView } from "./tree_view.js";
import { sumsOf, titleOf, walk } from "./tree.js";

export const isRunChange = (event) =>
  /^(run|subagent|message|tree|runs)/.test(event.type) && !/delta|tool/.test(event.type);

export function RunsView({ route, me }) {
  const [root, run] = route.parts;
  if (root) return html`<${TreeView} key=${root} rootId=${root} runId=${run ?? root} me=${me} />`;
  return html`<${TreeList} key=${route.query.session ?? ""} session=${route.query.session} />`;
}

const FILTERS = {
  all: { title: "All", fits: () => true },
  live: { title: "Live", fits: (tree) => [...walk(tree)].some((run) => isLive(run.state)) },
  failed: { title: "Failed", fits: (tree) => sumsOf(tree, 0).failed > 0 },
};

const belongs = (tree, session) => !session || [...walk(tree)].some((run) => run.sessionKey === session);

function TreeList({ session }) {
  const [filter, setFilter] = useState("all");
  const trees = useResource(withQuery(at("trees"), { limit: session ? 500 : 100 }), {
    on: isRunChange,
    everyMs: 15000,
  });
  return html`
    <div class="scroll">
      <div class="view-head">
        <div><h1>Runs</h1><p class="sub">${
          session
            ? html`of <${Link} to=${chatPath(session)}>${sessionName(session)}<//> · <${Link} to="/runs">all sessions<//>`
            : "Each message starts one. A run shows here with everything it spawned."
        }</p></div>
        <div class="actions" role="group" aria-label="Which runs">${Object.keys(FILTERS).map((name) => html`
          <button key=${name} aria-pressed=${filter === name} onClick=${() => setFilter(name)}>${FILTERS[name].title}</button>
        `)}</div>
      </div>
      <${Loaded} resource=${trees}>${(data) => {
        const shown = data.trees.filter((tree) => FILTERS[filter].fits(tree) && belongs(tree, session));
        return html`<${TreeTable} trees=${shown} filter=${filter} />`;
      }}<//>
    </div>
  `;
}

function TreeTable({ trees, filter }) {
  const now = useNow(
    1000,
    trees.some((tree) => isLive(tree.state)),
  );
  if (!trees.length) {
    return html`<div class="card"><${Empty} title=${filter === "all" ? "No runs yet" : `No ${filter} runs`}>
      Send a message in Chat, or with \`ocw agent -m hello\`; its run appears here at once.<//></div>`;
  }
  return html`
    <div class="card table-wrap"><table class="data runs-table">
      <${Head} columns=${["Run", "Session", "Started#", "Took#", "Runs#", "Tokens#", "Cost#"]} />
      <tbody>${trees.map((tree) => html`<${TreeRow} key=${tree.runId} tree=${tree} now=${now} />`)}</tbody>
    </table></div>
  `;
}

function TreeRow({ tree, now }) {
  const sums = sumsOf(tree, now);
  const end = Math.max(...[...walk(tree)].map((run) => run.endedAt ?? (isLive(run.state) ? now : 0)));
  const state = sums.live || sums.queued ? "running" : sums.parked ? "parked" : tree.state;
  const to = runPath(tree.runId);
  return html`
    <tr class="link" onClick=${(event) => event.target.closest("a") || navigate(to)}>
      <td class="run-name"><${Dot} state=${state} /> <${Link} to=${to}>${titleOf(tree)}<//>
        ${sums.failed > 0 && html` <span class="tag bad">${sums.failed} failed</span>`}
        ${sums.lost > 0 && html` <span class="tag warn">${plural(sums.lost, "worker")} lost</span>`}</td>
      <td class="dim">${sessionName(tree.sessionKey)}</td>
      <td class="num">${age(tree.queuedAt, now)}</td>
      <td class="num">${duration(end - tree.queuedAt)}</td>
      <td class="num">${sums.runs}</td>
      <td class="num">${tokens(sums.tokens)}</td>
      <td class="num">${money(sums.cost)}</td>
    </tr>
  `;
}
