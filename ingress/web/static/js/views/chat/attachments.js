// Files that go with a message: chosen, dropped or pasted.
import { bytes } from "../../format.js";
import { html, useState } from "../../preact.js";
import { Icon } from "../../parts/icons.js";
import { toast } from "../../parts/toasts.js";

const MOST_BYTES = 8 * 1024 * 1024; // of all files of a message together; the server has the same limit
const MOST_FILES = 10;

export function useAttachments() {
  const [files, setFiles] = useState([]);
  const add = async (list) => {
    let room = files.reduce((left, file) => left - file.size, MOST_BYTES);
    const fitting = [];
    for (const file of list) {
      if (file.size > room)
        toast(`${file.name} has ${bytes(file.size)}; a message can bring ${bytes(MOST_BYTES)} in all.`, "bad");
      else {
        room -= file.size;
        fitting.push(file);
      }
    }
    const read = await Promise.all(fitting.map(readFile));
    setFiles((old) => [...old, ...read].slice(0, MOST_FILES));
  };
  const drop = (id) => setFiles((old) => old.filter((each) => each.id !== id));
  return { files, add, drop, clear: () => setFiles([]) };
}

let last = 0;

function readFile(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error);
    reader.onload = () => {
      const data = String(reader.result).split(",", 2)[1] ?? "";
      const name = file.name || `pasted-${Date.now()}.${(file.type.split("/")[1] ?? "bin").split("+")[0]}`;
      const preview = file.type.startsWith("image/") ? URL.createObjectURL(file) : null;
      resolve({ id: ++last, name, mediaType: file.type || "application/octet-stream", size: file.size, data, preview });
    };
    reader.readAsDataURL(file);
  });
}

export function FileChips({ files, onDrop }) {
  if (!files?.length) return null;
  return html`
    <ul class="files" aria-label="Files">
      ${files.map((file) => html`
        <li key=${file.id ?? file.path ?? file.name} title=${file.name}>
          ${file.preview ? html`<img src=${file.preview} alt="" />` : html`<${Icon} name="clip" />`}
          <span class="ellipsis">${file.name}</span>
          ${file.size !== undefined && html`<small>${bytes(file.size)}</small>`}
          ${onDrop && html`
            <button class="quiet icon" aria-label=${`Remove ${file.name}`} onClick=${() => onDrop(file.id)}>
              <${Icon} name="close" />
            </button>
          `}
        </li>
      `)}
    </ul>
  `;
}

/** Handlers for an element that accepts dropped files, and whether one hovers over it. */
export function useDrop(add) {
  const [over, setOver] = useState(false);
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  return {
    over,
    handlers: {
      onDragOver: (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      },
      onDragLeave: (event) => event.currentTarget.contains(event.relatedTarget) || setOver(false),
      onDrop: (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(false);
        add(event.dataTransfer.files);
      },
    },
  };
}
