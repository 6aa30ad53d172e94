import { age, duration, plural } from "../../format.js";
import { hostColour, workerName } from "../../hosts.js";
import { html } from "../../preact.js";
import { Empty } from "../../parts/states.js";
import { Link, runPath } from "../../router.js";

/** Workers by host; a host has the colour that its bars have in Runs. */
export function Workers({ workers, now }) {
  const hosts = new Map();
  const ordered = [...workers].sort((a, b) => a.lane.localeCompare(b.lane) || a.pid - b.pid);
  for (const worker of ordered) hosts.set(worker.host, [...(hosts.get(worker.host) ?? []), worker]);
  return html`
    <section class="section" aria-labelledby="workers"><h2 class="label" id="workers">Workers by host</h2>
      ${!workers.length && html`
        <div class="card"><${Empty} title="No workers">
          Start some: ocw up, or ocw worker on any host that reaches this Redis.
        <//></div>
      `}
      <div class="hosts">${[...hosts].map(([host, members]) => html`
        <${Host} key=${host} host=${host} workers=${members} now=${now} />
      `)}</div>
    </section>
  `;
}

function Host({ host, workers, now }) {
  const alive = workers.filter((worker) => worker.alive);
  const running = workers.reduce((sum, worker) => sum + worker.runs.length, 0);
  return html`
    <article class="card host">
      <header><i class="swatch" style=${{ background: hostColour(host) }}></i><b class="ellipsis">${host}</b>
        <small>${alive.length} of ${workers.length} alive · ${plural(running, "run")}</small></header>
      <ul>${workers.map((worker) => html`<${Worker} key=${worker.id} worker=${worker} now=${now} />`)}</ul>
    </article>
  `;
}

function Worker({ worker, now }) {
  const [word, kind] = !worker.alive ? ["silent", "bad"] : worker.draining ? ["drained", "warn"] : ["alive", "ok"];
  return html`
    <li>
      <span class="mono" title=${worker.id}>${workerName(worker.id).split(" · ").pop()}</span>
      <span class="tag">${worker.lane}</span>
      <span class="tag ${kind}">${word}</span>
      <span class="dim small">${worker.concurrency} ${worker.pool} · ${worker.alive ? `up ${duration(now - worker.startedAt)}` : `last heard ${age(worker.beatAt, now)} ago`}</span>
      <span class="worker-runs">${worker.runs.map((run) => html`
        <${Link} key=${run} class="mono" to=${runPath(run)}>${run.slice(0, 12)}<//>
      `)}</span>
    </li>
  `;
}
