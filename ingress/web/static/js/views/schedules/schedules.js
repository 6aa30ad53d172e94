// Schedules: jobs with their next times and results, and heartbeats.
import { at } from "../../api.js";
import { html } from "../../preact.js";
import { useNow, useResource } from "../../resource.js";
import { isAdmin } from "../../sessions.js";
import { Heartbeats } from "./heartbeats.js";
import { addJob, Jobs } from "./jobs.js";

export function SchedulesView({ me }) {
  const now = useNow(1000);
  const on = (event) => /^run\.changed$|ended$/.test(event.type);
  const jobs = useResource(at("cron"), { on, everyMs: 5000 });
  const beats = useResource(at("heartbeats"), { on, everyMs: 15000 });
  const canAct = isAdmin(me);
  return html`
    <div class="scroll">
      <div class="view-head">
        <div><h1>Schedules</h1><p class="sub">What agents do by themselves, and when.</p></div>
        ${canAct && html`<button class="primary" onClick=${() => addJob().then((added) => added && jobs.reload())}>Add a job</button>`}
      </div>
      <${Jobs} jobs=${jobs} now=${now} canAct=${canAct} />
      <${Heartbeats} beats=${beats} now=${now} canAct=${canAct} />
    </div>
  `;
}
