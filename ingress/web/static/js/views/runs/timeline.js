// The tree on one time axis: a row for each run.
import { duration, money, tokens } from "../../format.js";
import { hostColour, hostOf, processOf, workerName } from "../../hosts.js";
import { html, useEffect, useRef, useState } from "../../preact.js";
import { Dot, isLive, stateWord } from "../../parts/marks.js";
import { lossesOf, spansOf, ticks } from "./spans.js";
import { extentOf, nameOf, rowsOf, walk } from "./tree.js";

const DENSE_FROM = 40;

/** Colours stand for hosts; if there is one host only, for its processes. */
export function colouring(root) {
  const workers = [...walk(root)].flatMap((run) => (run.attempts ?? []).map((attempt) => attempt.worker));
  const hosts = new Set(workers.map(hostOf));
  const nameFor = hosts.size > 1 ? hostOf : processOf;
  return { names: [...new Set(workers.map(nameFor))], nameFor, colour: (worker) => hostColour(nameFor(worker)) };
}

export function Timeline({ root, title, now, selected, onSelect, following }) {
  const [collapsed, setCollapsed] = useState(new Set());
  const rows = rowsOf(root, collapsed);
  const extent = extentOf(root, now);
  const colours = colouring(root);
  const grid = useRef(null);
  useFollow(grid, rows, following);
  const toggle = (id, want) => {
    const next = new Set(collapsed);
    if (want ?? !next.has(id)) next.add(id);
    else next.delete(id);
    setCollapsed(next);
  };
  const onKeyDown = (event) => moveByKey(event, rows, selected, onSelect, toggle, collapsed, grid);
  const marks = ticks(extent.to - extent.from);
  return html`
    <div class="timeline card ${rows.length >= DENSE_FROM ? "dense" : ""}" role="treegrid" aria-label="Run tree on a time axis"
      ref=${grid} onKeyDown=${onKeyDown}>
      <div class="row axis" role="row">
        <div role="columnheader">Run</div>
        <div class="track" role="columnheader" aria-label="Time">${marks.map((mark) => html`
          <span key=${mark} style=${{ left: share(mark, extent) }}>${axisLabel(mark, extent)}</span>
        `)}</div>
        <div class="num" role="columnheader">Tokens</div>
        <div class="num" role="columnheader">Cost</div>
      </div>
      ${rows.map((row, index) => html`
        <${Row} key=${row.run.runId} row=${row} name=${index ? nameOf(row.run) : title} extent=${extent} now=${now}
          marks=${marks} colours=${colours} isSelected=${row.run.runId === selected}
          isFocusable=${selected ? row.run.runId === selected : index === 0}
          isCollapsed=${collapsed.has(row.run.runId)} onSelect=${onSelect} toggle=${toggle} />
      `)}
    </div>
    <${Legend} colours=${colours} />
  `;
}

const share = (offset, extent) => `${(100 * offset) / (extent.to - extent.from)}%`;

/** None at the very end, where it would run into the next column. */
function axisLabel(mark, extent) {
  if (mark > 0.94 * (extent.to - extent.from)) return "";
  return mark ? duration(mark).replace(/\.0 s$/, " s") : "0";
}

function Row({ row, name, extent, now, marks, colours, isSelected, isFocusable, isCollapsed, onSelect, toggle }) {
  const { run, guides, depth, hasChildren } = row;
  const open = () => onSelect(run.runId);
  return html`
    <div class="row ${isSelected ? "sel" : ""}" role="row" aria-level=${depth + 1} aria-selected=${isSelected}
      aria-expanded=${hasChildren ? !isCollapsed : undefined} data-run=${run.runId} data-state=${run.state}
      tabindex=${isFocusable ? 0 : -1} onClick=${open}>
      <div class="name" role="rowheader">
        <span class="guides" aria-hidden="true">${guides}</span>
        <${Dot} state=${run.state} />
        <span class="ellipsis" title=${`${name} · ${run.agentId ?? ""} · lane ${run.lane}`}>${name}</span>
        ${hasChildren && html`
          <button class="quiet fold-button" tabindex="-1"
            aria-label=${isCollapsed ? "Show what it spawned" : "Hide what it spawned"} onClick=${(event) => {
              event.stopPropagation();
              toggle(run.runId);
            }}>${isCollapsed ? `+${run.children.length}` : "−"}</button>
        `}
      </div>
      <div class="track" role="gridcell" aria-label=${inWords(run, now)}>
        ${marks.map((mark) => html`<i key=${mark} class="tick" style=${{ left: share(mark, extent) }}></i>`)}
        <${Bars} run=${run} extent=${extent} now=${now} colours=${colours} />
        ${extent.live && html`<i class="now"></i>`}
      </div>
      <div class="num" role="gridcell">${tokens(run.tokens ?? run.usage?.total)}</div>
      <div class="num" role="gridcell">${money(run.cost)}</div>
    </div>
  `;
}

