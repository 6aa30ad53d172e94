// People who wrote to a bot and wait to be let in.
import { at, post } from "../../api.js";
import { age } from "../../format.js";
import { html } from "../../preact.js";
import { confirm } from "../../parts/dialog.js";
import { Head } from "../../parts/table.js";
import { attempt } from "../../parts/toasts.js";
import { useResource } from "../../resource.js";

export function Pairing({ now }) {
  const pairing = useResource(at("pairing"), { on: (event) => /^pairing/.test(event.type), everyMs: 10000 });
  const requests = pairing.data?.requests ?? pairing.data?.pending ?? [];
  if (!requests.length) return null;
  const approve = async (request) => {
    const sure = await confirm(
      `Let ${nameOf(request)} in?`,
      "They may then talk to the agent. The first person who is let in becomes the owner.",
      "Approve",
      false,
    );
    const body = { channel: request.channel, accountId: request.accountId, code: request.code };
    if (sure && (await attempt(() => post(at("pairing", "approve"), body), "Approved."))) pairing.reload();
  };
  return html`
    <section class="section" aria-labelledby="pairing"><h2 class="label" id="pairing">Pairing requests</h2>
      <div class="card table-wrap"><table class="data">
        <${Head} columns=${["Person", "Channel", "Code", "Asked#", ""]} />
        <tbody>${requests.map((request) => html`
          <tr key=${request.code}>
            <td>${nameOf(request)}</td><td>${[request.channel, request.accountId].filter(Boolean).join(" · ")}</td>
            <td class="mono">${request.code}</td><td class="num">${age(request.createdAt ?? request.at, now)}</td>
            <td class="acts"><button class="primary" onClick=${() => approve(request)}>Approve</button></td>
          </tr>
        `)}</tbody>
      </table></div>
    </section>
  `;
}

const nameOf = (request) => request.name || request.senderName || request.peer || request.senderId || request.id;
