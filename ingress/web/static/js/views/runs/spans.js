// What a run did when: queued, running on a worker, parked, and where a worker was lost.

/** `[{kind: "queued" | "running" | "parked", from, to, worker}]`, in order and without overlaps. */
export function spansOf(run, now) {
  const end = run.endedAt ?? Math.max(now, run.queuedAt);
  const attempts = run.attempts ?? [];
  const spans = [];
  let at = run.queuedAt;
  attempts.forEach((attempt, index) => {
    add(spans, "queued", at, attempt.at);
    const next = attempts[index + 1]?.at ?? end;
    const until = Math.max(attempt.at, Math.min(attempt.until ?? next, next));
    add(spans, "running", attempt.at, until, attempt);
    at = until;
    if (attempt.end !== "parked") return;
    const woken = Math.min(attempt.woken ?? next, next);
    add(spans, "parked", at, woken);
    at = Math.max(at, woken);
  });
  add(spans, run.state === "parked" ? "parked" : "queued", at, end);
  return spans;
}

function add(spans, kind, from, to, attempt) {
  if (to > from || kind === "running")
    spans.push({ kind, from, to: Math.max(to, from), worker: attempt?.worker, attempt });
}

/** The moments at which a worker was lost, each with the attempt that followed. */
export function lossesOf(run) {
  const attempts = run.attempts ?? [];
  return attempts.flatMap((attempt, index) => {
    const next = attempts[index + 1];
    const isLost = attempt.end === "lost" || next?.how === "takeover";
    return isLost ? [{ at: attempt.until ?? next?.at, worker: attempt.worker, next }] : [];
  });
}

/** How long the run waited for a worker, without the time it was parked. */
export const queuedMs = (run, now) =>
  spansOf(run, now)
    .filter((span) => span.kind === "queued")
    .reduce((sum, span) => sum + span.to - span.from, 0);

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map((s) => s * 1000);

/** Round marks for an axis of this length: at most `most`. */
export function ticks(length, most = 6) {
  const step = STEPS.find((each) => length / each <= most) ?? 86400000 * Math.ceil(length / 86400000 / most);
  const marks = [];
  for (let at = 0; at <= length; at += step) marks.push(at);
  return marks;
}
