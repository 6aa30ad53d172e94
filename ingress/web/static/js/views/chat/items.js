// The transcript as things to show: messages, folded tool activity, notices.

/** Each item has a `kind`: user, assistant, thinking, tools, internal, notice or compaction. */
export function itemsOf(entries) {
  const results = resultsById(entries);
  const items = [];
  entries.forEach((entry, index) => {
    for (const item of itemsOfEntry(entry, results)) {
      item.key = `${entry.timestamp}-${index}-${items.length}`;
      const last = items[items.length - 1];
      if (item.kind === "tools" && last?.kind === "tools") last.calls.push(...item.calls);
      else items.push(item);
    }
  });
  return items;
}

const resultsById = (entries) =>
  new Map(entries.filter((entry) => entry.role === "toolResult").map((entry) => [entry.toolCallId, entry]));

function itemsOfEntry(entry, results) {
  switch (entry.role) {
    case "user":
      return [userItem(entry)];
    case "assistant":
      return assistantItems(entry, results);
    case "notice":
      return [{ kind: "notice", text: entry.text, level: entry.level, at: entry.timestamp }];
    case "compaction":
      return [{ kind: "compaction", entry, at: entry.timestamp }];
    default:
      return [];
  }
}

function userItem(entry) {
  const isPerson = !entry.provenance || entry.provenance === "steer";
  return {
    kind: isPerson ? "user" : "internal",
    text: unquoted(plainText(entry)),
    attachments: entry.attachments ?? [],
    steered: entry.provenance === "steer",
    source: entry.provenance,
    at: entry.timestamp,
  };
}

function assistantItems(entry, results) {
  const items = [];
  for (const block of entry.content) {
    if (block.type === "thinking" && block.thinking.trim())
      items.push({ kind: "thinking", text: block.thinking, at: entry.timestamp });
    if (block.type === "text" && block.text.trim()) {
      const last = items[items.length - 1];
      if (last?.kind === "assistant") last.text += block.text;
      else items.push({ kind: "assistant", text: block.text, at: entry.timestamp, entry });
    }
  }
  const calls = entry.content.filter((block) => block.type === "toolCall");
  if (calls.length) items.push({ kind: "tools", calls: calls.map((call) => toolCall(call, entry, results)) });
  return items;
}

function toolCall(block, entry, results) {
  const result = results.get(block.id);
  return {
    id: block.id,
    name: block.name,
    input: block.arguments,
    at: entry.timestamp,
    runId: entry.runId,
    output: result ? unquoted(plainText(result)) : null,
    failed: result?.isError ?? false,
    endedAt: result?.timestamp ?? null,
  };
}

const MARKERS = /<<<UNTRUSTED_TEXT from="[^"<>\n]*">>>\n?|\n?<<<END_UNTRUSTED_TEXT>>>/g;

/** Without the marks that tell a model which text is not from its user. */
const unquoted = (text) => text.replace(MARKERS, "");

export const plainText = (entry) =>
  (entry.content ?? [])
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");

/** The ids of all tool calls in the transcript. */
export const callIds = (entries) =>
  new Set(
    entries.flatMap((entry) =>
      (entry.content ?? []).filter((block) => block.type === "toolCall").map((block) => block.id),
    ),
  );

/** What a tool was called with, in one line. */
export function brief(input) {
  const values = Object.values(input ?? {});
  const first = values.find((value) => typeof value === "string") ?? (values.length ? JSON.stringify(input) : "");
  const line = first.replace(/\s+/g, " ").trim();
  return line.length > 110 ? `${line.slice(0, 109)}…` : line;
}
