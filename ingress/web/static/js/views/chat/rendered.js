// Text that a model wrote. While it streams it is plain; at the end the server renders and sanitises it.
import { post } from "../../api.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../../preact.js";
import { linkCitations } from "./citations.js";

const MOST_KEPT = 400;
const PER_REQUEST = 40;
const kept = new Map();
let waiting = new Map();
let timer = null;

/** The HTML of a text. Texts that are asked for together go to the server together. */
function rendered(text) {
  if (kept.has(text)) return Promise.resolve(kept.get(text));
  return new Promise((resolve) => {
    waiting.set(text, [...(waiting.get(text) ?? []), resolve]);
    timer ??= setTimeout(flush, 20);
  });
}

async function flush() {
  timer = null;
  const batch = [...waiting].slice(0, PER_REQUEST);
  waiting = new Map([...waiting].slice(PER_REQUEST));
  if (waiting.size) timer = setTimeout(flush, 0);
  let answer = [];
  try {
    answer = (await post("/web/render", { texts: batch.map(([text]) => text) })).html;
  } catch {
    /* it stays plain text */
  }
  batch.forEach(([text, resolvers], index) => {
    const value = answer[index] ?? null;
    if (value !== null) keep(text, value);
    resolvers.forEach((resolve) => resolve(value));
  });
}

function keep(text, value) {
  if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value);
  kept.set(text, value);
}

export function Rendered({ text }) {
  const [markup, setMarkup] = useState(() => kept.get(text) ?? null);
  const element = useRef(null);
  useEffect(() => {
    let wanted = true;
    setMarkup(kept.get(text) ?? null);
    rendered(text).then((value) => wanted && setMarkup(value));
    return () => {
      wanted = false;
    };
  }, [text]);
  useLayoutEffect(() => {
    if (markup === null) return;
    addCopyButtons(element.current);
    linkCitations(element.current);
  }, [markup]);
  if (markup === null) return html`<div class="prose plain">${text}</div>`;
  return html`<div class="prose" ref=${element} dangerouslySetInnerHTML=${{ __html: markup }}></div>`;
}

/** Browsers give access to the clipboard only on localhost and https. */
function addCopyButtons(element) {
  if (!navigator.clipboard) return;
  for (const block of element.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("code")?.textContent ?? "");
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
}
