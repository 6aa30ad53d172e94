// What a view shows when it has no data: still loading, nothing there, or a failure.
import { html } from "../preact.js";

export const Loading = ({ what = "Loading" }) => html`
  <div class="skeleton" role="status"><span class="sr-only">${what}…</span><i></i><i></i><i></i><i></i></div>
`;

export const Empty = ({ title, children }) => html`
  <div class="state"><b>${title}</b>${children && html`<p>${children}</p>`}</div>
`;

export const Failure = ({ error, retry }) => html`
  <div class="state error" role="alert">
    <b>${error.message}</b>
    ${error.hint && html`<p>${withCode(error.hint)}</p>`}
    ${retry && html`<button onClick=${retry}>Try again</button>`}
  </div>
`;

/** One of the three, or the children once there is data. */
export function Loaded({ resource, children }) {
  if (resource.data) return children(resource.data);
  if (resource.error) return html`<${Failure} error=${resource.error} retry=${resource.reload} />`;
  return html`<${Loading} />`;
}

/** Text in which `backticks` mark code, as hints of the server have it. */
export const withCode = (text) => text.split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));
