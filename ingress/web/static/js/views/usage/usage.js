// Usage: tokens and cost by day, and who or what caused them.
import { at, withQuery } from "../../api.js";
import { duration, money, number, plural, tokens } from "../../format.js";
import { html, useState } from "../../preact.js";
import { Empty, Loaded } from "../../parts/states.js";
import { Head } from "../../parts/table.js";
import { useResource } from "../../resource.js";
import { DayChart } from "./chart.js";

const SPANS = [7, 30, 90];
const BY = { model: "Model", agent: "Agent", channel: "Channel", peer: "Person" };

export function UsageView() {
  const [days, setDays] = useState(7);
  const [by, setBy] = useState("model");
  const perDay = useResource(withQuery(at("usage"), { by: "day", days }), { everyMs: 60000 });
  const parts = useResource(withQuery(at("usage"), { by, days }), { everyMs: 60000 });
  return html`
    <div class="scroll">
      <div class="view-head">
        <div><h1>Usage</h1><p class="sub">Every model call, by UTC day.</p></div>
        <div class="actions" role="group" aria-label="Days">${SPANS.map((span) => html`
          <button key=${span} aria-pressed=${days === span} onClick=${() => setDays(span)}>${span} days</button>`,
        )}</div>
      </div>
      <${Loaded} resource=${perDay}>${(data) => html`
        <${Totals} total=${data.total} days=${days} />
        <section class="section" aria-labelledby="by-day"><h2 class="label" id="by-day">By day</h2>
          <div class="card chart-box">${
            data.total?.calls
              ? html`<${DayChart} rows=${data.usage} days=${days} />`
              : html`<${Empty} title="No model calls yet">They show here as soon as an agent has answered.<//>`
          }</div>
        </section>
      `}<//>
      <section class="section" aria-labelledby="by-part">
        <div class="section-head"><h2 class="label" id="by-part">By ${BY[by].toLowerCase()}</h2>
          <div class="actions" role="group" aria-label="Split by">${Object.entries(BY).map(([id, name]) => html`
            <button key=${id} class="quiet" aria-pressed=${by === id} onClick=${() => setBy(id)}>${name}</button>`,
          )}</div></div>
        <div class="card table-wrap"><${Loaded} resource=${parts}>
          ${(data) => html`<${Parts} rows=${data.usage} name=${BY[by]} />`}
        <//></div>
      </section>
    </div>
  `;
}

/** Of the calls, some may have been of models whose price is not known. */
function costOf(sum) {
  if (!sum.unpriced) return money(sum.cost);
  return sum.unpriced === sum.calls ? "unknown" : `${money(sum.cost)} + unknown`;
}

function Totals({ total, days }) {
  const fact = (name, value, more) => html`<div><dt>${name}</dt><dd>${value}</dd><small>${more}</small></div>`;
  const cached = total.total ? Math.round((100 * total.cacheRead) / total.total) : 0;
  return html`
    <dl class="facts card">
      ${fact("Cost", costOf(total), `${days} days`)}
      ${fact("Tokens", tokens(total.total), `${cached} % cached`)}
      ${fact("Model calls", number(total.calls), total.failed ? `${number(total.failed)} failed` : "none failed")}
      ${fact("Model time", duration(total.milliseconds), total.calls ? `${duration(total.milliseconds / total.calls)} a call` : "")}
      ${total.estimated > 0 && fact("Estimated", number(total.estimated), `${plural(total.estimated, "call")} of lost workers`)}
    </dl>
  `;
}

function Parts({ rows, name }) {
  if (!rows.length) return html`<p class="quiet-row">Nothing in this time.</p>`;
  const most = Math.max(...rows.map((row) => row.total), 1);
  return html`
    <table class="data usage-table">
      <${Head} columns=${[name, "", "Calls#", "Input#", "Cached#", "Output#", "Tokens#", "Cost#"]} />
      <tbody>${rows.map((row) => html`
        <tr key=${row.name}>
          <td class="mono">${row.name || "–"}</td>
          <td class="share"><div class="meter"><i style=${{ width: `${(100 * row.total) / most}%` }}></i></div></td>
          <td class="num">
            ${number(row.calls)} ${row.failed > 0 && html`<span class="tag bad">${row.failed} failed</span>`}
          </td>
          <td class="num">${tokens(row.input)}</td>
          <td class="num">${tokens(row.cacheRead)}</td>
          <td class="num">${tokens(row.output)}</td>
          <td class="num">${tokens(row.total)}</td><td class="num">${costOf(row)}</td>
        </tr>
      `)}</tbody>
    </table>
  `;
}
