// Data from the API that a view shows: loaded once, again on events, and now and then.
import { get } from "./api.js";
import { onLive } from "./live.js";
import { useCallback, useEffect, useRef, useState } from "./preact.js";

const COALESCE_MS = 250;

/**
 * `{data, error, loading, reload}` of a GET. After a failure the last data stays, with the error beside it.
 * `on(event)` says which events of the page's stream call for a reload; `everyMs` reloads without one.
 */
export function useResource(path, { on, everyMs, paused = false } = {}) {
  const [state, setState] = useState({ path, data: null, error: null, loading: true });
  const current = useRef(null);
  const timer = useRef(null);

  const load = useCallback(async () => {
    if (!path) return;
    current.current?.abort();
    const controller = (current.current = new AbortController());
    try {
      const data = await get(path, controller.signal);
      setState({ path, data, error: null, loading: false });
    } catch (error) {
      if (error.name === "AbortError") return;
      setState((old) => ({ path, data: old.path === path ? old.data : null, error, loading: false }));
    }
  }, [path]);

  // A request in flight is not aborted for every event: a busy fleet would never finish one.
  const reload = useCallback(() => {
    if (timer.current) return;
    timer.current = setTimeout(() => {
      timer.current = null;
      load();
    }, COALESCE_MS);
  }, [load]);

  useEffect(() => {
    setState((old) => (old.path === path ? old : { path, data: null, error: null, loading: Boolean(path) }));
    load();
    return () => {
      current.current?.abort();
      clearTimeout(timer.current);
      timer.current = null;
    };
  }, [load]);

  useEffect(() => {
    if (paused) return undefined;
    const off = on ? onLive((event) => (event.type === "gap" || on(event)) && reload()) : null;
    const interval = everyMs ? setInterval(() => document.hidden || load(), everyMs) : null;
    return () => {
      off?.();
      clearInterval(interval);
    };
  }, [load, reload, paused]);

  const fresh = state.path === path ? state : { data: null, error: null, loading: true };
  return { ...fresh, reload };
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