function Bars({ run, extent, now, colours }) {
  const end = { error: "failed", timeout: "failed", killed: "stopped" }[run.state] ?? "";
  const spans = spansOf(run, now);
  const last = spans.findLastIndex((span) => span.kind === "running");
  return html`
    ${spans.map((span, index) => html`
      <i key=${index} class="bar ${span.kind} ${index === last ? end : ""}"
        title=${spanTitle(span)} style=${{
          left: share(span.from - extent.from, extent),
          width: share(span.to - span.from, extent),
          background: span.kind === "running" ? colours.colour(span.worker) : undefined,
        }}></i>
    `)}
    ${lossesOf(run).map((loss, index) => html`
      <i key=${`lost-${index}`} class="lost" title=${`Worker lost: ${workerName(loss.worker)}`}
        style=${{ left: share((loss.at ?? now) - extent.from, extent) }}></i>
    `)}
  `;
}

function spanTitle(span) {
  const length = duration(span.to - span.from);
  if (span.kind === "running") return `Ran ${length} on ${workerName(span.worker)}`;
  return span.kind === "parked" ? `Parked ${length}, held no worker` : `Queued ${length}`;
}

/** The bars for somebody who does not see them. */
function inWords(run, now) {
  const parts = spansOf(run, now).map(spanTitle);
  const lost = lossesOf(run).length;
  return [stateWord(run.state), ...parts, lost ? `${lost} worker lost` : ""].filter(Boolean).join("; ");
}

const Legend = ({ colours }) => html`
  <div class="legend" aria-label="Legend">
    <span><i class="bar queued"></i>queued</span>
    ${colours.names.slice(0, 12).map((name) => html`
      <span key=${name}>
        <i class="bar" style=${{ background: hostColour(name) }}></i>${name.replace(/\/(\d+)$/, " · $1")}
      </span>
    `)}
    <span><i class="bar parked"></i>parked, holds no worker</span>
    <span class="lost-word">▼ worker lost</span>
  </div>
`;

function moveByKey(event, rows, selected, onSelect, toggle, collapsed, grid) {
  const index = Math.max(
    0,
    rows.findIndex((row) => row.run.runId === selected),
  );
  const row = rows[index];
  const go = (to) => {
    const run = rows[Math.min(rows.length - 1, Math.max(0, to))].run.runId;
    onSelect(run);
    requestAnimationFrame(() => grid.current?.querySelector(`[data-run="${CSS.escape(run)}"]`)?.focus());
  };
  const actions = {
    ArrowDown: () => go(index + 1),
    ArrowUp: () => go(index - 1),
    Home: () => go(0),
    End: () => go(rows.length - 1),
    ArrowRight: () => row.hasChildren && collapsed.has(row.run.runId) && toggle(row.run.runId, false),
    ArrowLeft: () => row.hasChildren && !collapsed.has(row.run.runId) && toggle(row.run.runId, true),
    Enter: () => onSelect(row.run.runId),
  };
  if (!actions[event.key] || event.target.closest("button")) return;
  event.preventDefault();
  actions[event.key]();
}

/** While following, the newest live run stays in view. */
function useFollow(grid, rows, following) {
  const live = rows.filter((row) => isLive(row.run.state));
  const newest = live.reduce((best, row) => (best && best.run.queuedAt >= row.run.queuedAt ? best : row), null)?.run
    .runId;
  const before = useRef(newest);
  useEffect(() => {
    if (before.current === newest) return;
    before.current = newest;
    if (following && newest)
      grid.current?.querySelector(`[data-run="${CSS.escape(newest)}"]`)?.scrollIntoView({ block: "nearest" });
  }, [newest, following]);
}
