"""Answers in OpenAI's form: a whole completion, or the chunks of a streamed one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.runs import Run, RunState
from openclaw_workers.domain.transcript import Usage


@dataclass(frozen=True, slots=True)
class CompletionForm:
    """What all parts of one answer have in common."""

    id: str
    created: int
    """Seconds since the epoch."""
    model: str
    """The model id of the request."""
    is_usage_wanted: bool = False

    def completion(self, text: str, usage: Usage, finish: str) -> dict[str, Any]:
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        return {**self._head("chat.completion"), "choices": [choice], "usage": usage_form(usage)}

    def first_chunk(self) -> dict[str, Any]:
        return self._chunk({"role": "assistant", "content": ""})

    def text_chunk(self, text: str) -> dict[str, Any]:
        return self._chunk({"content": text})

    def reasoning_chunk(self, text: str) -> dict[str, Any]:
        return self._chunk({"reasoning_content": text})

    def last_chunks(self, usage: Usage, finish: str) -> list[dict[str, Any]]:
        last = self._chunk({}, finish)
        if not self.is_usage_wanted:
            return [last]
        return [last, {**self._head("chat.completion.chunk"), "choices": [], "usage": usage_form(usage)}]

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return {**chunk, "usage": None} if self.is_usage_wanted else chunk

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def usage_form(usage: Usage) -> dict[str, Any]:
    prompt = usage.input + usage.cache_read + usage.cache_write
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    }


def finish_reason(run: Run | None) -> str:
    return "length" if run is not None and run.state is RunState.OK and run.reason == "length" else "stop"
