// What a tree is about: the message that started it.
import { at, get } from "../../api.js";
import { sessionName } from "../../format.js";
import { useEffect, useState } from "../../preact.js";
import { plainText } from "../chat/items.js";

const known = new Map();

export function useTitle(root) {
  const [, renew] = useState(0);
  const id = root?.runId;
  useEffect(() => {
    if (!id || known.has(id)) return;
    get(at("runs", id, "journal")).then((answer) => {
      const entries = Array.isArray(answer) ? answer : answer.journal ?? answer.entries ?? [];
      const first = entries.find((entry) => entry.role === "user");
      if (!first) return;
      known.set(id, plainText(first));
      renew((count) => count + 1);
    }, () => {});
  }, [id, root?.state]);
  if (!root) return "";
  return root.label || known.get(id) || sessionName(root.sessionKey);
}
