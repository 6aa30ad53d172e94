// Questions to the person: a modal <dialog> of the browser, which keeps the focus inside and closes with Escape.
import { html, useEffect, useRef, useState } from "../preact.js";

let ask = null;

/** Resolves to the values of the fields, or null if the person closes the dialog. */
export const prompt = (question) => new Promise((resolve) => ask({ ...question, resolve }));

export const confirm = (title, text, action, danger = true) => prompt({ title, text, action, danger, fields: [] });

/** Stands once at the end of the page. A field is `{name, label, value, kind: "text" | "area" | "choice", options}`. */
export function DialogHost() {
  const [question, setQuestion] = useState(null);
  const element = useRef(null);
  ask = setQuestion;
  useEffect(() => {
    if (!question) return;
    element.current.showModal();
    element.current.querySelector("input, textarea, select, button")?.focus();
  }, [question]);
  if (!question) return null;
  const close = (values) => {
    setQuestion(null);
    question.resolve(values);
  };
  const submit = (event) => {
    event.preventDefault();
    close(Object.fromEntries(new FormData(event.target)));
  };
  return html`
    <dialog ref=${element} aria-labelledby="dialog-title" onClose=${() => close(null)}>
      <form onSubmit=${submit}>
        <h2 id="dialog-title">${question.title}</h2>
        ${question.text && html`<p class="sub">${question.text}</p>`}
        ${question.fields.map((field) => html`<${Field} key=${field.name} ...${field} />`)}
        <div class="actions">
          <button type="button" onClick=${() => close(null)}>Cancel</button>
          <button class=${question.danger ? "danger" : "primary"}>${question.action}</button>
        </div>
      </form>
    </dialog>
  `;
}

function Field({ name, label, value = "", kind = "text", options = [], required = true, placeholder = "" }) {
  const submitOnEnter = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
  };
  const control = {
    text: () => html`<input type="text" name=${name} value=${value} required=${required} placeholder=${placeholder} />`,
    area: () => html`<textarea name=${name} required=${required} onKeyDown=${submitOnEnter}>${value}</textarea>`,
    choice: () => html`
      <select name=${name}>
        ${options.map((each) => html`<option value=${each} selected=${each === value}>${each}</option>`)}
      </select>
    `,
  }[kind]();
  return html`<label>${label}${control}</label>`;
}
