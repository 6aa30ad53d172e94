// Dots, tags and meters.
import { html } from "../preact.js";

const WORDS = {
  idle: "idle",
  queued: "queued",
  running: "running",
  parked: "parked",
  ok: "done",
  error: "failed",
  timeout: "timed out",
  killed: "stopped",
};

export const stateWord = (state) => WORDS[state] ?? state ?? "";

export const Dot = ({ state }) => html`<i class="dot ${state}" role="img" aria-label=${stateWord(state)}></i>`;

export const StateTag = ({ state, children }) => html`<span class="tag ${state}">${stateWord(state)}${children}</span>`;

export function Meter({ used, limit, label }) {
  const share = limit > 0 ? used / limit : 0;
  const level = share >= 1 ? "over" : share >= 0.8 ? "near" : "";
  const value = Math.min(100, Math.round(share * 100));
  return html`
    <div class="meter ${level}" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax="100"
      aria-valuenow=${value}><i style=${{ width: `${value}%` }}></i></div>
  `;
}

export const isLive = (state) => state === "queued" || state === "running" || state === "parked";
