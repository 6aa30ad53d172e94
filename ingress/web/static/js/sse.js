// Server-sent events over fetch. EventSource would need every event type by name, and hides the status of a refusal.
import { reportSignedOut } from "./api.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;
const SILENCE_MS = 45000; // the server sends a comment every 15 s

/**
 * Follow a stream until the returned function is called; reconnects with Last-Event-ID.
 * `onEvent({id, type, data})`, `onStatus("connecting" | "open" | "waiting")`.
 */
export function follow(path, { after, onEvent, onStatus = () => {} }) {
  const state = { lastId: after, stopped: false, waitMs: FIRST_WAIT_MS, controller: null };
  const run = async () => {
    while (!state.stopped) {
      onStatus("connecting");
      const outcome = await readOnce(path, state, onEvent, onStatus);
      if (state.stopped || outcome === "refused") return;
      onStatus("waiting");
      await pause(state.waitMs);
      state.waitMs = Math.min(state.waitMs * 2, LONGEST_WAIT_MS);
    }
  };
  run();
  return () => {
    state.stopped = true;
    state.controller?.abort();
  };
}

async function readOnce(path, state, onEvent, onStatus) {
  state.controller = new AbortController();
  const headers = { Accept: "text/event-stream" };
  if (state.lastId) headers["Last-Event-ID"] = state.lastId;
  let watchdog;
  const alive = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => state.controller.abort(), SILENCE_MS);
  };
  try {
    alive();
    const response = await fetch(path, { headers, signal: state.controller.signal, credentials: "same-origin" });
    if (response.status === 401) {
      reportSignedOut();
      return "refused";
    }
    if (response.status === 403 || response.status === 404) return "refused";
    if (!response.ok) return "failed";
    state.waitMs = FIRST_WAIT_MS;
    onStatus("open");
    await readBody(response.body.getReader(), state, onEvent, alive);
  } catch {
    /* the connection ended; the caller connects again */
  } finally {
    clearTimeout(watchdog);
  }
  return "ended";
}

async function readBody(reader, state, onEvent, alive) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    rest += decoder.decode(value, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parse(block);
      if (event.id) state.lastId = event.id;
      if (event.data !== null && !state.stopped) onEvent(event);
    }
  }
}

/** One event. Exported for tests. */
export function parse(block) {
  const event = { id: null, type: "message", data: null };
  const lines = [];
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon === 0) continue; // a comment
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") lines.push(value);
    else if (name === "id") event.id = value;
    else if (name === "event") event.type = value;
  }
  if (lines.length) {
    try {
      event.data = JSON.parse(lines.join("\n"));
    } catch {
      event.data = {};
    }
  }
  return event;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms * (0.8 + 0.4 * Math.random())));
