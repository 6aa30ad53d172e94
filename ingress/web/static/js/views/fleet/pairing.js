// People and groups of chat channels who wait to be let in, or were refused.
import { at, post } from "../../api.js";
import { age } from "../../format.js";
import { html } from "../../preact.js";
import { confirm } from "../../parts/dialog.js";
import { Head } from "../../parts/table.js";
import { attempt } from "../../parts/toasts.js";
import { useResource } from "../../resource.js";

export function Pairing({ now }) {
  const pairing = useResource(at("pairing"), { everyMs: 5000 });
  const { requests = [], refused = [] } = pairing.data ?? {};
  return html`
    ${requests.length > 0 && html`
      <section class="section" aria-labelledby="pairing"><h2 class="label" id="pairing">Pairing requests</h2>
        <div class="card table-wrap"><table class="data">
          <${Head} columns=${["Person", "Channel", "Code", "Asked#", ""]} />
          <tbody>${requests.map((each) => html`
            <tr key=${each.code}>
              <td>${nameOf(each)}</td>
              <td>${channelOf(each)}</td>
              <td class="mono">${each.code}</td>
              <td class="num">${age(each.createdAt, now)}</td>
              <td class="acts"><${Approve} one=${each} who=${each.code} reload=${pairing.reload} /></td>
            </tr>
          `)}</tbody>
        </table></div>
      </section>
    `}
    ${refused.length > 0 && html`
      <section class="section" aria-labelledby="refused"><h2 class="label" id="refused">Refused</h2>
        <div class="card table-wrap"><table class="data">
          <${Head} columns=${["Who", "Channel", "Why", "Times#", "Last#", ""]} />
          <tbody>${refused.map((each) => html`
            <tr key=${each.subject}>
              <td>${nameOf(each)}</td>
              <td>${channelOf(each)}</td>
              <td>${each.reason}</td>
              <td class="num">${each.count}</td>
              <td class="num">${age(each.lastAt, now)}</td>
              <td class="acts">${each.command
                ? html`<${Approve} one=${each} who=${each.subject} reload=${pairing.reload} />`
                : html`<span class="small dim">${each.setting}</span>`}</td>
            </tr>
          `)}</tbody>
        </table></div>
      </section>
    `}
  `;
}

function Approve({ one, who, reload }) {
  const approve = async () => {
    const text = "They may then talk to the agent. The first person who is let in becomes the owner.";
    if (!(await confirm(`Let ${nameOf(one)} in?`, text, "Approve", false))) return;
    if (await attempt(() => letIn(one, who), (done) => done && `${nameOf(one)} is let in.`)) reload();
  };
  return html`<button class="primary" onClick=${approve}>Approve</button>`;
}

/** A second person in a conversation reads what the first one wrote: that is asked again. */
async function letIn(one, who) {
  try {
    return await post(at("pairing", "approve"), { who });
  } catch (error) {
    if (error.status !== 409) throw error;
    const sure = await confirm("Let a second person into the same conversation?", error.message, "Share it");
    return sure ? post(at("pairing", "approve"), { who, shareSession: true }) : false;
  }
}

const nameOf = (one) => one.name || one.subject;
const channelOf = (one) => [one.channel, one.accountId].filter(Boolean).join(" · ");
