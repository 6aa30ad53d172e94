// Citations in what an agent wrote, such as MEMORY.md#L3-L7, become links to the lines they name.
import { memoryPath, navigate, parseRoute } from "../../router.js";

const CITATION = /((?:[\w.-]+\/)*[\w.-]+\.md)#L(\d+)(?:-L?(\d+))?/g;

/** The agent of the conversation that the page shows. */
const agentHere = () => parseRoute(location.pathname, "").parts[0]?.split(":")[1] ?? "main";

/** Replace citations below an element by links. Only texts are touched, so no markup of the text comes alive. */
export function linkCitations(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.parentElement.closest("a, pre") && node.data.search(CITATION) >= 0) texts.push(node);
  }
  for (const node of texts) node.replaceWith(...partsOf(node.data).map((part) => part.link ?? part.text));
}

function partsOf(text) {
  const parts = [];
  let end = 0;
  for (const found of text.matchAll(CITATION)) {
    parts.push({ text: text.slice(end, found.index) }, { link: linkTo(found) });
    end = found.index + found[0].length;
  }
  return [...parts, { text: text.slice(end) }];
}

function linkTo([whole, path, first, last]) {
  const link = document.createElement("a");
  link.href = memoryPath(agentHere(), { path, lines: last ? `${first}-${last}` : first });
  link.textContent = whole;
  link.addEventListener("click", (event) => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(link.getAttribute("href"));
  });
  return link;
}
