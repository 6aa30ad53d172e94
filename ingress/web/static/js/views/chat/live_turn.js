// The turn in progress, built from events. What is in the transcript already is not kept here: the transcript counts.

/**
 * `text` streams; once `closed`, the transcript has it, and the next reading of the transcript clears it.
 * `mark` counts the closings, so that a reading that began before one does not clear what it cannot have.
 */
export const noTurn = () => ({
  runId: null,
  phase: "idle",
  worker: "",
  text: "",
  thinking: "",
  closed: false,
  mark: 0,
  tools: {},
  note: "",
  children: {},
});

const TOUCHES_TRANSCRIPT = new Set([
  "run.started",
  "run.ended",
  "run.parked",
  "run.steered",
  "run.lost",
  "run.released",
  "tool.started",
  "tool.ended",
  "session.reset",
  "context.compacted",
  "gap",
]);
const TOUCHES_QUEUE = new Set([
  "message.accepted",
  "message.dropped",
  "message.rejected",
  "run.started",
  "run.ended",
  "run.steered",
  "run.parked",
  "session.reset",
  "gap",
]);

export const touchesTranscript = (event) => TOUCHES_TRANSCRIPT.has(event.type);
export const touchesQueue = (event) => TOUCHES_QUEUE.has(event.type);

/** The turn after an event. */
export function advance(turn, { type, data }) {
  const step = STEPS[type];
  if (step) return step(turn, data);
  return type.startsWith("subagent.") ? { ...turn, children: withChild(turn.children, type, data) } : turn;
}

/** The turn after the transcript was read; the reading began at `mark`. */
export function afterReading(turn, mark, knownCalls) {
  const tools = Object.fromEntries(
    Object.entries(turn.tools).filter(([id, tool]) => !tool.ended || !knownCalls.has(id)),
  );
  return turn.closed && turn.mark <= mark
    ? { ...turn, text: "", thinking: "", closed: false, tools }
    : { ...turn, tools };
}

const close = (turn) => ({ ...turn, closed: true, mark: turn.mark + 1 });
const afterClosed = (turn) => (turn.closed ? { ...turn, text: "", thinking: "", closed: false } : turn);

const STEPS = {
  "run.started": (turn, data) => ({
    ...noTurn(),
    mark: turn.mark + 1,
    runId: data.run,
    worker: data.worker ?? "",
    phase: "running",
    children: turn.children,
    note:
      turn.runId === data.run && turn.worker && turn.worker !== data.worker && turn.phase !== "parked"
        ? `${turn.phase === "lost" ? "A worker was lost" : "The worker changed"}; resumed on ${data.worker}`
        : "",
  }),
  "text.delta": (turn, data) => {
    const open = afterClosed(turn);
    return { ...open, phase: "running", text: open.text + (data.text ?? "") };
  },
  "thinking.delta": (turn, data) => {
    const open = afterClosed(turn);
    return { ...open, phase: "running", thinking: open.thinking + (data.text ?? "") };
  },
  "tool.started": (turn, data) => {
    const tool = { id: data.call, name: data.tool, brief: data.brief ?? "", at: data.at, lines: [], ended: false };
    return { ...close(turn), note: "", tools: { ...turn.tools, [data.call]: tool } };
  },
  "tool.output": (turn, data) =>
    withTool(turn, data.call, (tool) => ({ lines: [...tool.lines.slice(-199), data.line] })),
  "tool.ended": (turn, data) => withTool(turn, data.call, () => ({ ended: true, error: data.error, endedAt: data.at })),
  "model.retried": (turn, data) => ({
    ...turn,
    text: "",
    thinking: "",
    note: `The model call failed (${data.what ?? data.reason}); trying again.`,
  }),
  "model.waiting": (turn, data) => ({ ...turn, note: `Waiting: ${data.why}` }),
  "run.waiting": (turn, data) => ({
    ...turn,
    note: `Waiting: the files of ${data.agent} are at ${data.place}, and no worker takes turns there now.`,
  }),
  "run.lost": (turn) => ({
    ...turn,
    phase: "lost",
    text: "",
    thinking: "",
    note: "The worker was lost. Another one takes over.",
  }),
  "run.released": (turn) => ({
    ...turn,
    phase: "queued",
    text: "",
    thinking: "",
    note: "The worker is leaving. Another one takes over.",
  }),
  "run.parked": (turn) => ({ ...close(turn), phase: "parked", note: "Waits for other sessions; no worker is held." }),
  "run.ended": (turn, data) => ({ ...close(turn), phase: "idle", note: "", tools: endAll(turn.tools), ended: data }),
  "session.reset": () => noTurn(),
};

function withTool(turn, id, change) {
  const tool = turn.tools[id];
  return tool ? { ...turn, tools: { ...turn.tools, [id]: { ...tool, ...change(tool) } } } : turn;
}

const endAll = (tools) => Object.fromEntries(Object.entries(tools).map(([id, tool]) => [id, { ...tool, ended: true }]));

function withChild(children, type, data) {
  const state = {
    "subagent.spawned": "queued",
    "subagent.started": "running",
    "subagent.failed": data.state ?? "error",
  }[type];
  if (state) {
    const known = children[data.run] ?? {};
    return {
      ...children,
      [data.run]: {
        ...known,
        run: data.run,
        label: data.label ?? known.label,
        session: data.session ?? known.session,
        parent: data.parentRun ?? known.parent,
        state,
      },
    };
  }
  if (type !== "subagent.announced" && type !== "subagent.discarded") return children;
  const reported = Object.fromEntries(
    (data.runs ?? []).map((each) => [
      each.run,
      { ...children[each.run], ...each, state: each.status ?? each.state ?? "ok" },
    ]),
  );
  return { ...children, ...reported };
}
