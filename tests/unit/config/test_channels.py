"""Channels, bindings and owners in the configuration: what is refused, and what an account inherits."""

from __future__ import annotations

import pytest

from openclaw_workers.config.channels import TelegramSettings
from tests.unit.config.conftest import LoadText, ProblemsIn


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("telegram: {allowFrom: ['@ada']}", "telegram.allowFrom: expected numeric user ids, or *; @ada is none"),
        ("telegram: {owners: ['*']}", "a pattern such as * would make everybody an owner"),
        ("commands: {ownerAllowFrom: ['telegram:*']}", "a pattern such as * would make everybody an owner"),
        ("agents: {defaults: {identity: {ownerNumbers: ['*']}}}", "would make everybody an owner"),
        ("telegram: {groups: {family: {}}}", "expected numeric chat ids, or *; family is none"),
        ("telegram: {webhook: {url: 'https://bot.example'}}", "without one anybody could send updates"),
        ("telegram: {webhook: {secret: 'a b'}}", "expected a secret of 1 to 256 characters"),
        ("telegram: {botToken: a, accounts: {work: {botToken: a}}}", "the accounts default and work have the same"),
        ("telegram: {accounts: {Work: {}}}", "telegram.accounts.Work"),
        ("bindings: [{agentId: work, match: {channel: telegram}}]", "bindings[0].agentId: expected one of the agents"),
        ("bindings: [{agentId: main, match: {}}]", "bindings[0].match.channel"),
        ("telegram: {groups: {'-1': {agentId: work}}}", "groups.-1.agentId: expected one of the agents main"),
        (
            "telegram: {groups: [{chatId: -1, topics: {3: {agentId: work}}}]}",
            "telegram.groups[0].topics.3.agentId: expected one of the agents main",
        ),
        ("messages: {groupChat: {mentionPatterns: ['(']}}", "expected a regular expression"),
        ("telegram: {dmPolicy: open}", "telegram.dmPolicy: lets anyone write, and all direct chats share one session"),
        ("telegram: {allowFrom: ['*']}", "telegram.allowFrom: lets anyone write"),
        ("telegram: {accounts: {a: {dmPolicy: open}}}", "telegram.accounts.a.dmPolicy: lets anyone write"),
        ("telegram: {dmPolicy: open}\nsession: {scope: global, dmScope: per-peer}", "lets anyone write"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_its_path(text: str, problem: str, problems_in: ProblemsIn) -> None:
    problems = problems_in(text)

    assert any(problem in each for each in problems), problems


def test_no_problem_names_a_token(problems_in: ProblemsIn) -> None:
    text = "telegram: {botToken: '1:SECRET', accounts: {work: {botToken: '1:SECRET'}}}"

    assert "SECRET" not in str(problems_in(text))


def test_anyone_may_write_where_everybody_has_a_session(load_text: LoadText) -> None:
    loaded = load_text("telegram: {dmPolicy: open}\nsession: {dmScope: per-channel-peer}")

    assert loaded.settings.channels.telegram.dm_policy == "open"


def test_ids_may_be_numbers_and_carry_the_name_of_the_channel(load_text: LoadText) -> None:
    text = "telegram: {allowFrom: [7, 'telegram:8', 'tg:9'], owners: [10], groups: [{chatId: -100}]}"
    telegram = load_text(text).settings.channels.telegram

    assert telegram.allow_from == ("7", "8", "9")
    assert telegram.owners == ("10",)
    assert list(telegram.groups) == ["-100"]


def test_an_account_inherits_what_it_leaves_unset_but_not_the_token() -> None:
    telegram = TelegramSettings.model_validate(
        {
            "botToken": "1:a",
            "mediaMaxMb": 3,
            "edits": "follow",
            "webhook": {"url": "https://bot.example", "secret": "s"},
            "accounts": {"work": {"botToken": "2:b", "edits": "ignore"}, "idle": {}, "off": {"enabled": False}},
        }
    )
    work, idle = telegram.account("work"), telegram.account("idle")

    assert work is not None
    assert idle is not None
    assert (work.media_max_mb, work.edits, work.webhook.url) == (3, "ignore", None)
    assert idle.bot_token is None
    assert telegram.account("default") is telegram
    assert telegram.account("other") is None
    assert telegram.account_ids() == ["default", "work"]
    assert telegram.model_copy(update={"enabled": False}).account_ids() == []
