// Messages to channels: what waits, what failed, and what to do about it.
import { at, post, withQuery } from "../../api.js";
import { age } from "../../format.js";
import { html, useState } from "../../preact.js";
import { confirm } from "../../parts/dialog.js";
import { Loaded } from "../../parts/states.js";
import { Head } from "../../parts/table.js";
import { attempt } from "../../parts/toasts.js";
import { useResource } from "../../resource.js";
import { isAdmin } from "../../sessions.js";

const OVER = new Set(["sent", "dropped"]);
const MOODS = { failed: "bad", unknown: "warn", sent: "ok", sending: "running" };

export function Outbox({ me, now }) {
  const [all, setAll] = useState(false);
  const outbox = useResource(withQuery(at("outbox"), { limit: 200, all: all || undefined }), {
    on: (event) => /^run/.test(event.type),
    everyMs: 10000,
  });
  return html`
    <section class="section" aria-labelledby="outbox">
      <div class="section-head">
        <h2 class="label" id="outbox">Outbox</h2>
        <button class="quiet" aria-pressed=${all} onClick=${() => setAll(!all)}>Sent and dropped too</button>
      </div>
      <div class="card table-wrap">
        <${Loaded} resource=${outbox}>${({ messages, senders }) => html`
          <${Senders} senders=${senders} now=${now} />
          ${messages.length
            ? html`<${OutboxTable} messages=${messages} now=${now} canAct=${isAdmin(me)} reload=${outbox.reload} />`
            : html`<p class="quiet-row">${all ? "Nothing was sent in the last day." : "No message to a chat waits."}</p>`}
        `}<//>
      </div>
    </section>
  `;
}

/** Accounts whose sender has not looked at the outbox lately: their messages wait. */
const Senders = ({ senders, now }) =>
  senders
    .filter((each) => !each.alive)
    .map((each) => html`
      <p class="notice warning" key=${`${each.channel} ${each.accountId}`}>
        Nobody sends for ${each.channel} · ${each.accountId}, last seen ${age(each.seenAt, now)} ago.
      </p>
    `);

const OutboxTable = ({ messages, now, canAct, reload }) => html`
  <table class="data outbox">
    <${Head} columns=${["State", "To", "Message", "Tries#", "Age#", ""]} />
    <tbody>${messages.map((each) => html`
      <tr key=${each.id}>
        <td><span class="tag ${MOODS[each.state] ?? ""}">${each.state}</span></td>
        <td class="small">${[each.channel, each.accountId, each.to, each.threadId].filter(Boolean).join(" · ")}</td>
        <td class="message">
          <span class="ellipsis">${each.preview || each.kind}</span>
          ${each.error && html`<small class="problem">${each.error}</small>`}
        </td>
        <td class="num">${each.attempts}</td>
        <td class="num">${age(each.createdAt, now)}</td>
        <td class="acts">
          ${canAct && !OVER.has(each.state) && html`<${OutboxActions} message=${each} reload=${reload} />`}
        </td>
      </tr>
    `)}</tbody>
  </table>
`;

function OutboxActions({ message, reload }) {
  const retry = async () => {
    const isSafe =
      message.state !== "unknown" ||
      (await confirm("Send it again?", "It may have arrived already; then it arrives twice.", "Send again"));
    if (isSafe && (await attempt(() => post(at("outbox", message.id, "retry")), "It is sent again."))) reload();
  };
  const drop = async () => {
    const sure = await confirm("Drop this message?", "It will not be sent.", "Drop");
    if (sure && (await attempt(() => post(at("outbox", message.id, "drop")), "Dropped."))) reload();
  };
  return html`
    ${(message.state === "failed" || message.state === "unknown") && html`<button onClick=${retry}>Retry</button>`}
    <button class="danger" onClick=${drop}>Drop</button>
  `;
}
