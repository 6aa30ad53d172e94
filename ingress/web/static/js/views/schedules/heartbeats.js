// Turns that agents begin by themselves.
import { at, post } from "../../api.js";
import { age, moment, until } from "../../format.js";
import { html } from "../../preact.js";
import { Loaded } from "../../parts/states.js";
import { Head } from "../../parts/table.js";
import { attempt } from "../../parts/toasts.js";

export const Heartbeats = ({ beats, now, canAct }) => html`
  <section class="section" aria-labelledby="heartbeats">
    <h2 class="label" id="heartbeats">Heartbeats</h2>
    <div class="card table-wrap">
      <${Loaded} resource=${beats}>${(data) =>
        data.heartbeats.length
          ? html`
              <table class="data">
                <${Head} columns=${["Agent", "When", "Next", "Last results", ""]} />
                <tbody>${data.heartbeats.map((beat) => html`
                  <${Beat} key=${beat.agentId} beat=${beat} now=${now} canAct=${canAct} reload=${beats.reload} />
                `)}</tbody>
              </table>
            `
          : html`<p class="quiet-row">No agent has a heartbeat.</p>`}<//>
    </div>
  </section>
`;

function Beat({ beat, now, canAct, reload }) {
  const act = async (verb, done) => (await attempt(() => post(at("heartbeats", beat.agentId, verb)), done)) && reload();
  return html`
    <tr>
      <td class="mono">${beat.agentId}</td>
      <td>${beat.schedule}</td>
      <td>${beat.paused
        ? html`<span class="tag warn" title=${beat.paused}>paused</span>`
        : html`<time title=${moment(beat.nextAt)}>${beat.nextAt ? until(beat.nextAt, now) : "never"}</time>`}</td>
      <td class="small dim">${beat.log
        .slice(0, 3)
        .map((each) => `${each.reason || each.state}, ${age(each.at, now)}`)
        .join(" · ") || "none yet"}</td>
      <td class="acts">${canAct && html`
        <button onClick=${() => act("run", "It starts its heartbeat within seconds.")}>Run now</button>
        ${beat.paused
          ? html`<button onClick=${() => act("resume", "It beats again.")}>Resume</button>`
          : html`<button onClick=${() => act("pause", "Paused.")}>Pause</button>`}
      `}</td>
    </tr>
  `;
}
