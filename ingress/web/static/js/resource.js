// Data from the API that a view shows: loaded once, again on events, and now and then.
import { get } from "./api.js";
import { coalesced } from "./coalesced.js";
import { onLive } from "./live.js";
import { useEffect, useMemo, useState } from "./preact.js";

const COALESCE_MS = 250;

/**
 * `{data, error, reload, refresh}` of a GET; `refresh` resolves when the new data is there.
 * After a failure the last data stays, with the error beside it.
 * `on(event)` says which events of the page's stream call for a reload; `everyMs` reloads without one.
 */
export function useResource(path, { on, everyMs, paused = false } = {}) {
  const [state, setState] = useState({ path, data: null, error: null });
  const reload = useMemo(
    () =>
      coalesced(async () => {
        try {
          const data = await get(path);
          setState({ path, data, error: null });
        } catch (error) {
          setState((old) => ({ path, data: old.path === path ? old.data : null, error }));
        }
      }, COALESCE_MS),
    [path],
  );

  useEffect(() => {
    reload.now();
    return reload.cancel;
  }, [reload]);

  useEffect(() => {
    if (paused) return undefined;
    const off = on ? onLive((event) => (event.type === "gap" || on(event)) && reload()) : null;
    const interval = everyMs ? setInterval(() => document.hidden || reload(), everyMs) : null;
    return () => {
      off?.();
      clearInterval(interval);
    };
  }, [reload, paused, everyMs]);

  const known = state.path === path ? state : { data: null, error: null };
  return { data: known.data, error: known.error, reload, refresh: reload.now };
}

/** The time, renewed every `everyMs`; views that show ages render with it. */
export function useNow(everyMs = 1000, active = true) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!active) return undefined;
    const timer = setInterval(() => document.hidden || setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs, active]);
  return now;
}
