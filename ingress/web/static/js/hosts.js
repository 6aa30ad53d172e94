// A colour for each host, the same in every view while the page is open.

const COLOURS = 8;
const known = new Map();

/** The CSS variable of a host's colour. */
export function hostColour(name) {
  if (!known.has(name)) known.set(name, known.size % COLOURS);
  return `var(--h${known.get(name) + 1})`;
}

/** `host/pid/nonce` → host */
export const hostOf = (worker) => (worker ?? "").split("/").slice(0, -2).join("/") || (worker ?? "").split("/")[0];

/** `host/pid/nonce` → host/pid */
export const processOf = (worker) => {
  const parts = (worker ?? "").split("/");
  return parts.length > 2 ? parts.slice(0, -1).join("/") : (worker ?? "");
};

/** `host/pid/nonce` → "host · 4123", as people read it. */
export const workerName = (worker) => processOf(worker).replace(/\/(\d+)$/, " · $1");
