// The list of sessions beside every view.
import { at, get } from "./api.js";
import { age, rememberLabels, sessionName } from "./format.js";
import { html, useState } from "./preact.js";
import { prompt } from "./parts/dialog.js";
import { Icon } from "./parts/icons.js";
import { Dot } from "./parts/marks.js";
import { Loaded } from "./parts/states.js";
import { attempt } from "./parts/toasts.js";
import { useNow } from "./resource.js";
import { Link, chatPath, navigate, sessionRunsPath } from "./router.js";

const FILTER_FROM = 8;

export function SessionList({ sessions, route, onNavigate, me }) {
  const [filter, setFilter] = useState("");
  const now = useNow(10000);
  const link = route.view === "runs" ? sessionRunsPath : chatPath;
  const current = route.view === "runs" ? route.query.session : route.view === "chat" ? route.parts[0] : null;
  const all = sessions.data?.sessions ?? [];
  rememberLabels(all);
  const wanted = all.filter((each) => matches(each, filter.trim().toLowerCase()));
  const people = wanted.filter((each) => each.kind !== "subagent");
  const subagents = wanted.filter(
    (each) => each.kind === "subagent" && (filter || each.state !== "idle" || each.sessionKey === current),
  );
  const row = (each) => html`
    <${SessionLink} key=${each.sessionKey} session=${each} to=${link(each.sessionKey)} now=${now}
      current=${each.sessionKey === current} onNavigate=${onNavigate} />
  `;
  return html`
    <section class="side-sessions" aria-label="Sessions">
      <div class="side-head">
        <span class="label">Sessions</span>
        ${canChat(me) && html`
          <button class="quiet" onClick=${() => newSession().then((made) => made && onNavigate())}>
            <${Icon} name="plus" />New
          </button>
        `}
      </div>
      ${all.length >= FILTER_FROM && html`
        <input class="side-filter" type="search" placeholder="Find a session" aria-label="Find a session"
          value=${filter} onInput=${(event) => setFilter(event.target.value)} />
      `}
      <div class="side-list">
        <${Loaded} resource=${sessions}>${() => html`
          ${people.map(row)}
          ${!wanted.length && html`<p class="small faint side-empty">${filter ? "None has this name." : "None yet."}</p>`}
          ${subagents.length > 0 && html`<span class="label group">Sub-agents</span>`}
          ${subagents.map(row)}
        `}<//>
      </div>
    </section>
  `;
}

export const canChat = (me) => me.scope === "chat" || me.scope === "admin";
export const isAdmin = (me) => me.scope === "admin";

function SessionLink({ session, to, current, now, onNavigate }) {
  return html`
    <${Link} class="session-link" to=${to} aria-current=${current ? "true" : undefined} onNavigate=${onNavigate}
      title=${session.sessionKey}>
      <${Dot} state=${session.state} />
      <span class="ellipsis">${sessionName(session.sessionKey)}</span>
      ${session.waiting > 0
        ? html`<span class="wait" title="messages wait">${session.waiting}</span>`
        : html`<small>${age(session.updatedAt, now)}</small>`}
    <//>
  `;
}

const matches = (session, text) =>
  !text || `${session.sessionKey} ${session.label ?? ""} ${session.displayName ?? ""}`.toLowerCase().includes(text);

async function newSession() {
  const answer = await attempt(() => get(at("agents")));
  if (!answer) return false;
  const choices = answer.agents.map((each) => each.agentId);
  const fields = [{ name: "name", label: "Name", placeholder: "notes" }];
  if (choices.length > 1)
    fields.push({ name: "agent", label: "Agent", kind: "choice", options: choices, value: choices[0] });
  const values = await prompt({
    title: "New session",
    text: "It begins with your first message.",
    action: "Open",
    fields,
  });
  const name = values?.name
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_.-]+/gu, "-");
  if (!name) return false;
  navigate(chatPath(`agent:${values.agent ?? choices[0]}:${name}`));
  return true;
}
