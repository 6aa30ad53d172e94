// Buttons that choose an agent, where there is more than one.
import { html } from "../preact.js";
import { navigate } from "../router.js";

export const AgentSwitch = ({ agent, names, path }) =>
  names.length > 1 && html`
    <div class="actions" role="group" aria-label="Agent">${names.map((name) => html`
      <button key=${name} aria-pressed=${name === agent} onClick=${() => navigate(path(name))}>${name}</button>
    `)}</div>
  `;
