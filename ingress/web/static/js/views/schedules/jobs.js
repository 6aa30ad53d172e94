// The table of jobs. A row opens to show how earlier times went.
import { at, post, remove, withQuery } from "../../api.js";
import { age, firstLine, moment, until } from "../../format.js";
import { html, useState } from "../../preact.js";
import { confirm, prompt } from "../../parts/dialog.js";
import { Empty, Loaded } from "../../parts/states.js";
import { Head } from "../../parts/table.js";
import { attempt } from "../../parts/toasts.js";
import { useResource } from "../../resource.js";
import { Link, chatPath, runPath } from "../../router.js";

const MOODS = { ok: "ok", error: "bad", skipped: "warn", missed: "warn" };
const COLUMNS = ["Job", "When", "Next", "Last", "What", ""];

export const Jobs = ({ jobs, now, canAct }) => html`
  <section class="section" aria-labelledby="jobs">
    <h2 class="label" id="jobs">Jobs</h2>
    <div class="card table-wrap">
      <${Loaded} resource=${jobs}>${(data) =>
        data.jobs.length
          ? html`
              <table class="data jobs">
                <${Head} columns=${COLUMNS} />
                <tbody>${data.jobs.map((job) => html`
                  <${JobRow} key=${job.id} job=${job} now=${now} canAct=${canAct} reload=${jobs.reload} />
                `)}</tbody>
              </table>
            `
          : html`<${Empty} title="No jobs yet">Agents add them with their cron tool; you can add one here.<//>`}<//>
    </div>
  </section>
`;

function JobRow({ job, now, canAct, reload }) {
  const [open, setOpen] = useState(false);
  return html`
    <tr>
      <td class="job-name">
        <button class="quiet reveal" aria-expanded=${open} onClick=${() => setOpen(!open)}>
          ${job.name || job.id}${job.atWork > 0 && html` <span class="tag running">at work</span>`}
        </button>
        <small class="mono faint">${job.agentId} · ${job.sessionTarget}</small>
      </td>
      <td>${job.schedule}</td>
      <td>${job.paused
        ? html`<span class="tag warn" title=${job.paused}>paused</span>`
        : html`<time title=${moment(job.nextAt)}>${job.nextAt ? until(job.nextAt, now) : "never"}</time>`}</td>
      <td>${job.lastState
        ? html`<span class="tag ${MOODS[job.lastState] ?? ""}" title=${job.lastError ?? ""}>${job.lastState}</span>
            <small class="faint"> ${age(job.lastAt, now)}</small>`
        : html`<span class="faint">not yet</span>`}</td>
      <td class="job-what"><span class="ellipsis" title=${job.message ?? job.systemEvent}>
        ${firstLine(job.message ?? job.systemEvent)}</span></td>
      <td class="acts">${canAct && html`<${JobActions} job=${job} reload=${reload} />`}</td>
    </tr>
    ${open && html`<tr class="job-runs"><td colspan=${COLUMNS.length}><${Firings} job=${job} now=${now} /></td></tr>`}
  `;
}

function JobActions({ job, reload }) {
  const act = async (verb, done) => (await attempt(() => post(at("cron", job.id, verb)), done)) && reload();
  const drop = async () => {
    const text = job.declared ? "It stands in the configuration, and is removed there." : "It will not run again.";
    if (!(await confirm(`Remove ${job.name || job.id}?`, text, "Remove"))) return;
    if (await attempt(() => remove(at("cron", job.id)), "Removed.")) reload();
  };
  return html`
    <button onClick=${() => act("run", "It runs now.")}>Run now</button>
    ${job.paused
      ? html`<button onClick=${() => act("resume", "It goes on.")}>Resume</button>`
      : html`<button onClick=${() => act("pause", "Paused.")}>Pause</button>`}
    <button class="danger" onClick=${drop}>Remove</button>
  `;
}

function Firings({ job, now }) {
  const runs = useResource(withQuery(at("cron", job.id, "runs"), { limit: 10 }), { everyMs: 5000 });
  return html`
    <${Loaded} resource=${runs}>${(data) =>
      data.runs.length
        ? html`<ul class="firings">${data.runs.map((each) => html`
            <li key=${each.time}>
              <span class="tag ${MOODS[each.state] ?? ""}">${each.state}</span>
              <time title=${moment(each.time)}>${age(each.time, now)} ago</time>
              ${each.runId && html`<${Link} to=${runPath(each.runId)}>run<//>`}
              ${each.sessionKey && html`<${Link} to=${chatPath(each.sessionKey)}>conversation<//>`}
              ${each.reason && html`<span class="dim">${each.reason}</span>`}
            </li>
          `)}</ul>`
        : html`<p class="small faint">It has not run yet.</p>`}<//>
  `;
}

/** Ask for a new job and add it. */
export async function addJob() {
  const values = await prompt({
    title: "Add a job",
    action: "Add",
    fields: [
      { name: "name", label: "Name", placeholder: "report" },
      { name: "kind", label: "When", kind: "choice", options: ["at", "every", "cron"], value: "every" },
      { name: "when", label: "Time: 20m or an ISO time; 1h; or 0 9 * * 1-5", placeholder: "1h" },
      { name: "message", label: "What the agent is asked", kind: "area" },
      { name: "target", label: "Session", kind: "choice", options: ["isolated", "main"], value: "isolated" },
    ],
  });
  if (!values) return false;
  const { name, kind, when, message, target } = values;
  return attempt(() => post(at("cron"), { name, [kind]: when, message, sessionTarget: target }), "Added.");
}
