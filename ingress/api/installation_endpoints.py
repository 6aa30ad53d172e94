"""The lines of the route table about the installation: status, chats, tokens, agents, models."""

from __future__ import annotations

from ingress.api.handlers import channels, events, installation, models, outbox, pairing, tokens
from ingress.api.models import answers, inputs
from ingress.api.models import chats as chat_models
from ingress.api.table import Endpoint
from openclaw_workers.domain.tokens import Scope

READ, ADMIN = Scope.READ, Scope.ADMIN

INSTALLATION = (
    Endpoint("GET", "/usage", "Tokens and cost", READ, installation.get_usage, answers.UsageAnswer, inputs.UsageQuery),
    Endpoint("GET", "/status", "Workers, lanes and leases", READ, installation.get_status, answers.StatusAnswer),
    Endpoint("GET", "/damaged", "Records that cannot be read", ADMIN, installation.get_damaged, answers.Done),
    Endpoint(
        "GET", "/outbox", "Messages to chats", READ, outbox.list_messages, chat_models.OutboxAnswer, inputs.OutboxQuery
    ),
    Endpoint("GET", "/outbox/{id}", "Show a message to a chat", READ, outbox.get_message, chat_models.OutgoingAnswer),
    Endpoint("POST", "/outbox/{id}/retry", "Send it again", ADMIN, outbox.retry_message, chat_models.OutgoingAnswer),
    Endpoint("POST", "/outbox/{id}/drop", "Never send it", ADMIN, outbox.drop_message, chat_models.OutgoingAnswer),
    Endpoint("GET", "/pairing", "Who may write from chats", ADMIN, pairing.list_pairings, chat_models.PairingAnswer),
    Endpoint(
        "POST",
        "/pairing/approve",
        "Let somebody in",
        ADMIN,
        pairing.approve,
        chat_models.AdmissionAnswer,
        body=pairing.ApproveInput,
    ),
    Endpoint(
        "POST",
        "/pairing/revoke",
        "Revoke access",
        ADMIN,
        pairing.revoke,
        chat_models.AdmissionAnswer,
        body=pairing.RevokeInput,
    ),
    Endpoint("GET", "/channels", "Accounts of chat channels", READ, channels.list_channels, chat_models.ChannelsAnswer),
    Endpoint(
        "POST",
        "/channels/test",
        "Ask a channel about an account, and send a message",
        ADMIN,
        channels.test_channel,
        chat_models.ChannelTestAnswer,
        body=inputs.ChannelTestInput,
        waits=True,
    ),
    Endpoint(
        "GET", "/channels/{channel}", "Show a default account", ADMIN, channels.get_channel, chat_models.ChannelAnswer
    ),
    Endpoint(
        "GET",
        "/channels/{channel}/{account}",
        "Show an account",
        ADMIN,
        channels.get_channel,
        chat_models.ChannelAnswer,
    ),
    Endpoint("GET", "/tokens", "List access tokens", ADMIN, tokens.list_tokens, answers.TokensAnswer),
    Endpoint(
        "POST",
        "/tokens",
        "Make an access token",
        ADMIN,
        tokens.create_token,
        answers.NewTokenAnswer,
        body=inputs.TokenInput,
        status=201,
    ),
    Endpoint("DELETE", "/tokens/{id}", "Revoke an access token", ADMIN, tokens.revoke_token, answers.IdAnswer),
    Endpoint(
        "POST",
        "/tokens/{id}/link",
        "Make a link that logs one browser in",
        ADMIN,
        tokens.create_link,
        answers.LinkAnswer,
    ),
    Endpoint(
        "GET",
        "/agents/{id}/prompt",
        "An agent's system prompt",
        ADMIN,
        installation.get_prompt,
        answers.PromptAnswer,
        slow=True,
    ),
    Endpoint("GET", "/agents", "The configured agents", READ, installation.list_agents, answers.AgentsAnswer),
    Endpoint("GET", "/models", "The models that can be used", READ, models.list_models, answers.Done),
    Endpoint("GET", "/models/keys", "Keys of providers, paused or ready", READ, models.list_keys, answers.Done),
    Endpoint(
        "POST", "/models/resume", "End pauses of keys", ADMIN, models.resume, answers.Done, body=models.ResumeInput
    ),
    Endpoint("GET", "/commands", "The slash commands", READ, installation.commands, answers.CommandsAnswer),
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
