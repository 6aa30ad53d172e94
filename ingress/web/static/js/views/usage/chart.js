// Tokens by day as stacked bars. The table below says the same in figures.
import { money, tokens } from "../../format.js";
import { html, useState } from "../../preact.js";

const WIDE = 1040;
const NARROW = 420; // on a phone
const HEIGHT = 190;
const LEFT = 46;
const BOTTOM = 20;
const KINDS = [
  ["cacheRead", "cached input"],
  ["cacheWrite", "written to the cache"],
  ["input", "input"],
  ["output", "output"],
];

/** Days without a call are shown too, as gaps. */
export function everyDay(rows, days, today = new Date()) {
  const known = new Map(rows.map((row) => [row.name, row]));
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(today.getTime() - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    return (
      known.get(day) ?? { name: day, total: 0, cost: 0, calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
    );
  });
}

export function DayChart({ rows, days }) {
  const [shown, setShown] = useState(null);
  const width = window.innerWidth > 720 ? WIDE : NARROW;
  const all = everyDay(rows, days);
  const most = niceTop(Math.max(...all.map((day) => day.total), 1));
  const step = (width - LEFT) / days;
  const y = (value) => (HEIGHT - BOTTOM) * (1 - value / most) + 9;
  const day = all[shown] ?? null;
  const every = Math.ceil(days / 8);
  return html`
    <svg class="chart" viewBox=${`0 0 ${width} ${HEIGHT + 12}`} role="img" aria-label=${inWords(all)}
      onMouseLeave=${() => setShown(null)}>
      ${[0, 0.5, 1].map((part) => html`
        <line key=${part} x1=${LEFT} x2=${width} y1=${y(most * part)} y2=${y(most * part)} class="grid" />
        <text x=${LEFT - 8} y=${y(most * part) + 4} class="y">${short(most * part)}</text>
      `)}
      ${all.map((each, index) => html`
        <g key=${each.name} onMouseEnter=${() => setShown(index)} class=${shown === index ? "on" : ""}>
          <rect x=${LEFT + index * step} y="0" width=${step} height=${HEIGHT - BOTTOM + 9} class="hit" />
          <${Stack} day=${each} x=${LEFT + index * step + step * 0.16} width=${step * 0.68} y=${y} />
          ${(days - 1 - index) % every === 0 && html`
            <text x=${LEFT + (index + 0.5) * step} y=${HEIGHT + 7} class="x">${each.name.slice(5)}</text>
          `}
        </g>
      `)}
    </svg>
    <p class="chart-note" aria-hidden="true">${
      day
        ? html`<b>${day.name}</b> ${tokens(day.total)} tokens · ${day.calls} calls · ${money(day.cost)}`
        : KINDS.map(([kind, name]) => html`<span key=${kind}><i class="key ${kind}"></i>${name}</span>`)
    }</p>
  `;
}

function Stack({ day, x, width, y }) {
  let below = 0;
  return KINDS.map(([kind]) => {
    const value = day[kind] ?? 0;
    if (!value) return null;
    const bottom = y(below);
    below += value;
    const height = Math.max(0.5, bottom - y(below));
    return html`<rect key=${kind} class="seg ${kind}" x=${x} width=${width} y=${y(below)} height=${height} />`;
  });
}

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((top) => top >= value);
}

const short = (value) => (value >= 1e6 ? `${value / 1e6} M` : value >= 1000 ? `${value / 1000} k` : String(value));

const inWords = (days) =>
  `Tokens by day: ${days
    .filter((day) => day.total)
    .map((day) => `${day.name} ${tokens(day.total)}`)
    .join(", ")}`;
