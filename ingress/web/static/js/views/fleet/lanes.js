import { age, number, plural } from "../../format.js";
import { Meter } from "../../parts/marks.js";
import { html } from "../../preact.js";

/** Each lane: how much of it is used, and how much waits since when. */
export const Lanes = ({ lanes, now }) => html`
  <section class="section" aria-labelledby="lanes"><h2 class="label" id="lanes">Lanes</h2>
    <div class="lanes">${lanes.map((lane) => html`<${Lane} key=${lane.lane} lane=${lane} now=${now} />`)}</div>
  </section>
`;

function Lane({ lane, now }) {
  const room = lane.cap ? Math.min(lane.cap, lane.concurrency) : lane.concurrency;
  const waits = Math.max(lane.waiting, lane.queued + lane.line);
  return html`
    <article class="card lane ${lane.workers ? "" : "alone"}">
      <header>
        <b>${lane.lane}</b>
        <span class="tag ${lane.workers ? "" : "bad"}">${lane.workers ? plural(lane.workers, "worker") : "no worker"}</span>
      </header>
      <${Meter} used=${lane.running} limit=${room} label="In use" />
      <dl>
        <div><dt>Running</dt><dd>${number(lane.running)}<small> / ${number(room)}</small></dd></div>
        <div><dt>Waiting</dt><dd>${number(waits)}</dd></div>
        <div><dt>Oldest</dt><dd>${lane.oldestWaitingAt ? age(lane.oldestWaitingAt, now) : "–"}</dd></div>
        ${lane.cap && html`<div><dt>Cap</dt><dd>${number(lane.slots)}<small> / ${number(lane.cap)}</small></dd></div>`}
      </dl>
    </article>
  `;
}
