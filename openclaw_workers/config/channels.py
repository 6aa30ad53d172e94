"""Chat channels: who may write to the agents there, and how each channel is reached."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StringConstraints, model_validator

from openclaw_workers.config.base import AgentId, BaseUrl, KeyedBy, PeerId, PeerIds, Secret, Section
from openclaw_workers.config.identity import OwnerIds
from openclaw_workers.config.tools import ProviderToolPolicy
from openclaw_workers.domain.inbound import DEFAULT_ACCOUNT

DmPolicy = Literal["pairing", "allowlist", "open", "disabled"]
GroupPolicy = Literal["allowlist", "open", "disabled"]


def _bare(value: str) -> str:
    """A Telegram id without the name of the channel, which lists for several channels need."""
    return re.sub(r"^(telegram|tg):", "", value.strip(), flags=re.IGNORECASE)


def _senders(ids: tuple[str, ...]) -> tuple[str, ...]:
    bare = tuple(map(_bare, ids))
    for listed in bare:
        if not re.fullmatch(r"\d+|\*", listed):
            raise ValueError(f"expected numeric user ids, or *; {listed} is none, and a name can change hands")
    return bare


def _chats(groups: dict[str, object]) -> dict[str, object]:
    for listed in groups:
        if not re.fullmatch(r"-?\d+|\*", listed):
            raise ValueError(f"expected numeric chat ids, or *; {listed} is none")
    return groups


TelegramSenders = Annotated[PeerIds, AfterValidator(_senders)]
TelegramOwners = Annotated[OwnerIds, AfterValidator(_senders)]
AccountId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]


class TelegramTopicSettings(Section):
    enabled: StrictBool = True
    """Whether the bot listens here."""

    require_mention: StrictBool = True
    """Answer only when mentioned or replied to; `/activation` overrides it."""

    allow_from: TelegramSenders = ()
    """Senders the bot listens to here (* for all); empty: inherited, in the end from groupAllowFrom."""

    agent_id: AgentId | None = None
    """Agent that answers here; wins over bindings."""

    history_limit: StrictInt | None = Field(default=None, ge=0, le=1000)
    """How many messages that did not mention the bot are kept for its next turn; unset: messages.groupChat."""


class TelegramGroupSettings(TelegramTopicSettings):
    tools: ProviderToolPolicy = ProviderToolPolicy()
    """Tools in this group."""

    tools_by_sender: dict[PeerId, ProviderToolPolicy] = Field(default_factory=dict)
    """Tools by who asks, by id, instead of `tools`; * stands for everybody else. A turn that answers several
    people has the tools that all of them have. If it is not known who asked, it has those that everybody has."""

    topics: Annotated[dict[PeerId, TelegramTopicSettings], KeyedBy("topicId")] = Field(default_factory=dict)
    """Forum topics by id; what is unset here is as in the group."""


class WebhookSettings(Section):
    url: BaseUrl | None = None
    """Public address that leads to the ingress; Telegram sends updates there, to its path or, without one, to
    /channels/telegram/<account>. Unset: the bot asks for them (long polling)."""

    secret: Secret | None = None
    """What Telegram must send along with each update: 1 to 256 of A-Z, a-z, 0-9, _ and -. Needed with url."""

    @model_validator(mode="after")
    def _url_has_secret(self) -> Self:
        if self.url is not None and self.secret is None:
            raise ValueError("expected a secret with the url; without one anybody could send updates")
        if self.secret is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", self.secret.get_secret_value()):
            raise ValueError("expected a secret of 1 to 256 characters out of A-Z, a-z, 0-9, _ and -")
        return self


class TranscribeSettings(Section):
    base_url: BaseUrl
    """Address of an API with OpenAI's /audio/transcriptions, such as https://api.openai.com/v1."""

    api_key: Secret | None = None
    """Its key."""

    model: str = "whisper-1"
    """Its model."""


