// Addresses of the page: one for every view, session and run.
import { html, useEffect, useState } from "./preact.js";

const changed = new Set();

export function navigate(to, { replace = false } = {}) {
  if (to === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  changed.forEach((listener) => listener());
}

/** `{view, parts, query}`: /runs/run-1/run-2?x=y is view "runs" with parts ["run-1", "run-2"]. */
export function parseRoute(pathname, search) {
  const [view, ...parts] = pathname.split("/").filter(Boolean).map(decode);
  return { view: view ?? "", parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function useRoute() {
  const read = () => parseRoute(location.pathname, location.search);
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const listener = () => setRoute(read());
    changed.add(listener);
    window.addEventListener("popstate", listener);
    return () => {
      changed.delete(listener);
      window.removeEventListener("popstate", listener);
    };
  }, []);
  return route;
}

export const chatPath = (key) => `/chat/${encodeURIComponent(key)}`;
export const sessionRunsPath = (key) => `/runs?session=${encodeURIComponent(key)}`;
export const runPath = (root, run) =>
  `/runs/${encodeURIComponent(root)}${run && run !== root ? `/${encodeURIComponent(run)}` : ""}`;

export function memoryPath(agent, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value);
  const path = `/memory/${encodeURIComponent(agent)}`;
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

export const skillsPath = (agent) => `/skills/${encodeURIComponent(agent)}`;

/** A link that stays on the page, unless it is opened elsewhere. */
export function Link({ to, onNavigate, children, ...rest }) {
  const open = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(to);
    onNavigate?.();
  };
  return html`<a href=${to} onClick=${open} ...${rest}>${children}</a>`;
}
