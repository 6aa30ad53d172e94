"""A fleet with ingress processes that receive for Telegram bots, which talk to the fake Bot API."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.outgoing import OutboxEntry
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.transcript import UserEntry
from openclaw_workers.store.channels import ChannelAccount
from tests.support.fake_telegram import TOKEN, FakeTelegram
from tests.support.fake_telegram_updates import ADA
from tests.support.faulty_workers import FAULTY
from tests.support.fleet import Fleet, WorkerProcess, _merged
from tests.support.waiting import eventually

BOT = ChannelAccount("telegram", "default")


class TelegramFleet(Fleet):
    """Ada owns the bot; everything else is as configured by default."""

    def __init__(self, directory: Path, telegram: FakeTelegram, config: Mapping[str, Any] | None = None) -> None:
        self.telegram = telegram
        bot = {"botToken": TOKEN, "apiRoot": telegram.url, "owners": [str(ADA.id)]}
        base = {"channels": {"telegram": bot}, "session": {"dmScope": "per-channel-peer"}}
        super().__init__(directory, _merged(base, config or {}))
        self.ingresses: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for ingress in self.ingresses:
            ingress.close()
        super().__exit__(kind, error, trace)

    def ingress(self, *, wait: bool = True, port: int = 0, **env: str) -> WorkerProcess:
        """Start `ocw ingress`; returns when it serves."""
        argv = ["--config", str(self.config_path), "--state-dir", str(self.state_dir), "ingress", "--port", str(port)]
        log = self.directory / f"ingress-{len(self.ingresses) + 1}.log"
        process = WorkerProcess(argv, {**self.environment(), **env}, self.state_dir, log, respawn=False)
        self.ingresses.append(process)
        if wait:
            eventually(lambda: self._serves(process), within=60)
        return process

    def dying_ingress(self, place: str) -> WorkerProcess:
        """An ingress that kills itself at `module:Class.method:n[:after]`."""
        path = os.pathsep.join([FAULTY, *filter(None, [os.environ.get("PYTHONPATH")])])
        return self.ingress(wait=False, PYTHONPATH=path, OCW_DIE=place)

    @staticmethod
    def _serves(process: WorkerProcess) -> bool:
        assert process.is_running(), f"the ingress ended by itself:\n{process.log_text()}"
        return "ingress.started" in process.log_text()

    def receiver(self) -> WorkerProcess:
        """The ingress that receives for the bot."""
        return eventually(self._receiver, within=20)

    def _receiver(self) -> WorkerProcess | None:
        holder = self.stores.channels.facts(BOT).get("holder", "")
        pid = int(holder.split("/")[1]) if holder else 0
        return next((each for each in self.ingresses if each.pid == pid and each.is_running()), None)

    def turns(self) -> list[Run]:
        """Finished runs, oldest first."""
        return sorted((run for run in self.runs() if run.ended_at), key=lambda run: run.queued_at)

    def heard(self, session: str) -> list[str]:
        """What people said in a session, as its model read it."""
        entries = self.stores.reader.transcript(SessionKey(session))
        return [block.text for entry in entries if isinstance(entry, UserEntry) for block in entry.content]

    def outbox(self) -> list[OutboxEntry]:
        """All messages to chats, oldest first."""
        return self.stores.outbox.entries(with_sent=True)[::-1]

    def replies(self, chat: int = ADA.id, *, count: int = 1, within: float = 30) -> list[str]:
        """Wait for so many messages in a chat, and return all that are visible."""
        eventually(lambda: len(self.telegram.bot.visible(chat)) >= count, within=within)
        return self.telegram.bot.texts(chat)
