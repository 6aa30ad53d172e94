"""The route table of `/api/v1`: each line is one endpoint of the API and of its OpenAPI document."""

from __future__ import annotations

from ingress.api.handlers import events, installation, models, runs, sending, sessions, subagents
from ingress.api.models import answers, inputs
from ingress.api.table import Endpoint
from openclaw_workers.domain.tokens import Scope

READ, CHAT, ADMIN = Scope.READ, Scope.CHAT, Scope.ADMIN

ENDPOINTS = (
    Endpoint(
        "POST",
        "/send",
        "Send a message",
        CHAT,
        sending.send,
        answers.Accepted,
        body=inputs.SendInput,
        status=202,
        waits=True,
        streams=True,
    ),
    Endpoint(
        "GET", "/sessions", "List sessions", READ, sessions.list_sessions, answers.SessionsAnswer, inputs.SessionsQuery
    ),
    Endpoint(
        "GET",
        "/sessions/resolve",
        "Find a session by key or label",
        READ,
        sessions.resolve_session,
        answers.SessionAnswer,
        inputs.ResolveQuery,
    ),
    Endpoint("GET", "/sessions/{key}", "Show a session", READ, sessions.get_session, answers.SessionAnswer),
    Endpoint(
        "PATCH",
        "/sessions/{key}",
        "Set label, model, levels and policies of a session",
        CHAT,
        sessions.patch_session,
        answers.SessionAnswer,
        body=inputs.SessionPatch,
    ),
    Endpoint("DELETE", "/sessions/{key}", "Delete a session", ADMIN, sessions.delete_session, answers.KeyAnswer),
    Endpoint("POST", "/sessions/{key}/reset", "Reset a session", CHAT, sessions.reset_session, answers.ResetAnswer),
    Endpoint(
        "GET",
        "/sessions/{key}/history",
        "Read a session's transcript",
        READ,
        sessions.get_history,
        answers.HistoryAnswer,
        inputs.HistoryQuery,
    ),
    Endpoint(
        "GET", "/sessions/{key}/queue", "Messages that wait in a session", READ, sessions.get_queue, answers.QueueAnswer
    ),
    Endpoint(
        "GET",
        "/sessions/{key}/events",
        "Follow a session's events",
        READ,
        events.follow_session,
        answers.Done,
        inputs.EventsQuery,
        waits=True,
        streams=True,
    ),
    Endpoint(
        "GET", "/session-trees", "Sessions below those that spawned them", READ, sessions.session_trees, answers.Done
    ),
    Endpoint("GET", "/runs", "List runs", READ, runs.list_runs, answers.RunsAnswer, inputs.RunsQuery),
    Endpoint("GET", "/runs/{id}", "Show a run", READ, runs.get_run, answers.RunAnswer),
    Endpoint("GET", "/runs/{id}/journal", "What a run did", READ, runs.get_journal, answers.JournalAnswer),
    Endpoint("POST", "/runs/{id}/stop", "Stop a run", CHAT, runs.stop_run, answers.StopAnswer),
    Endpoint(
        "POST",
        "/runs/{id}/steer",
        "Say something into a running turn",
        CHAT,
        sending.steer_run,
        answers.Accepted,
        body=inputs.TextInput,
        status=202,
    ),
    Endpoint(
        "POST",
        "/runs/{id}/rerun",
        "Accept a run's messages again",
        CHAT,
        sending.rerun,
        answers.Accepted,
        body=inputs.RepeatInput,
        status=202,
    ),
    Endpoint(
        "GET", "/tree/{of}", "The tree of a run or session", READ, runs.get_tree, answers.TreesAnswer, inputs.LimitQuery
    ),
    Endpoint("GET", "/trees", "The newest trees", READ, runs.list_trees, answers.TreesAnswer, inputs.LimitQuery),
    Endpoint(
        "GET",
        "/subagents",
        "List sub-agents",
        READ,
        subagents.list_subagents,
        answers.SubagentsAnswer,
        inputs.SubagentsQuery,
    ),
    Endpoint("GET", "/subagents/{id}", "Show a sub-agent", READ, subagents.get_subagent, answers.SubagentAnswer),
    Endpoint(
        "GET",
        "/subagents/{id}/log",
        "Read a sub-agent's transcript",
        READ,
        subagents.get_log,
        answers.HistoryAnswer,
        inputs.HistoryQuery,
    ),
    Endpoint(
        "POST",
        "/subagents/{id}/send",
        "Send a sub-agent a message",
        CHAT,
        sending.send_to_subagent,
        answers.Accepted,
        body=inputs.TextInput,
        status=202,
    ),
    Endpoint(
        "POST",
        "/subagents/{id}/steer",
        "Say something into a sub-agent's running turn",
        CHAT,
        sending.steer_subagent,
        answers.Accepted,
        body=inputs.TextInput,
        status=202,
    ),
    Endpoint(
        "POST",
        "/subagents/{id}/stop",
        "Stop a sub-agent and all below it",
        CHAT,
        subagents.stop_subagent,
        answers.SubagentStopAnswer,
    ),
    Endpoint(
        "POST",
        "/subagents/{id}/retry",
        "Deliver a blocked result again",
        CHAT,
        subagents.retry_delivery,
        answers.KeyAnswer,
    ),
    Endpoint("GET", "/usage", "Tokens and cost", READ, installation.get_usage, answers.UsageAnswer, inputs.UsageQuery),
    Endpoint("GET", "/status", "Workers, lanes and leases", READ, installation.get_status, answers.StatusAnswer),
    Endpoint("GET", "/damaged", "Records that cannot be read", ADMIN, installation.get_damaged, answers.Done),
    Endpoint("GET", "/agents", "The configured agents", READ, installation.list_agents, answers.AgentsAnswer),
    Endpoint("GET", "/models", "Keys of providers, paused or ready", READ, models.list_keys, answers.Done),
    Endpoint(
        "POST", "/models/resume", "End pauses of keys", ADMIN, models.resume, answers.Done, body=models.ResumeInput
    ),
    Endpoint("GET", "/commands", "The slash commands", READ, installation.list_commands, answers.CommandsAnswer),
    Endpoint(
        "GET",
        "/config",
        "The configuration in use",
        ADMIN,
        installation.get_config,
        answers.ConfigAnswer,
        inputs.ConfigQuery,
    ),
    Endpoint(
        "POST",
        "/config/check",
        "Check a configuration",
        ADMIN,
        installation.check_config,
        answers.ConfigCheckAnswer,
        body=inputs.ConfigCheckInput,
    ),
    Endpoint(
        "GET",
        "/events",
        "Follow changes of the installation",
        READ,
        events.follow_fleet,
        answers.Done,
        waits=True,
        streams=True,
    ),
    Endpoint("GET", "/me", "Who is asking", READ, installation.who_am_i, answers.MeAnswer),
)
