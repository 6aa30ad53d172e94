// A tree of runs as rows, and its sums.
import { sessionName } from "../../format.js";
import { lossesOf, queuedMs } from "./spans.js";
import { isLive } from "../../parts/marks.js";

/** Rows in display order: `{run, depth, guides, hasChildren, root}`; children of `collapsed` runs are left out. */
export function rowsOf(root, collapsed = new Set()) {
  const rows = [];
  const visit = (run, depth, guides, isLast) => {
    const children = run.children ?? [];
    const own = depth ? guides + (isLast ? "└─" : "├─") : "";
    rows.push({ run, depth, guides: own, hasChildren: children.length > 0 });
    if (collapsed.has(run.runId)) return;
    const below = depth ? guides + (isLast ? "   " : "│  ") : "";
    children.forEach((child, index) => visit(child, depth + 1, below, index === children.length - 1));
  };
  visit(root, 0, "", true);
  return rows;
}

export function* walk(run) {
  yield run;
  for (const child of run.children ?? []) yield* walk(child);
}

export const findRun = (root, id) => {
  for (const run of walk(root)) if (run.runId === id) return run;
  return null;
};

export const subtreeCost = (run) => [...walk(run)].reduce((sum, each) => sum + (each.cost ?? 0), 0);

/** From the first queued run to the last end, or to now while something is live. */
export function extentOf(root, now) {
  const all = [...walk(root)];
  const from = Math.min(...all.map((run) => run.queuedAt));
  const live = all.some((run) => isLive(run.state));
  const to = live ? now : Math.max(...all.map((run) => run.endedAt ?? run.queuedAt));
  return { from, to: Math.max(to, from + 1000), live };
}

export function sumsOf(root, now) {
  const all = [...walk(root)];
  const waits = all.map((run) => queuedMs(run, now));
  const losses = all.flatMap(lossesOf);
  const resumed = losses.filter((loss) => loss.next && loss.at).map((loss) => loss.next.at - loss.at);
  return {
    runs: all.length,
    live: all.filter((run) => run.state === "running").length,
    parked: all.filter((run) => run.state === "parked").length,
    queued: all.filter((run) => run.state === "queued").length,
    failed: all.filter((run) => run.state === "error" || run.state === "timeout").length,
    tokens: all.reduce((sum, run) => sum + (run.tokens ?? run.usage?.total ?? 0), 0),
    cached: all.reduce((sum, run) => sum + (run.usage?.cacheRead ?? 0), 0),
    cost: all.reduce((sum, run) => sum + (run.cost ?? 0), 0),
    waited: waits.reduce((sum, wait) => sum + wait, 0),
    longestWait: Math.max(0, ...waits),
    lost: losses.length,
    resumedMs: resumed.length ? Math.max(...resumed) : null,
  };
}

/** What a tree is about: the message that started it. */
export const titleOf = (root) => root.label || root.title || sessionName(root.sessionKey);

export function nameOf(run) {
  if (run.kind === "reply") return "Reply to the results";
  return run.label || run.title || run.runId;
}
