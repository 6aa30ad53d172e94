// The figures above a tree.
import { duration, money, number, percent, tokens } from "../../format.js";
import { html } from "../../preact.js";
import { Meter } from "../../parts/marks.js";
import { sumsOf } from "./tree.js";

export function Facts({ root, budget, now }) {
  const sums = sumsOf(root, now);
  const states = [[sums.live, "running"], [sums.parked, "parked"], [sums.queued, "queued"], [sums.failed, "failed"]];
  const words = states.filter(([count]) => count).map(([count, word]) => `${count} ${word}`).join(", ");
  const limit = budget?.cost?.limit ?? null;
  return html`
    <dl class="facts card">
      <${Fact} name="Runs" value=${number(sums.runs)} more=${words || "all done"} />
      <${Fact} name="Tokens" value=${tokens(sums.tokens)} more=${`${percent(sums.cached, sums.tokens)} cached`} />
      <div>
        <dt>Cost, tree</dt><dd>${money(sums.cost)}</dd>
        ${limit
          ? html`<${Meter} used=${budget.cost.spent} limit=${limit} label="Budget used" /><small>${money(budget.cost.spent)} of ${money(limit)} today</small>`
          : html`<small>no budget set</small>`}
      </div>
      <${Fact} name="Waited in queue" value=${duration(sums.waited)} more=${`longest ${duration(sums.longestWait)}`} />
      <${Fact} name="Workers lost" value=${number(sums.lost)} more=${sums.resumedMs !== null ? `resumed in ${duration(sums.resumedMs)}` : sums.lost ? "waiting for another" : "none"} />
    </dl>
  `;
}

const Fact = ({ name, value, more }) => html`<div><dt>${name}</dt><dd>${value}</dd><small>${more}</small></div>`;
