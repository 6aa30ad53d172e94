// What is known of a session on screen, and how it changes.
import { callIds } from "./items.js";
import { advance, afterReading, noTurn } from "./live_turn.js";

export const PAGE = 100;

export const begin = () => ({
  entries: null,
  hasMore: false,
  limit: PAGE,
  session: null,
  missing: false,
  waiting: [],
  turn: noTurn(),
  pending: [],
  error: null,
  stream: "connecting",
  deleted: false,
});

export function reduce(state, action) {
  switch (action.type) {
    case "event":
      return {
        ...state,
        turn: advance(state.turn, action.event),
        deleted: state.deleted || action.event.type === "session.deleted",
      };
    case "history": {
      const turn = afterReading(state.turn, action.mark, callIds(action.entries));
      const seen = new Set(action.entries.flatMap((entry) => entry.messageIds ?? []));
      const pending = state.pending.filter((item) => !seen.has(item.messageId));
      return { ...state, entries: action.entries, hasMore: action.hasMore, turn, pending, error: null };
    }
    case "queue":
      return { ...state, waiting: action.waiting, pending: settled(state.pending, action) };
    case "children":
      return { ...state, turn: { ...state.turn, children: { ...action.children, ...state.turn.children } } };
    case "set":
      return { ...state, ...action.values };
    case "pending":
      return { ...state, pending: change(state.pending, action.item) };
    case "forget":
      return { ...state, pending: state.pending.filter((item) => item.id !== action.id) };
    default:
      return state;
  }
}

/** Messages that wait in the queue are shown there, not at the end of the transcript. */
function settled(pending, { waiting }) {
  const ids = new Set(waiting.map((each) => each.messageId));
  return pending.filter((item) => !ids.has(item.messageId));
}

function change(pending, item) {
  const known = pending.some((each) => each.id === item.id);
  return known ? pending.map((each) => (each.id === item.id ? { ...each, ...item } : each)) : [...pending, item];
}
