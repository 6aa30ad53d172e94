// The figures above a tree.
import { duration, money, number, percent, plural, tokens } from "../../format.js";
import { html } from "../../preact.js";
import { Meter } from "../../parts/marks.js";
import { sumsOf } from "./tree.js";

export function Facts({ root, budget, now }) {
  const sums = sumsOf(root, now);
  const states = [
    [sums.live, "running"],
    [sums.parked, "parked"],
    [sums.queued, "queued"],
    [sums.failed, "failed"],
  ];
  const words = states
    .filter(([count]) => count)
    .map(([count, word]) => `${count} ${word}`)
    .join(", ");
  return html`
    <dl class="facts card">
      <${Fact} name="Runs" value=${number(sums.runs)} more=${words || "all done"} />
      <${Fact} name="Tokens" value=${tokens(sums.tokens)} more=${`${percent(sums.cached, sums.tokens)} cached`} />
      <div><dt>Cost, tree</dt><dd>${money(sums.cost)}</dd><${Budget} budget=${budget} /></div>
      <${Fact} name="Waited in queue" value=${duration(sums.waited)} more=${`longest ${duration(sums.longestWait)}`} />
      <${Fact} name="Workers lost" value=${number(sums.lost)} more=${lostText(sums)} />
    </dl>
  `;
}

const SHOWN = {
  cost: money,
  tokens,
  calls: (value) => plural(value, "call"),
  seconds: (value) => duration(value * 1000),
};

/** The limit that is used up most, of those that are set for a tree. */
function Budget({ budget }) {
  if (!budget) return html`<small>no budget set</small>`;
  const parts = Object.entries(budget.limits).map(([name, limit]) => ({ name, limit, spent: budget.spent[name] ?? 0 }));
  const { name, limit, spent } = parts.reduce((most, each) =>
    each.spent / each.limit > most.spent / most.limit ? each : most,
  );
  return html`
    <${Meter} used=${spent} limit=${limit} label="Budget used" />
    <small>${SHOWN[name](spent)} of ${SHOWN[name](limit)} today</small>
  `;
}

function lostText(sums) {
  if (!sums.lost) return "none";
  return sums.resumedMs === null ? "waits for another" : `resumed in ${duration(sums.resumedMs)}`;
}

const Fact = ({ name, value, more }) => html`<div><dt>${name}</dt><dd>${value}</dd><small>${more}</small></div>`;
