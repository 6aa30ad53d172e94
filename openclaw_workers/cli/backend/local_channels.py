"""Chat channels, access tokens, and prompts, which a worker builds."""

from __future__ import annotations

import time

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.errors import NotFound
from openclaw_workers.queries.channel_answers import channel_answer, channels_answer, find_account
from openclaw_workers.queries.channel_checks import LOOK_SECONDS, SEND_SECONDS, not_sent, put_test_message, sent_as
from openclaw_workers.queries.prompt_answers import prompt_answer
from openclaw_workers.queries.token_answers import link_answer, new_token_answer, revoked_answer, tokens_answer
from openclaw_workers.store.channels import ChannelAccount
from openclaw_workers.store.ingresses import Ingresses


class LocalChannels(LocalPart):
    def channels(self) -> Json:
        return channels_answer(self._cli)

    def channel(self, account: str) -> Json:
        return channel_answer(self._cli, account)

    def check_channel(self, account: str, chat: str | None) -> Json:
        from ingress.adapters import check_account

        found = find_account(self._cli, account)
        said = check_account(self._cli.loaded.settings, found.account)
        sent = self._sent(found.account, chat) if chat is not None else None
        return {"ok": True, "name": found.name, **said, "sent": sent}

    def _sent(self, account: ChannelAccount, chat: str) -> str:
        """Send a message the way all others go, and wait until the channel has it."""
        outbox = self._cli.stores.outbox
        message = put_test_message(outbox, account, chat)
        deadline = time.monotonic() + SEND_SECONDS
        while time.monotonic() < deadline:
            sent = sent_as(outbox, message)
            if sent is not None:
                return sent
            time.sleep(LOOK_SECONDS)
        raise not_sent()

    def tokens(self) -> Json:
        return tokens_answer(self._cli)

    def create_token(self, scope: str, *, name: str, agent: str | None, person: str | None) -> Json:
        return new_token_answer(self._cli, Scope(scope), name=name, agent=agent, person=person)

    def revoke_token(self, token: str) -> Json:
        return revoked_answer(self._cli, token)

    def login_link(self, token: str) -> Json:
        return link_answer(self._cli, token, self._ingress_url())

    def _ingress_url(self) -> str:
        """The address of an ingress that serves now."""
        stores = self._cli.stores
        alive = [info.url for info in Ingresses(stores.redis, stores.keys).all() if info.alive and info.url]
        if not alive:
            raise NotFound("no ingress is running", hint="`ocw up` starts one, `ocw ingress` runs one alone")
        return alive[0]

    def prompt(self, agent: str) -> Json:
        return prompt_answer(self._cli, agent, self._cli.celery_waker.prompt)
