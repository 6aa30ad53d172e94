"""How invalid values are reported."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import LoadText, ProblemsIn


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("messages: {queue: {cap: '20'}}", "messages.queue.cap: expected a whole number, found text"),
        ("messages: {queue: {cap: true}}", "messages.queue.cap: expected a whole number, found true"),
        ("messages: {queue: {cap: 1.5}}", "messages.queue.cap: expected a whole number, found a number"),
        ("messages: {queue: {cap: 0}}", "messages.queue.cap: expected at least 1, found 0"),
        ("engine: {lease-seconds: long}", "engine.lease-seconds: expected a number, found text"),
        ("engine: {leaseSeconds: 0}", "engine.leaseSeconds: expected more than 0.0, found 0"),
        ("engine: {leaseSeconds: 0.5}", "engine: expected sweepSeconds to be at most a quarter of leaseSeconds"),
        ("engine: {taskEvents: 'yes'}", "engine.taskEvents: expected true or false, found text"),
        ("engine: [1]", "engine: expected a mapping, found a list"),
        ("engine: &self {lanes: *self}", "openclaw.yaml: nested too deeply, or an anchor contains itself"),
        (f"engine: {'[' * 5000}{']' * 5000}", "openclaw.yaml: nested too deeply, or an anchor contains itself"),
        ("redis: {url: 'redis://h:port/0'}", "redis.url: expected a port from 0 to 65535; in a password write /"),
        ("redis: {url: 'redis://h/0?foo=bar'}", "redis.url: expected options of redis-py after the ?, such as"),
        ("redis: {url: 'redis://h/0?ssl_cert_reqs=none'}", "redis.url: expected options of redis-py after the ?"),
        ("redis: {url: 'redis://h/0?socket_timeout=x'}", "redis.url: expected another value for the option"),
        ("session: {resetTriggers: {a: 1}}", "session.resetTriggers: expected a list, found a mapping"),
        ("session: {reset: {atHour: 24}}", "session.reset.atHour: expected at most 23, found 24"),
        ("session: {reset: {mode: idle}}", "session.reset: expected idleMinutes when mode is idle"),
        ("session: {mainKey: 'a:b'}", "session.mainKey: expected a plain name"),
        ("tools: {allow: [a], alsoAllow: [b]}", "tools: expected allow or alsoAllow, not both in one place"),
        ("tools: {profile: codin}", "tools.profile: expected 'minimal', 'coding', 'messaging' or 'full', found"),
        ("agents: {list: [{name: x}]}", "agents.list[0].id: required, but missing"),
        ("agents: {list: [{id: A b}]}", "agents.list[0].id: expected text that matches"),
        ("agents: {profiles: {A b: {}}}", 'agents.profiles["A b"]: expected text that matches'),
        ("agents: {list: [{id: a}], profiles: {a: {}}}", "agents.profiles.a: the agent 'a' is already at"),
        ("agents: {default-agent: b, list: [{id: a}]}", "agents.default-agent: expected one of the agents a"),
        ("agents: {defaultAgent: a, list: [{id: a}, {id: b, default: true}]}", "agents.defaultAgent: 'a' is"),
        ("agents: {defaults: {model: opus}}", "agents.defaults.model: expected provider/model, such as"),
        ("agents: {defaults: {model: {fallbacks: [gogle/x]}}}", "agents.defaults.model.fallbacks[0]: expected a mod"),
        ("heartbeat: {model: gogle/x}", "heartbeat.model: expected a model of one of the providers anthropic, offl"),
        ("subagents: {model: offline/dmo}", "subagents.model: expected one of the models offline/demo, offline/scr"),
        ("agents: {list: [{id: a, model: cli/x}]}", "agents.list[0].model: expected a model of one of the prov"),
        (
            "models: {cli: {y: {command: [y]}}}\nagents: {list: [{id: a, model: cli/x}]}",
            "agents.list[0].model: expected one of the models cli/y, found 'cli/x'",
        ),
        (
            "models: {mode: replace, providers: {openai: {models: [{id: m}]}}}\nheartbeat: {model: openai/gpt-5}",
            "heartbeat.model: expected one of the models openai/m, found 'openai/gpt-5'",
        ),
        ("models: {aliases: {a: offline/demo, b: a}}", "models.aliases.b: expected provider/model, such as offline"),
        (
            "models: {aliases: {fast: offline/demo}}\nagents: {list: [{id: a, model: fats}]}",
            "agents.list[0].model: expected provider/model or one of the aliases fast, found 'fats'",
        ),
        ("models: {aliases: {a: gogle/x}}", "models.aliases.a: expected a model of one of the providers"),
        ("agents: {defaults: {models: {gogle/x: {}}}}", "agents.defaults.models.gogle/x: expected a model of one"),
        ("providers: {offline: {baseUrl: http://h}}", "providers.offline: expected a name without a slash, and not"),
        ("providers: {cli: {}}", "providers.cli: expected a name without a slash, and not offline or cli"),
        ("providers: {a/b: {baseUrl: http://h}}", "providers.a/b: expected a name without a slash"),
        ("agents: {defaults: {workspace: /}}", "agents.defaults.workspace: expected a directory below"),
        ("agents: {list: [{id: a, workspace: /x/../..}]}", "agents.list[0].workspace: expected a directory"),
        ("agents: {list: [{id: a, sandbox: wild}]}", "agents.list[0].sandbox: expected a mapping, or one of"),
        ("compaction: {identifierPolicy: custom}", "compaction: expected identifierInstructions when"),
        ("compaction: {memoryFlush: {forceFlushTranscriptBytes: lots}}", "compaction.memoryFlush.forceFlush"),
        ("contextPruning: {softTrim: {maxChars: 10}}", "contextPruning.softTrim: expected headChars plus"),
        ("contextPruning: {softTrimRatio: 0.9}", "contextPruning: expected softTrimRatio to be no more than"),
        ("heartbeat: {every: 30}", "heartbeat.every: expected a duration with its unit"),
        ("heartbeat: {every: 1000000000000000000h}", "heartbeat.every: expected at most ten years"),
        (f"models: {{cli: {{a: {{command: [a], maxOutputBytes: {'9' * 400}mb}}}}}}", "models.cli.a.maxOutputBytes"),
        ("agents: {defaults: {workspace: ''}}", "agents.defaults.workspace: expected a path; leave the key out"),
        ("agents: {defaults: {workspace: ~somebody/x}}", "agents.defaults.workspace: expected ~/ or a full path"),
        ("agents: {defaults: {timeoutSeconds: 604801}}", "agents.defaults.timeoutSeconds: expected at most 604800"),
        ("subagents: {maxChildrenPerAgent: 21}", "subagents.maxChildrenPerAgent: expected at most 20"),
        ("subagents: {maxSpawnDepth: 6}", "subagents.maxSpawnDepth: expected at most 5"),
        ("subagents: {runTimeoutSeconds: 1000000000}", "subagents.runTimeoutSeconds: expected at most 604800"),
        ("engine: {leaseSeconds: 1e300}", "engine.leaseSeconds: expected at most 3600"),
        ("engine: {acceptTimeoutSeconds: 61}", "engine.acceptTimeoutSeconds: expected at most 60"),
        ("lanes: {main: {concurrency: 1000000}}", "lanes.main.concurrency: expected at most 10000"),
        ("messages: {queue: {debounceMs: 86400001}}", "messages.queue.debounceMs: expected at most 86400000"),
        ("session: {reset: {idleMinutes: 1000000000}}", "session.reset.idleMinutes: expected at most 5256000"),
        ("session: {resetTriggers: [start over]}", "session.resetTriggers[0]: expected text that matches"),
        ("session: {identityLinks: {' ': [a]}}", "session.identityLinks"),
        ("heartbeat: {activeHours: {start: 9:00, end: 10:00}}", "heartbeat.activeHours.start: expected a time"),
        ("heartbeat: {activeHours: {start: 09:00, end: 09:00}}", "heartbeat.activeHours: expected start and"),
        (
            "agents: {defaults: {userTimezone: user}}",
            "agents.defaults.userTimezone: expected local or a name such as Europe/Berlin",
        ),
        (
            "heartbeat: {activeHours: {start: 09:00, end: 10:00, timezone: Mars/Base}}",
            "heartbeat.activeHours.timezone: expected user, local or a name such as Europe/Berlin",
        ),
        (
            "heartbeat: {activeHours: {start: 09:00, end: 10:00}, quietHours: {start: 23:00, end: 08:00}}",
            "heartbeat: expected activeHours or quietHours, not both",
        ),
        ("providers: {openrouter: {apiKey: k}}", "providers.openrouter.baseUrl: required, because the address of"),
        ("providers: {openai: {api: anthropic-messages}}", "providers.openai.baseUrl: required, because anthropic-m"),
        (
            "models: {providers: {anthropic: {models: [{id: m, api: openai-responses}]}}}",
            "models.providers.anthropic.baseUrl: required, because openai-responses is not spoken at anthropic's own",
        ),
        ("providers: {openai: {authOrder: [a]}}", "providers.openai: expected authOrder to name authProfiles"),
        (
            "providers: {openai: {authProfiles: [{id: a, apiKey: k}, {id: a, apiKey: l}]}}",
            "providers.openai: expected unique authProfiles ids",
        ),
        ("providers: {x: {baseUrl: ftp://h}}", "providers.x.baseUrl: expected an address that starts with http"),
        ("telegram: {groups: [{tools: {}}]}", "telegram.groups[0]: expected a mapping with chatId"),
        ("telegram: {groups: [{chatId: 1}, {chat-id: 1}]}", "telegram.groups[1]: the chatId 1 is already"),
        (
            "subagents: {maxConcurrent: 1}\nlanes: {subagent: {maxConcurrent: 2}}",
            "subagents.maxConcurrent: differs from lanes.subagent.maxConcurrent",
        ),
        (
            "agents: {list: [{id: a}, {id: b, subagents: {max-concurrent: 2}}]}",
            "agents.list[1].subagents.max-concurrent: caps the whole fleet and cannot be set for one agent;",
        ),
        (
            "agents: {profiles: {a: {subagents: {maxConcurrent: 2}}}}",
            "agents.profiles.a.subagents.maxConcurrent: caps the whole fleet and cannot be set for one agent",
        ),
        ("tools: {loopDetection: {warningThreshold: 25}}", "tools.loopDetection: expected warningThreshold <"),
        ("tools: {loopDetection: {historySize: 25}}", "tools.loopDetection: expected historySize to be at least"),
        ("models: {cli: {x: {command: []}}}", "models.cli.x.command: expected at least 1 in the list, found a list"),
    ],
)
def test_an_impossible_value_is_named_with_what_was_expected(text: str, problem: str, problems_in: ProblemsIn) -> None:
    [only] = problems_in(text)

    assert only.startswith(problem)


def test_the_closest_valid_word_is_suggested(problems_in: ProblemsIn) -> None:
    [only] = problems_in("messages: {queue: {mode: steer-backlogg}}")

    assert only.endswith("found 'steer-backlogg'; did you mean 'steer-backlog'?")


def test_conflicting_settings_are_reported_even_if_another_of_their_section_is_invalid(
    problems_in: ProblemsIn,
) -> None:
    problems = problems_in(
        """
        engine: {leaseSeconds: 1, sweepSeconds: 5, maxAttempts: 0}
        session: {reset: {mode: idle, atHour: 99}}
        agents: {list: [{id: a, contextPruning: {softTrimRatio: 0.9, hardClearRatio: 0.5, keepLastAssistants: x}}]}
        """
    )

    assert {problem.split(": ")[0] for problem in problems} == {
        *("engine.maxAttempts", "engine"),
        *("session.reset.atHour", "session.reset"),
        *("agents.list[0].contextPruning.keepLastAssistants", "agents.list[0].contextPruning"),
    }


def test_an_invalid_setting_is_not_also_reported_as_conflicting(problems_in: ProblemsIn) -> None:
    (problem,) = problems_in("engine: {leaseSeconds: long, sweepSeconds: 5}")
    assert problem.startswith("engine.leaseSeconds: expected a number")


def test_all_problems_are_reported_at_once(problems_in: ProblemsIn) -> None:
    problems = problems_in(
        """
        agents:
          list: [{id: a, default: true, tols: 1}, {id: a, default: true}, {id: B}]
        sesion: {}
        messages: {queue: {mode: x, cap: y, debounceMsByChannel: {cli: -1}}}
        redis: {url: "${LOST}"}
        telegram: {groups: [{}]}
        """
    )

    assert [problem.split(": ")[0] for problem in problems] == [
        "redis.url",
        "agents.list[0].tols",
        "sesion",
        "telegram.groups[0]",
        "agents.list[1].id",
        "agents.list",
        "agents.list[2].id",
        "messages.queue.mode",
        "messages.queue.debounceMsByChannel.cli",
        "messages.queue.cap",
    ]


def test_an_id_cannot_belong_to_two_people(problems_in: ProblemsIn) -> None:
    (problem,) = problems_in("session: {identityLinks: {bob: ['telegram:1'], al: ['signal:2', 'Telegram:1 ']}}")
    assert problem.startswith("session.identityLinks: expected each id for one person only, but Telegram:1")
    assert "is listed for bob and al" in problem


def test_a_password_is_not_quoted_in_a_problem(problems_in: ProblemsIn) -> None:
    problems = problems_in(
        """
        redis: {url: "http://user:hunter2@h"}
        providers: {x: {baseUrl: "http://user:hunter2@h", apiKey: [hunter2], headers: {a: [hunter2]}}}
        telegram: {botToken: {value: hunter2}}
        """
    )

    assert len(problems) == 5
    assert "hunter2" not in "".join(problems)


def test_an_alias_is_accepted_wherever_a_model_is_named(load_text: LoadText) -> None:
    load_text("models: {aliases: {fast: offline/demo}}\nagents: {defaults: {model: Fast}}")
    load_text("agents: {defaults: {model: fast, models: {offline/demo: {alias: fast}}}}")


def test_a_model_of_every_known_provider_is_accepted(load_text: LoadText) -> None:
    load_text(
        """
        models:
          cli: {tool: {command: [tool]}}
          providers: {box: {baseUrl: http://box/v1, models: [{id: m}]}}
          aliases: {mine: box/org/other}
        agents: {defaults: {model: {primary: cli/tool, fallbacks: [box/new, MINE, offline/demo, openai/gpt-9]}}}
        """
    )


def test_a_list_of_agents_may_all_talk_to_each_other(load_text: LoadText) -> None:
    rules = load_text("tools: {agentToAgent: {allow: [a, b]}}").settings.tools.agent_to_agent.allow

    assert {(rule.from_, rule.to) for rule in rules} == {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")}
