// Messages to channels: what waits, what failed, and what to do about it.
import { at, post } from "../../api.js";
import { age, firstLine } from "../../format.js";
import { html, useState } from "../../preact.js";
import { confirm } from "../../parts/dialog.js";
import { Loaded } from "../../parts/states.js";
import { Head } from "../../parts/table.js";
import { attempt } from "../../parts/toasts.js";
import { useResource } from "../../resource.js";
import { isAdmin } from "../../sessions.js";

const MOODS = { failed: "bad", unknown: "warn", sent: "ok", sending: "running" };

export function Outbox({ me, now }) {
  const [all, setAll] = useState(false);
  const outbox = useResource(at("outbox"), {
    on: (event) => /^(outbox|run\.ended|message)/.test(event.type),
    everyMs: 10000,
  });
  const entries = outbox.data?.outbox ?? outbox.data?.entries ?? [];
  const open = entries.filter((entry) => entry.state !== "sent");
  const sent = entries.length - open.length;
  const shown = all ? entries : open;
  return html`
    <section class="section" aria-labelledby="outbox">
      <div class="section-head"><h2 class="label" id="outbox">Outbox</h2>
        ${sent > 0 && html`
          <button class="quiet" aria-pressed=${all} onClick=${() => setAll(!all)}>
            ${all ? "Hide what was sent" : `Show ${sent} sent`}
          </button>
        `}</div>
      <div class="card table-wrap">
        <${Loaded} resource=${outbox}>${() =>
          shown.length
            ? html`<${OutboxTable} entries=${shown} now=${now} canAct=${isAdmin(me)} reload=${outbox.reload} />`
            : html`<p class="quiet-row">Nothing waits: every message to a channel was sent.</p>`}<//>
      </div>
    </section>
  `;
}

const OutboxTable = ({ entries, now, canAct, reload }) => html`
  <table class="data outbox">
    <${Head} columns=${["State", "To", "Message", "Tries#", "Age#", ""]} />
    <tbody>${entries.map((entry) => html`
      <tr key=${entry.id}>
        <td><span class="tag ${MOODS[entry.state] ?? ""}">${entry.state}</span></td>
        <td class="small">${routeText(entry)}</td>
        <td class="message"><span class="ellipsis">${firstLine(entry.text ?? entry.kind, 90)}</span>
          ${(entry.lastError ?? entry.error) && html`<small class="problem">${entry.lastError ?? entry.error}</small>`}</td>
        <td class="num">${entry.tries ?? 0}</td>
        <td class="num">${age(entry.createdAt ?? entry.queuedAt ?? entry.at, now)}</td>
        <td class="acts">
          ${canAct && entry.state !== "sent" && html`<${OutboxActions} entry=${entry} reload=${reload} />`}
        </td>
      </tr>
    `)}</tbody>
  </table>
`;

function routeText({ route, channel, to }) {
  if (!route || typeof route === "string") return route ?? [channel, to].filter(Boolean).join(" ");
  return [
    route.channel,
    route.accountId ?? route.account,
    route.to ?? route.peer ?? route.chat,
    route.threadId ?? route.thread,
  ]
    .filter(Boolean)
    .join(" · ");
}

function OutboxActions({ entry, reload }) {
  const retry = async () => {
    const isSafe =
      entry.state !== "unknown" ||
      (await confirm("Send it again?", "It may have arrived already; then it arrives twice.", "Send again"));
    if (isSafe && (await attempt(() => post(at("outbox", entry.id, "retry")), "It is sent again."))) reload();
  };
  const drop = async () => {
    const sure = await confirm("Drop this message?", "It will not be sent.", "Drop");
    if (sure && (await attempt(() => post(at("outbox", entry.id, "drop")), "Dropped."))) reload();
  };
  return html`
    ${(entry.state === "failed" || entry.state === "unknown") && html`<button onClick=${retry}>Retry</button>`}
    <button class="danger" onClick=${drop}>Drop</button>
  `;
}
