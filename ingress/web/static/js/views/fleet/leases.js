import { duration, plural, sessionName } from "../../format.js";
import { workerName } from "../../hosts.js";
import { html } from "../../preact.js";
import { Head } from "../../parts/table.js";
import { Link, chatPath, runPath } from "../../router.js";

/** Which worker holds which session, and how long it may go on without renewing. */
export const Leases = ({ leases, now, readAt }) => html`
  <section class="section" aria-labelledby="leases"><h2 class="label" id="leases">Leases</h2>
    <div class="card table-wrap">${
      leases.length
        ? html`
      <table class="data">
        <${Head} columns=${["Session", "Run", "Worker", "Attempt#", "Held#", "Lease left#"]} />
        <tbody>${leases.map((lease) => html`
          <tr key=${lease.runId}>
            <td><${Link} to=${chatPath(lease.sessionKey)}>${sessionName(lease.sessionKey)}<//></td>
            <td><${Link} class="mono" to=${runPath(lease.runId)}>${lease.runId}<//></td>
            <td class="mono">${workerName(lease.worker)}</td>
            <td class="num">${lease.attempt}</td>
            <td class="num">${lease.takenAt ? duration(now - lease.takenAt) : "–"}</td>
            <td class="num">${leaseLeft(lease, now, readAt)}</td>
          </tr>
        `)}</tbody>
      </table>`
        : html`<p class="quiet-row">${plural(0, "lease")}: no run is active.</p>`
    }</div>
  </section>
`;

function leaseLeft(lease, now, readAt) {
  const left = lease.leaseLeftMs - Math.max(0, now - readAt);
  return left > 0 ? duration(left) : html`<span class="tag bad">expired</span>`;
}
