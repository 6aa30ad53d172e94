// One session: its transcript, the turn in progress, what waits, and what was just sent.
import { at, get, post, randomId, withQuery } from "../../api.js";
import { coalesced } from "../../coalesced.js";
import { useEffect, useReducer, useRef, useState } from "../../preact.js";
import { follow } from "../../sse.js";
import { PAGE, begin, reduce } from "./conversation_state.js";
import { touchesQueue, touchesTranscript } from "./live_turn.js";

const MOST = 1000; // the API gives no more at a time

export function useConversation(key) {
  const [state, dispatch] = useReducer(reduce, key, begin);
  const latest = useRef(state);
  latest.current = state;
  const [opened] = useState(() => new Opened(key, dispatch, latest));

  useEffect(() => {
    opened.open();
    return () => opened.close();
  }, []);

  return {
    ...state,
    send: (text, attachments = [], mode) => opened.send({ text, attachments, mode }),
    retry: (item) => opened.deliver(item),
    loadEarlier: () => opened.loadEarlier(),
    reload: () => opened.readAll(),
    forget: (id) => dispatch({ type: "forget", id }),
  };
}

/** A session as long as it is on screen: what is read from it, and what is sent to it. */
class Opened {
  constructor(key, dispatch, latest) {
    this.key = key;
    this.dispatch = dispatch;
    this.latest = latest;
    this.readHistory = coalesced(() => readHistory(key, dispatch, latest));
    this.readQueue = coalesced(() => readQueue(key, dispatch));
    this.readSession = coalesced(() => readSession(key, dispatch));
    this.stop = null;
    this.closed = false;
  }

  async open() {
    try {
      const found = await get(withQuery(at("sessions"), { key: this.key, limit: 100 }));
      const known = found.sessions.find((each) => each.sessionKey === this.key);
      if (this.closed) return;
      // A turn in progress is replayed from the stream, so that its text is there from its first word.
      if (known) {
        this.follow(known.state === "idle" ? undefined : "0-0");
        await readChildren(this.key, this.dispatch);
      } else this.dispatch({ type: "set", values: { missing: true, entries: [], error: null } });
    } catch (error) {
      this.dispatch({ type: "set", values: { error } });
    }
  }

  follow(after) {
    this.stop = follow(at("sessions", this.key, "events"), {
      after,
      onEvent: (event) => this.onEvent(event),
      onStatus: (stream) => {
        this.dispatch({ type: "set", values: { stream } });
        if (stream === "open") this.readAll();
      },
    });
  }

  onEvent(event) {
    this.dispatch({ type: "event", event });
    if (event.type === "session.deleted") return this.close();
    if (touchesTranscript(event)) this.readHistory();
    if (touchesQueue(event)) this.readQueue();
    if (/^run\.(started|ended|parked|lost)|^session\.|^gap/.test(event.type)) this.readSession();
    return undefined;
  }

  readAll() {
    if (!this.stop) return this.open();
    return Promise.all([this.readHistory.now(), this.readQueue.now(), this.readSession.now()]);
  }

  loadEarlier() {
    const limit = Math.min(this.latest.current.limit + PAGE, MOST);
    this.dispatch({ type: "set", values: { limit } });
    this.latest.current = { ...this.latest.current, limit };
    return this.readHistory.now();
  }

  send({ text, attachments, mode }) {
    return this.deliver({ id: randomId(), text, attachments, mode, at: Date.now() });
  }

  /** Send it, or send it again: the key makes the second time harmless. */
  async deliver(item) {
    const show = (values) => this.dispatch({ type: "pending", item: { ...item, error: null, ...values } });
    show({ state: "sending" });
    try {
      const answer = await post(at("send"), bodyOf(item, this.key));
      if (answer.status === "command") show({ state: "command", output: answer.text });
      else if (answer.error) throw answer.error;
      else show({ state: "accepted", messageId: answer.messageId });
      if (!this.stop && answer.eventId) this.follow(answer.eventId);
      else this.readAll();
    } catch (error) {
      show({ state: "failed", error });
    }
  }

  close() {
    this.closed = true;
    this.stop?.();
    for (const reading of [this.readHistory, this.readQueue, this.readSession]) reading.cancel();
  }
}

function bodyOf(item, key) {
  const body = { text: item.text, sessionKey: key, idempotencyKey: item.id, wait: "none" };
  if (item.mode) body.mode = item.mode;
  if (item.attachments.length)
    body.attachments = item.attachments.map(({ name, mediaType, data }) => ({ name, mediaType, data }));
  return body;
}

async function readSession(key, dispatch) {
  try {
    dispatch({ type: "set", values: { session: await get(at("sessions", key)), missing: false } });
  } catch (error) {
    if (error.status !== 404) dispatch({ type: "set", values: { error } });
  }
}

async function readHistory(key, dispatch, latest) {
  const { turn, limit } = latest.current;
  try {
    const answer = await get(withQuery(at("sessions", key, "history"), { limit }));
    dispatch({ type: "history", entries: answer.entries, mark: turn.mark, hasMore: answer.first > 0 && limit < MOST });
  } catch (error) {
    if (error.status !== 404) dispatch({ type: "set", values: { error } });
  }
}

/** The sub-agents at work that this session has spawned; events tell of the others. */
async function readChildren(key, dispatch) {
  const answer = await get(withQuery(at("subagents"), { sessionKey: key, live: true, limit: 200 }));
  const own = answer.subagents.filter((each) => each.requesterSessionKey === key);
  const known = own.map(({ runId: run, label, childSessionKey: session, state, parentRunId: parent }) => [
    run,
    { run, label, session, state, parent },
  ]);
  dispatch({ type: "children", children: Object.fromEntries(known) });
}

async function readQueue(key, dispatch) {
  try {
    const answer = await get(at("sessions", key, "queue"));
    dispatch({ type: "queue", waiting: answer.waiting });
  } catch {
    /* a session that does not exist yet has no queue */
  }
}
