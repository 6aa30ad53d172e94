// Chat: one session, its transcript as it grows, and the input.
import { at, post } from "../../api.js";
import { html, useEffect } from "../../preact.js";
import { isLive } from "../../parts/marks.js";
import { Empty, Loading } from "../../parts/states.js";
import { attempt } from "../../parts/toasts.js";
import { chatPath, navigate } from "../../router.js";
import { canChat, isAdmin } from "../../sessions.js";
import { useAttachments, useDrop } from "./attachments.js";
import { Composer } from "./composer.js";
import { useConversation } from "./conversation.js";
import { SessionHeader } from "./header.js";
import { Questions } from "./questions.js";
import { Transcript } from "./transcript.js";

export function ChatView({ route, me, sessions }) {
  const key = route.parts[0];
  const first = sessions.data?.sessions?.find((each) => each.kind !== "subagent")?.sessionKey;
  const isLoaded = Boolean(sessions.data || sessions.error);
  useEffect(() => {
    if (!key && isLoaded) navigate(chatPath(first ?? `agent:${me.agent ?? "main"}:main`), { replace: true });
  }, [key, first, isLoaded]);
  if (!key) return html`<${Loading} />`;
  return html`<${Conversation} key=${key} sessionKey=${key} me=${me} onChanged=${sessions.refresh} />`;
}

function Conversation({ sessionKey, me, onChanged }) {
  const talk = useConversation(sessionKey);
  const attachments = useAttachments();
  const drop = useDrop(attachments.add);
  const runId = talk.session?.runId ?? (talk.turn.phase !== "idle" ? talk.turn.runId : null);
  const isSent = talk.pending.some((item) => item.state === "accepted");
  const busy = Boolean(runId) || isLive(talk.session?.state) || isSent;
  const changed = () => Promise.all([talk.reload(), onChanged()]);
  const stop = () => attempt(() => (runId ? post(at("runs", runId, "stop")) : talk.send("/stop")));
  if (talk.deleted) return html`<${Empty} title="This session was deleted">Its transcript is in the archive.<//>`;
  return html`
    <section class="chat ${drop.over ? "dropping" : ""}" aria-label="Conversation" ...${drop.handlers}>
      <${SessionHeader} sessionKey=${sessionKey} talk=${talk} busy=${busy} me=${me} onChanged=${changed} onDeleted=${onChanged} />
      <div class="transcript-box"><${Transcript} talk=${talk} busy=${busy} /></div>
      ${talk.stream === "waiting" && html`<p class="stream-note" role="status">Reconnecting to the conversation…</p>`}
      ${isAdmin(me) && html`<${Questions} />`}
      <${Composer} sessionKey=${sessionKey} attachments=${attachments} busy=${busy} waiting=${talk.waiting}
        readOnly=${!canChat(me)} send=${(text, files) => talk.send(text, files)}
        steer=${(text, files) => talk.send(text, files, "steer")} stop=${stop} />
      ${drop.over && html`<div class="drop-hint">Drop files to attach them</div>`}
    </section>
  `;
}
