// Slash commands: a list above the input that narrows while one types.
import { at, get } from "../../api.js";
import { html, useEffect, useState } from "../../preact.js";

let known = null;

function useCommands() {
  const [commands, setCommands] = useState(known ?? []);
  useEffect(() => {
    if (known) return;
    get(at("commands")).then(
      (answer) => {
        known = answer.commands ?? answer;
        setCommands(known);
      },
      () => {},
    );
  }, []);
  return commands;
}

/** `{matches, index, pick, onKey, close}` for the text before the first space. */
export function useCompletion(text, setText) {
  const commands = useCommands();
  const [index, setIndex] = useState(0);
  const [dismissed, setDismissed] = useState(null);
  const word = /^\/([a-z_-]*)$/i.exec(text)?.[1].toLowerCase();
  const matches = word === undefined || dismissed === text ? [] : commands.filter((each) => fits(each, word));
  const at_ = Math.min(index, Math.max(0, matches.length - 1));
  const pick = (command) => {
    setText(`/${command.name}${takesArgument(command) ? " " : ""}`);
    setDismissed(`/${command.name}`);
    setIndex(0);
  };
  const onKey = (event) => {
    if (!matches.length) return false;
    if (event.key === "ArrowDown") setIndex((at_ + 1) % matches.length);
    else if (event.key === "ArrowUp") setIndex((at_ + matches.length - 1) % matches.length);
    else if (event.key === "Escape") setDismissed(text);
    else if (event.key === "Tab" && !event.shiftKey) pick(matches[at_]);
    else if (event.key === "Enter" && !event.shiftKey && matches[at_].name !== word) pick(matches[at_]);
    else return false;
    event.preventDefault();
    return true;
  };
  return { matches, index: at_, pick, onKey };
}

const takesArgument = (command) => /[ [<]/.test((command.usage ?? "").slice(command.name.length + 1));
const fits = (command, word) => [command.name, ...(command.aliases ?? [])].some((name) => name.startsWith(word));

export function CommandList({ matches, index, pick }) {
  if (!matches.length) return null;
  return html`
    <ul class="completion card" id="commands" role="listbox" aria-label="Commands">
      ${matches.map((command, position) => html`
        <li key=${command.name} id=${`command-${position}`} role="option" aria-selected=${position === index}
          ref=${(element) => position === index && element?.scrollIntoView({ block: "nearest" })}
          onMouseDown=${(event) => {
            event.preventDefault();
            pick(command);
          }}>
          <code>${command.usage ?? `/${command.name}`}</code><span class="dim">${command.help ?? ""}</span>
        </li>
      `)}
    </ul>
  `;
}