class TelegramAccountSettings(Section):
    """One bot."""

    enabled: StrictBool = True
    """Whether the bot starts if it has a token."""

    bot_token: Secret | None = None
    """Token of the bot; TELEGRAM_BOT_TOKEN also sets that of the channel."""

    api_root: BaseUrl | None = None
    """Address of the Bot API server; TELEGRAM_API_ROOT also sets that of the channel. Unset: Telegram's own."""

    webhook: WebhookSettings = WebhookSettings.model_construct()
    """How updates arrive."""

    owners: TelegramOwners = ()
    """User ids of owners: they may use every command and tool, in any chat with the bot."""

    dm_policy: DmPolicy = "pairing"
    """Who may send direct messages: paired people, allowFrom only, anyone, nobody. Owners and allowFrom always may,
    unless it is disabled."""

    allow_from: TelegramSenders = ()
    """Senders that may send direct messages without pairing; * lets anyone in, with the rights of a stranger."""

    group_policy: GroupPolicy = "allowlist"
    """Which groups the bot listens to: listed or approved ones, any, none."""

    group_allow_from: TelegramSenders = ()
    """Senders the bot listens to in groups; empty: those of allowFrom. Owners are always accepted."""

    groups: Annotated[dict[PeerId, TelegramGroupSettings], KeyedBy("chatId"), AfterValidator(_chats)] = Field(
        default_factory=dict
    )
    """Groups by chat id (* for all others, and for what a listed one leaves unset); may also be a list whose items
    have chatId."""

    edits: Literal["ignore", "follow"] = "ignore"
    """What happens when somebody edits a message: nothing, or the new text is sent to the agent too."""

    media_max_mb: StrictInt = Field(default=8, ge=0, le=100)
    """Largest file that is loaded, in megabytes; of a larger one the agent gets only the name."""

    transcribe: TranscribeSettings | None = None
    """Endpoint that turns voice notes into text; unset: the sender is told that the bot cannot listen to them."""

    streaming: Literal["progress", "off", "draft"] = "progress"
    """While a turn runs: a message that shows what is being done, nothing, or a native draft (direct chats only)."""

    rich_messages: StrictBool = False
    """Send tables and long answers as rich messages, which several Telegram apps cannot show."""

    command_menu: StrictBool = True
    """Set the bot's command menu at start."""


class TelegramSettings(TelegramAccountSettings):
    accounts: dict[AccountId, TelegramAccountSettings] = Field(default_factory=dict)
    """Further bots by name. Each inherits the settings above, except token and webhook."""

    @model_validator(mode="after")
    def _each_token_once(self) -> Self:
        tokens: dict[str, str] = {}
        bots: list[tuple[str, TelegramAccountSettings]] = [(DEFAULT_ACCOUNT, self), *self.accounts.items()]
        for name, account in bots:
            token = account.bot_token.get_secret_value() if account.bot_token else ""
            first = tokens.setdefault(token, name) if token else name
            if first != name:
                raise ValueError(f"expected one token per bot, but the accounts {first} and {name} have the same")
        return self

    def account(self, account_id: str) -> TelegramAccountSettings | None:
        """The effective settings of one bot; None if there is no such account."""
        if account_id not in self.accounts:
            return self if account_id == DEFAULT_ACCOUNT else None
        own = self.accounts[account_id]
        inherited = {name: getattr(self, name) for name in TelegramAccountSettings.model_fields}
        if account_id != DEFAULT_ACCOUNT:
            inherited |= {"bot_token": None, "webhook": WebhookSettings()}
        given = {name: getattr(own, name) for name in own.model_fields_set}
        return TelegramAccountSettings.model_construct(**{**inherited, **given})

    def account_ids(self) -> list[str]:
        """The bots that are switched on and have a token."""
        names = [DEFAULT_ACCOUNT, *(name for name in self.accounts if name != DEFAULT_ACCOUNT)]
        found = ((name, self.account(name)) for name in names)
        return [name for name, account in found if account and self.enabled and account.enabled and account.bot_token]


class ChannelsSettings(Section):
    telegram: TelegramSettings = TelegramSettings.model_construct()
    """Telegram, by bot."""
