// Where one writes: text, files, commands; while a turn runs also stop and steer.
import { plural } from "../../format.js";
import { html, useEffect, useRef, useState } from "../../preact.js";
import { Icon } from "../../parts/icons.js";
import { FileChips } from "./attachments.js";
import { CommandList, useCompletion } from "./completion.js";

const drafts = new Map();

export function Composer({ sessionKey, attachments, busy, waiting, send, steer, stop, readOnly }) {
  const [text, setText] = useState(drafts.get(sessionKey) ?? "");
  const area = useRef(null);
  const picker = useRef(null);
  const completion = useCompletion(text, setText);
  useEffect(() => setText(drafts.get(sessionKey) ?? ""), [sessionKey]);
  useEffect(() => {
    drafts.set(sessionKey, text);
    grow(area.current);
  }, [text]);
  if (readOnly) return html`<p class="composer read-only">This token may look, not write.</p>`;

  const hasContent = text.trim() !== "" || attachments.files.length > 0;
  const submit = (how) => {
    if (!hasContent) return;
    how(text.trim(), attachments.files);
    setText("");
    attachments.clear();
    area.current.focus();
  };
  const onKeyDown = (event) => {
    if (event.isComposing || completion.onKey(event)) return;
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    submit(busy && (event.ctrlKey || event.metaKey) ? steer : send);
  };
  const onPaste = (event) => {
    if (!event.clipboardData.files.length) return;
    event.preventDefault();
    attachments.add(event.clipboardData.files);
  };
  return html`
    <form class="composer" onSubmit=${(event) => {
      event.preventDefault();
      submit(send);
    }}>
      <${CommandList} ...${completion} />
      <${Waiting} waiting=${waiting} />
      <${FileChips} files=${attachments.files} onDrop=${attachments.drop} />
      <div class="composer-box">
        <button type="button" class="quiet icon" aria-label="Attach files" title="Attach files"
          onClick=${() => picker.current.click()}>
          <${Icon} name="clip" />
        </button>
        <input ref=${picker} type="file" multiple hidden tabindex="-1"
          onChange=${(event) => {
            attachments.add(event.target.files);
            event.target.value = "";
          }} />
        <textarea ref=${area} rows="1" value=${text}
          placeholder=${busy ? "Next message…" : "Write a message, / for commands"}
          aria-label="Message" role="combobox" aria-expanded=${completion.matches.length > 0} aria-controls="commands"
          aria-activedescendant=${completion.matches.length ? `command-${completion.index}` : undefined}
          aria-autocomplete="list"
          onInput=${(event) => setText(event.target.value)} onKeyDown=${onKeyDown} onPaste=${onPaste}></textarea>
        ${busy && html`
          <button type="button" class="steer" disabled=${!hasContent}
            title="Ctrl+Enter: the agent reads it before its next step" onClick=${() => submit(steer)}>Steer</button>
          <button type="button" class="danger" onClick=${stop}><${Icon} name="stop" /><span>Stop</span></button>
        `}
        <button class="primary icon" disabled=${!hasContent} title="Enter"
          aria-label=${busy ? "Send; it waits its turn" : "Send"}>
          <${Icon} name="send" />
        </button>
      </div>
    </form>
  `;
}

function Waiting({ waiting }) {
  if (!waiting.length) return null;
  return html`
    <details class="waiting">
      <summary role="status">${plural(waiting.length, "message waits", "messages wait")}</summary>
      <ul>${waiting.map((each) => html`<li key=${each.messageId} class="ellipsis">${each.text || "(files)"}</li>`)}</ul>
    </details>
  `;
}

function grow(area) {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight + 2, 240)}px`;
}
