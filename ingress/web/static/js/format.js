// Numbers and times as text.

const NUMBER = new Intl.NumberFormat("en-US");

export const number = (value) => NUMBER.format(value ?? 0);

/** 48,210 or 1.2 M: fits a narrow column. */
export function tokens(value) {
  if (!value) return "0";
  if (value < 100_000) return number(value);
  return value < 1_000_000 ? `${Math.round(value / 1000)} k` : `${(value / 1_000_000).toFixed(1)} M`;
}

export function money(value) {
  if (!value) return "–";
  if (value < 0.0001) return "<$0.0001";
  if (value < 0.01) return `$${value.toFixed(4)}`;
  return `$${value < 100 ? value.toFixed(2) : number(Math.round(value))}`;
}

/** 840 ms, 4.2 s, 41 s, 2 m 05 s, 3 h 20 m, 2 d 4 h */
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
  const value = Math.max(0, ms);
  if (value < 1000) return `${Math.round(value)} ms`;
  const seconds = value / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${String(minutes % 60).padStart(2, "0")} m`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** now, 40 s, 4 m, 3 h, 2 d: one unit, for lists. */
export function age(at, now = Date.now()) {
  if (!at) return "";
  const seconds = Math.max(0, (now - at) / 1000);
  if (seconds < 10) return "now";
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** in 40 s, in 3 h; due: it has come. */
export function until(at, now = Date.now()) {
  return at <= now ? "due" : `in ${age(now, at).replace("now", "moments")}`;
}

const CLOCK = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };

export const clock = (at) => (at ? new Date(at).toLocaleTimeString("en-GB", CLOCK) : "–");

/** The clock time, with the date if it is not today. */
export function moment(at) {
  if (!at) return "–";
  const day = new Date(at);
  if (day.toDateString() === new Date().toDateString()) return clock(at);
  return `${day.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${clock(at)}`;
}

export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

export const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "0 %");

export const bytes = (size) =>
  size < 1024 ? `${size} B` : size < 1048576 ? `${Math.round(size / 1024)} KB` : `${(size / 1048576).toFixed(1)} MB`;

/** The first line of a text, shortened. */
export function firstLine(text, most = 120) {
  const line = (text ?? "").trim().split("\n", 1)[0];
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

const labels = new Map();

/** Remember what people and chats call these sessions. */
export function rememberLabels(sessions) {
  for (const each of sessions) labels.set(each.sessionKey, each.label || each.displayName || "");
}

/** A short name for a session key: `agent:main:main` → main, `agent:a:telegram:direct:5` → telegram · 5. */
export function sessionName(key, label = labels.get(key)) {
  if (label) return label;
  const [kind, agent, ...rest] = (key ?? "").split(":");
  if (kind !== "agent" || !rest.length) return key ?? "";
  const last = rest[rest.length - 1];
  const short = /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(last) ? last.slice(0, 8) : last;
  const where = rest.length > 1 ? `${rest[0]} · ${short}` : short;
  return agent === "main" ? where : `${agent} · ${where}`;
}

export const shortId = (id) => (id && id.length > 16 ? `${id.slice(0, 14)}…` : (id ?? ""));
