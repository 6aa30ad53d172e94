"""Every text that the system itself writes to a chat. Models do not read these."""

from __future__ import annotations

FALLBACK = "⚠️ Primary model ({wanted}) failed: {why}\n✅ Switched to fallback: {answered}"
FALLBACK_OVER = "✅ {wanted} answers again."
RESET_BY_TIME = "🔄 A new session started, because the last one had expired."
RESET_BY_HAND = (
    "🔄 The session was reset. Messages without an answer were cancelled: send them again if they still matter."
)
DELETED = "🗑️ The session was deleted before it answered. Send your message again to start a new one."
DROPPED = (
    "⚠️ The queue is full ({cap} messages wait), so the oldest messages are dropped until this turn is over. "
    "`/queue` shows and sets the limit, `/stop` ends the turn."
)
BUSY = (
    "⏳ Your message was refused: this session is busy, and its queue mode is reject. "
    "Send it again when the turn is over, or choose another mode with `/queue`."
)
FULL = (
    "⏳ Your message was refused: the queue is full ({cap} messages wait). "
    "Send it again later; `/queue` shows and sets the limit, `/stop` ends the turn."
)
WAITS_FOR_PLACE = (
    "⏳ Your message waits: the files of the agent {agent} are at @PLACE@, and no worker takes turns there now. "
    "It is answered when that host is back. Next step for the owner: start `ocw up` there, `ocw undrain` the host if "
    "it is drained, or move the files with `ocw agents move {agent} --to HOST`."
)
FAILED = "❌ The turn failed: {error}\nNext step: {step}"
TIMED_OUT = (
    "⌛ The turn took too long and was ended: {error}\nNext step: send the rest of the request again, or split it."
)
STOPPED = "⏹️ The turn was stopped."
CANCELLED = "⏹️ Waiting messages were cancelled: somebody stopped this session."
LATE_RESULTS = (
    "📦 Results of sub-agents came after the session was reset. They are in its archive, not in this session."
)
BLOCKED_RESULTS = (
    "❌ Results of sub-agents could not be delivered: {error}\n"
    "Next step: `ocw subagents retry {batch}` tries again; they are kept for seven days."
)
JOB_FAILED = "⚠️ The scheduled job {name} failed: {error}"
JOB_PAUSED = (
    "⏸️ The scheduled job {name} is paused, because it failed: {error}\n"
    "Next step: mend what is wrong, then `ocw cron resume {id}`."
)
JOB_MISSED = "⚠️ The scheduled job {name} did not run: no worker was running when it was due, {late} ago."
JOB_STOPPED = (
    "⏸️ The scheduled job {name} is stopped, because its maker is no longer an owner.\n"
    "Next step: an owner takes it over with `ocw cron resume {id}`, or removes it with `ocw cron remove {id}`."
)
SUPPRESSED = "The reply was not sent to the chat: the send policy denies it. `/send on` allows it for this session."

STEP_DEFAULT = "send the message again; `ocw runs show {run}` shows details."
STEPS = {
    "billing": "check the account and its credit at the provider, then send the message again.",
    "rate_limit": "wait a few minutes, or choose another model with `/model`.",
    "auth": "the owner has to check the API key: `ocw models status` shows which.",
    "auth_permanent": "the owner has to replace the API key: `ocw models status` shows which.",
    "timeout": "send the message again, or choose another model with `/model`.",
    "price_unknown": "choose another model with `/model`, or give this one's price in the configuration.",
    "model_not_found": "choose another model with `/model list`.",
    "context_overflow": "shorten the conversation with `/compact`, or begin a new one with `/new`.",
    "lost": "send the message again. If it fails again, split the request; `ocw runs show {run}` shows what was done.",
}
