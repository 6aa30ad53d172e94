// One stream for the whole page: it says that a run, a session or the fleet has changed, and who listens reads again.
import { at } from "./api.js";
import { follow } from "./sse.js";
import { useEffect, useState } from "./preact.js";

const listeners = new Set();
const statusListeners = new Set();
let status = "connecting";
let stop = null;

export function startLive() {
  if (stop) return;
  stop = follow(at("events"), {
    onEvent: (event) => listeners.forEach((listener) => listener(event)),
    onStatus: (next) => {
      // After a reconnect everything may have changed.
      if (next === "open" && status === "waiting") listeners.forEach((listener) => listener({ type: "gap", data: {} }));
      if (next === "connecting" && status === "waiting") return;
      status = next;
      statusListeners.forEach((listener) => listener(next));
    },
  });
}

export function stopLive() {
  stop?.();
  stop = null;
  status = "connecting";
}

export function onLive(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** "connecting", "open" or "waiting" (for the next attempt to reconnect). */
export function useLiveStatus() {
  const [value, setValue] = useState(status);
  useEffect(() => {
    statusListeners.add(setValue);
    return () => statusListeners.delete(setValue);
  }, []);
  return value;
}
