// Accounts of chat channels: who receives for them, and what goes wrong. Without a bot there is nothing to show.
import { at } from "../../api.js";
import { age } from "../../format.js";
import { html } from "../../preact.js";
import { Head } from "../../parts/table.js";
import { useResource } from "../../resource.js";

export function Channels({ now }) {
  const channels = useResource(at("channels"), { everyMs: 10000 });
  const accounts = (channels.data?.channels ?? []).filter((each) => each.hasToken);
  if (!accounts.length) return null;
  return html`
    <section class="section" aria-labelledby="channels">
      <h2 class="label" id="channels">Channels</h2>
      <div class="card table-wrap">
        <table class="data">
          <${Head} columns=${["Account", "State", "Receiver", "Last message#"]} />
          <tbody>${accounts.map((each) => html`<${Account} key=${each.name} account=${each} now=${now} />`)}</tbody>
        </table>
      </div>
    </section>
  `;
}

function Account({ account, now }) {
  const [mood, word] = stateOf(account);
  return html`
    <tr>
      <td><b>${account.name}</b>${account.botName && html` <span class="dim">@${account.botName}</span>`}</td>
      <td>
        <span class="tag ${mood}">${word}</span>
        ${account.lastError && html` <small class="problem">${account.lastError}</small>`}
      </td>
      <td class="mono">${account.receiver ?? "–"}</td>
      <td class="num">${age(account.lastUpdateAt, now) || "–"}</td>
    </tr>
  `;
}

function stateOf({ enabled, lastError, receiver }) {
  if (!enabled) return ["", "off"];
  if (lastError) return ["bad", "failing"];
  return receiver ? ["ok", "receiving"] : ["warn", "nobody receives"];
}
