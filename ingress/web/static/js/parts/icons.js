// The few icons, drawn here so that nothing is fetched.
import { html } from "../preact.js";

const PATHS = {
  chat: "M3 3.5h10v7H7.5L4.5 13v-2.5H3z",
  runs: "M2 4h5M5 8h9M8 12h5",
  fleet: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  usage: "M3 13V8M8 13V3M13 13V6",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2.2 1.4",
  memory: "M3.5 2.5h7l2 2v9h-9zM5.5 6.5h5M5.5 9h5M5.5 11.5h3",
  skills: "M8 2.5l1.6 3.6 3.9.4-2.9 2.6.8 3.9L8 11l-3.4 2 .8-3.9-2.9-2.6 3.9-.4z",
  sun:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1" +
    "M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1",
  close: "M4 4l8 8M12 4l-8 8",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  clip: "M11.5 7.5l-4 4a2.5 2.5 0 0 1-3.6-3.6l4.6-4.6a1.7 1.7 0 0 1 2.4 2.4L6.6 10a.8.8 0 0 1-1.1-1.1l3.8-3.8",
  send: "M8 13V3M3.8 7.2L8 3l4.2 4.2",
  stop: "M4.5 4.5h7v7h-7z",
  plus: "M8 3v10M3 8h10",
  leave: "M9.5 3H3.5v10h6M7 8h6.5M11 5.5L13.5 8 11 10.5",
  back: "M10 3L5 8l5 5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
};

export const Icon = ({ name }) => html`
  <svg class="icon-svg" viewBox="0 0 16 16" aria-hidden="true" stroke-linecap="round" stroke-linejoin="round">
    <path d=${PATHS[name]} />
  </svg>
`;
