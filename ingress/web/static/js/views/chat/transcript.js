// The conversation on screen. It follows the end, unless one has scrolled up to read.
import { html, useLayoutEffect, useMemo, useRef, useState } from "../../preact.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { callIds, itemsOf } from "./items.js";
import { Children, Item, LiveTurn, Pending } from "./messages.js";

const NEAR_END = 80;

export function Transcript({ talk, busy }) {
  const box = useRef(null);
  const [atEnd, setAtEnd] = useState(true);
  const items = useMemo(() => itemsOf(talk.entries ?? []), [talk.entries]);
  const known = useMemo(() => callIds(talk.entries ?? []), [talk.entries]);
  const calls = Object.values(talk.turn.tools);
  const extra = calls
    .filter((call) => !known.has(call.id))
    .map((call) => ({ ...call, endedAt: call.endedAt ?? null, failed: call.error }));
  const shown = withLive(items, talk.turn.tools);

  useLayoutEffect(() => {
    if (atEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    setAtEnd(scrollHeight - scrollTop - clientHeight < NEAR_END);
  };
  if (talk.entries === null) {
    return talk.error
      ? html`<${Failure} error=${talk.error} retry=${talk.reload} />`
      : html`<${Loading} what="Loading the conversation" />`;
  }
  const isEmpty = !items.length && !talk.pending.length && !talk.turn.text && !busy;
  return html`
    <div class="transcript" ref=${box} onScroll=${onScroll} role="log" aria-label="Conversation" aria-busy=${busy}
      tabindex="0">
      <div class="column">
        ${talk.hasMore && html`<button class="quiet earlier" onClick=${talk.loadEarlier}>Earlier messages</button>`}
        ${isEmpty && html`<${Empty} title="Nothing said yet">Write the first message below. A slash shows the commands.<//>`}
        ${shown.map((item) => html`<${Item} key=${item.key} item=${item} running=${busy} />`)}
        <${LiveTurn} turn=${talk.turn} extraCalls=${extra} busy=${busy} />
        <${Children} turn=${talk.turn} />
        ${talk.pending.map((item) => html`
          <${Pending} key=${item.id} item=${item} retry=${talk.retry} forget=${talk.forget} />
        `)}
      </div>
    </div>
    ${!atEnd && html`
      <button class="to-end" onClick=${() => setAtEnd(true)}>${busy ? "Follow the answer" : "To the end"} ↓</button>
    `}
  `;
}

/** Tool calls of the transcript with what events say about them: output lines while they run. */
function withLive(items, tools) {
  if (!Object.keys(tools).length) return items;
  return items.map((item) =>
    item.kind === "tools"
      ? {
          ...item,
          calls: item.calls.map((call) =>
            tools[call.id] && call.endedAt === null
              ? { ...tools[call.id], ...call, ended: tools[call.id].ended }
              : call,
          ),
        }
      : item,
  );
}
