// Fleet: who works, what waits, what is delivered.
import { plural } from "../../format.js";
import { html } from "../../preact.js";
import { Loaded } from "../../parts/states.js";
import { useNow } from "../../resource.js";
import { isAdmin } from "../../sessions.js";
import { Channels } from "./channels.js";
import { Lanes } from "./lanes.js";
import { Leases } from "./leases.js";
import { Outbox } from "./outbox.js";
import { Pairing } from "./pairing.js";
import { Workers } from "./workers.js";

export function FleetView({ status, me }) {
  const now = useNow(1000);
  return html`
    <div class="scroll">
      <div class="view-head"><div><h1>Fleet</h1><p class="sub">Workers, lanes, leases and deliveries.</p></div></div>
      <${Loaded} resource=${status}>${(data) => html`
        <${Warnings} settings=${data.unsafeSettings} totals=${data.totals} />
        <${Lanes} lanes=${data.lanes} now=${now} />
        <${Workers} workers=${data.workers} now=${now} />
        <${Leases} leases=${data.leases} now=${now} readAt=${data.at} />
        <${Channels} now=${now} />
        <${Outbox} me=${me} now=${now} />
        ${isAdmin(me) && html`<${Pairing} now=${now} />`}
      `}<//>
    </div>
  `;
}

function Warnings({ settings = {}, totals = {} }) {
  const words = [
    ...Object.entries(settings).map(([name, why]) => `Redis: ${name} ${why}`),
    totals.blockedAnnounces > 0 && `${plural(totals.blockedAnnounces, "result")} of sub-agents could not be delivered.`,
    totals.quarantined > 0 && `${plural(totals.quarantined, "damaged record")}: \`ocw status --damaged\` lists them.`,
  ].filter(Boolean);
  return words.map((text) => html`<p class="notice warning" key=${text}>${text}</p>`);
}
