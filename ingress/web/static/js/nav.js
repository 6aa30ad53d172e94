// The views. A new one is one row here, one file below views/, and its path in ingress/web/pages.py.
import { html } from "./preact.js";
import { Icon } from "./parts/icons.js";
import { Link } from "./router.js";
import { ChatView } from "./views/chat/chat.js";
import { FleetView } from "./views/fleet/fleet.js";
import { MemoryView } from "./views/memory/memory.js";
import { RunsView } from "./views/runs/runs.js";
import { SchedulesView } from "./views/schedules/schedules.js";
import { SkillsView } from "./views/skills/skills.js";
import { UsageView } from "./views/usage/usage.js";

/** `count(status)` is the small figure beside the name; `bad` marks it as needing attention. */
export const VIEWS = [
  { id: "chat", title: "Chat", icon: "chat", component: ChatView },
  { id: "runs", title: "Runs", icon: "runs", component: RunsView, count: liveRuns },
  { id: "fleet", title: "Fleet", icon: "fleet", component: FleetView, count: hosts },
  { id: "schedules", title: "Schedules", icon: "clock", component: SchedulesView },
  { id: "memory", title: "Memory", icon: "memory", component: MemoryView },
  { id: "skills", title: "Skills", icon: "skills", component: SkillsView },
  { id: "usage", title: "Usage", icon: "usage", component: UsageView },
];

function liveRuns({ totals }) {
  const live = totals?.running ?? 0;
  return live ? { value: live, word: "live" } : null;
}

function hosts({ workers = [], lanes = [] }) {
  const alive = new Set(workers.filter((worker) => worker.alive).map((worker) => worker.host));
  if (lanes.some((lane) => !lane.workers)) return { value: "!", word: "no worker", bad: true };
  return { value: alive.size, word: alive.size === 1 ? "host" : "hosts" };
}

export function Nav({ current, status, onNavigate }) {
  return html`
    <nav class="nav" aria-label="Views">
      ${VIEWS.map((view) => {
        const count = status && view.count?.(status);
        return html`
          <${Link} key=${view.id} to=${`/${view.id}`} onNavigate=${onNavigate}
            aria-current=${view.id === current ? "page" : undefined}>
            <${Icon} name=${view.icon} /><span>${view.title}</span>
            ${count && html`<span class="count ${count.bad ? "bad" : ""}">${count.value}<span> ${count.word}</span></span>`}
          <//>
        `;
      })}
    </nav>
  `;
}
