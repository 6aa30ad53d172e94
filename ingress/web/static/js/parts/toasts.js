// Short messages at the corner: what an action did, or why it failed.
import { html, useState } from "../preact.js";
import { Icon } from "./icons.js";
import { withCode } from "./states.js";

const SHOWN_MS = 6000;
let add = () => {};
let last = 0;

export const toast = (text, kind = "") => add({ id: ++last, text, kind });

export const toastError = (error) => toast(error.hint ? `${error.message} ${error.hint}` : error.message, "bad");

/** Run an action of a button; a failure becomes a message. Resolves to the result, or undefined. */
export async function attempt(action, done) {
  try {
    const result = await action();
    const text = typeof done === "function" ? done(result) : done;
    if (text) toast(text);
    return result ?? true;
  } catch (error) {
    toastError(error);
    return undefined;
  }
}

export function ToastHost() {
  const [shown, setShown] = useState([]);
  const drop = (id) => setShown((old) => old.filter((each) => each.id !== id));
  add = (item) => {
    setShown((old) => [...old.slice(-3), item]);
    setTimeout(() => drop(item.id), item.kind === "bad" ? SHOWN_MS * 2 : SHOWN_MS);
  };
  return html`
    <div class="toasts" role="status" aria-live="polite">
      ${shown.map((item) => html`
        <div class="toast ${item.kind}" key=${item.id}>
          <span>${withCode(item.text)}</span>
          <button class="quiet icon" aria-label="Dismiss" onClick=${() => drop(item.id)}><${Icon} name="close" /></button>
        </div>
      `)}
    </div>
  `;
}
