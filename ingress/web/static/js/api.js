// Requests to the API. The cookie is HttpOnly; the page never sees a token after the login.

export class ApiError extends Error {
  constructor(status, code, message, hint) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

const signedOut = new Set();

/** Call `listener` when the server no longer accepts the cookie. */
export function onSignedOut(listener) {
  signedOut.add(listener);
  return () => signedOut.delete(listener);
}

export function reportSignedOut() {
  for (const listener of signedOut) listener();
}

let session = new AbortController();

/** End the login. What is still asked for is given up first: it would come back as refused. */
export async function signOut() {
  session.abort();
  const options = { method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" } };
  await fetch("/auth/logout", { ...options, body: "{}" }).catch(() => {});
  session = new AbortController();
}

export const get = (path) => request("GET", path);
export const post = (path, body = {}) => request("POST", path, body);
export const patch = (path, body) => request("PATCH", path, body);
export const remove = (path) => request("DELETE", path);

/** A path below /api/v1 with percent-encoded parts: `at("sessions", key, "history")`. */
export const at = (...parts) => "/api/v1/" + parts.map(encodeURIComponent).join("/");

export const withQuery = (path, query) => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
};

const RETRY_MS = 400;

/** A reading that does not get through is tried once more: a laptop changes its network, a proxy restarts. */
async function send(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError" || options.method !== "GET") throw error;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    return fetch(path, options);
  }
}

async function request(method, path, body) {
  const options = { method, signal: session.signal, credentials: "same-origin", headers: { Accept: "application/json" } };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await send(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "The server does not answer.", "Is `ocw up` or `ocw ingress` running?");
  }
  if (response.ok) return response.status === 204 ? null : response.json();
  throw await failure(response, path);
}

async function failure(response, path) {
  let error = {};
  try {
    error = (await response.json()).error ?? {};
  } catch {
    /* not JSON: a proxy answered */
  }
  if (response.status === 401 && path !== "/auth/login") reportSignedOut();
  const message = error.message ?? `The server answered ${response.status}.`;
  return new ApiError(response.status, error.code ?? error.type ?? String(response.status), message, error.hint);
}

/** A random id. crypto.randomUUID is missing on plain http addresses other than localhost. */
export function randomId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
