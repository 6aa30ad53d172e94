// One session: its transcript, the turn in progress, what waits, and what was just sent.
import { at, get, post, randomId, withQuery } from "../../api.js";
import { useCallback, useEffect, useReducer, useRef } from "../../preact.js";
import { follow } from "../../sse.js";
import { callIds } from "./items.js";
import { advance, afterReading, noTurn, touchesQueue, touchesTranscript } from "./live_turn.js";

const PAGE = 100;
const COALESCE_MS = 120;

const begin = (key) => ({
  key, entries: null, hasMore: false, limit: PAGE, session: null, missing: false, waiting: [], turn: noTurn(),
  pending: [], error: null, stream: "connecting", deleted: false,
});

function reduce(state, action) {
  switch (action.type) {
    case "open":
      return begin(action.key);
    case "event":
      return { ...state, turn: advance(state.turn, action.event), deleted: state.deleted || action.event.type === "session.deleted" };
    case "history": {
      const turn = afterReading(state.turn, action.mark, callIds(action.entries));
      const seen = new Set(action.entries.flatMap((entry) => entry.messageIds ?? []));
      const pending = state.pending.filter((item) => !seen.has(item.messageId));
      return { ...state, entries: action.entries, hasMore: action.hasMore, turn, pending, error: null };
    }
    case "queue":
      return { ...state, waiting: action.waiting, pending: settled(state.pending, action) };
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
  const ids = new Set(waiting.map((each) => each.id ?? each.messageId));
  return pending.filter((item) => !ids.has(item.messageId));
}

function change(pending, item) {
  const known = pending.some((each) => each.id === item.id);
  return known ? pending.map((each) => (each.id === item.id ? { ...each, ...item } : each)) : [...pending, item];
}

export function useConversation(key) {
  const [state, dispatch] = useReducer(reduce, key, begin);
  const latest = useRef(state);
  latest.current = state;
  const readers = useReaders(key, dispatch, latest);

  useEffect(() => {
    dispatch({ type: "open", key });
    return openSession(key, dispatch, readers);
  }, [key]);

  const send = useCallback((text, attachments = [], mode) => sendMessage(key, dispatch, readers, { text, attachments, mode }), [key]);
  const retry = useCallback((item) => deliver(key, dispatch, readers, item), [key]);
  const loadEarlier = useCallback(() => {
    dispatch({ type: "set", values: { limit: latest.current.limit + PAGE } });
    latest.current = { ...latest.current, limit: latest.current.limit + PAGE };
    return readers.history.now();
  }, [key]);
  const shown = state.key === key ? state : begin(key);
  return { ...shown, send, retry, loadEarlier, reload: readers.all, forget: (id) => dispatch({ type: "forget", id }) };
}

function useReaders(key, dispatch, latest) {
  const readers = useRef(null);
  if (readers.current?.key !== key) {
    const history = coalesced(() => readHistory(key, dispatch, latest));
    const queue = coalesced(() => readQueue(key, dispatch));
    const all = () => Promise.all([history.now(), queue.now(), readSession(key, dispatch)]);
    readers.current = { key, history, queue, all };
  }
  return readers.current;
}

function openSession(key, dispatch, readers) {
  let stop = () => {};
  let closed = false;
  (async () => {
    const session = await readSession(key, dispatch);
    if (closed) return;
    // A turn in progress is replayed from the stream, so that its text is there from its first word.
    const after = session && session.state !== "idle" ? "0-0" : undefined;
    stop = follow(at("sessions", key, "events"), {
      after,
      onEvent: (event) => {
        dispatch({ type: "event", event });
        if (touchesTranscript(event)) readers.history();
        if (touchesQueue(event)) readers.queue();
        if (/^run\.(started|ended|parked|lost)|^session\.|^gap/.test(event.type)) readSession(key, dispatch);
      },
      onStatus: (stream) => {
        dispatch({ type: "set", values: { stream } });
        if (stream === "open") readers.all();
      },
    });
    readers.all();
  })();
  return () => {
    closed = true;
    stop();
    readers.history.cancel();
    readers.queue.cancel();
  };
}

async function readSession(key, dispatch) {
  try {
    const session = await get(at("sessions", key));
    dispatch({ type: "set", values: { session, missing: false } });
    return session;
  } catch (error) {
    if (error.status === 404) dispatch({ type: "set", values: { missing: true, entries: [], error: null } });
    else dispatch({ type: "set", values: { error } });
    return null;
  }
}

async function readHistory(key, dispatch, latest) {
  const { turn, limit } = latest.current;
  try {
    const answer = await get(withQuery(at("sessions", key, "history"), { limit }));
    const entries = Array.isArray(answer) ? answer : answer.entries;
    dispatch({ type: "history", entries, mark: turn.mark, hasMore: entries.length >= limit });
  } catch (error) {
    if (error.status !== 404) dispatch({ type: "set", values: { error } });
  }
}

async function readQueue(key, dispatch) {
  try {
    const answer = await get(at("sessions", key, "queue"));
    dispatch({ type: "queue", waiting: answer.messages ?? answer.waiting ?? [] });
  } catch { /* a session that does not exist yet has no queue */ }
}

async function sendMessage(key, dispatch, readers, { text, attachments, mode }) {
  const item = { id: randomId(), text, attachments, mode, at: Date.now(), state: "sending", error: null };
  dispatch({ type: "pending", item });
  return deliver(key, dispatch, readers, item);
}

/** Send it, or send it again: the key makes the second time harmless. */
async function deliver(key, dispatch, readers, item) {
  dispatch({ type: "pending", item: { ...item, state: "sending", error: null } });
  const files = item.attachments.map(({ name, mediaType, data }) => ({ name, mediaType, data }));
  const body = { text: item.text, sessionKey: key, idempotencyKey: item.id, mode: item.mode, wait: "none" };
  try {
    const answer = await post(at("send"), files.length ? { ...body, attachments: files } : body);
    const output = answer.reply ?? answer.text;
    if (answer.status === "command") dispatch({ type: "pending", item: { ...item, state: "command", output } });
    else if (answer.ok === false || answer.error) throw answer.error;
    else dispatch({ type: "pending", item: { ...item, state: "accepted", messageId: answer.messageId } });
    readers.all();
    return true;
  } catch (error) {
    dispatch({ type: "pending", item: { ...item, state: "failed", error } });
    return false;
  }
}

/** Calls within a short time become one; a call during a reading makes one more afterwards. */
function coalesced(read) {
  let timer = null;
  let running = null;
  let again = false;
  const now = async () => {
    if (running) {
      again = true;
      return running;
    }
    running = read();
    await running;
    running = null;
    if (again) {
      again = false;
      return now();
    }
    return undefined;
  };
  const later = () => {
    timer ??= setTimeout(() => {
      timer = null;
      now();
    }, COALESCE_MS);
  };
  later.now = now;
  later.cancel = () => clearTimeout(timer);
  return later;
}
