"""The adapters of one ingress process, from the settings. A channel's library is loaded only if it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ingress.channels.account_lease import LONGEST_LEASE_SECONDS
from ingress.channels.adapter_context import AdapterContext
from ingress.channels.inbound import InboundIntake
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.engine.access.gate import AccessGate
from openclaw_workers.engine.delivery.send_policy import send_decision
from openclaw_workers.engine.intake.commands.registry import available_commands
from openclaw_workers.engine.routing.addressing import Origin, agent_for
from openclaw_workers.errors import BadInput
from openclaw_workers.store.channels import ChannelAccount

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ingress.channels.adapter import Adapter
    from ingress.context import IngressContext
    from ingress.services import Service


def build_adapters(context: IngressContext) -> tuple[Adapter, ...]:
    """One adapter for each account of each channel that is switched on and has a token, and one for webhooks."""
    return (*_telegram(context), *_webhooks(context))


def services(context: IngressContext) -> list[Service]:
    """One service for each account: it receives."""
    from ingress.services import Service  # noqa: PLC0415

    return [Service(f"{each.channel}:{each.account_id}", each.run) for each in context.adapters]


def routes(context: IngressContext) -> list[BaseRoute]:
    """What adapters serve over HTTP, such as webhooks."""
    from ingress.channels.adapter import ServesHttp  # noqa: PLC0415

    return [route for each in context.adapters if isinstance(each, ServesHttp) for route in each.routes()]


def _webhooks(context: IngressContext) -> tuple[Adapter, ...]:
    settings = context.settings.cron.webhooks
    if not settings.allow:
        return ()
    from ingress.channels.webhook import WebhookAdapter  # noqa: PLC0415

    return (WebhookAdapter(settings),)


def _telegram(context: IngressContext) -> tuple[Adapter, ...]:
    telegram = context.settings.channels.telegram
    names = telegram.account_ids()
    if not names:
        return ()
    from ingress.channels.telegram.adapter import TelegramAdapter  # noqa: PLC0415

    given = adapter_context(context)
    accounts = [(name, telegram.account(name)) for name in names]
    return tuple(TelegramAdapter(name, account, given) for name, account in accounts if account is not None)


def adapter_context(context: IngressContext) -> AdapterContext:
    stores, settings = context.stores, context.settings
    return AdapterContext(
        channels=stores.channels,
        outbox=stores.outbox,
        reader=stores.reader,
        hub=context.hub,
        intake=build_intake(context),
        call=context.call,
        process=context.id,
        lease_seconds=min(LONGEST_LEASE_SECONDS, settings.engine.lease_seconds),
        commands=lambda account: commands_of(context, account),
        may_send=lambda session, route: may_send(context, session, route),
    )


def commands_of(context: IngressContext, account: ChannelAccount) -> list[tuple[str, str]]:
    """Slash commands, and those of skills of the agent that answers where no other is bound."""
    agent = agent_for(Origin(channel=account.channel, account_id=account.account_id), context.session_rules)
    known = available_commands(context.settings.session.reset_triggers)
    skills = context.stores.skill_commands.of_agent(agent)
    return [*((each.name, each.summary) for each in known), *((each.name, each.description) for each in skills)]


def check_account(settings: Settings, account: ChannelAccount) -> dict[str, Any]:
    """What the channel says about an account, for `ocw channels test`.

    Raises:
        BadInput: it has no token, or the channel does not know it.
        TransientError: the channel cannot be reached.
    """
    from ingress.channels.telegram.check import check_bot  # noqa: PLC0415

    configured = settings.channels.telegram.account(account.account_id)
    if configured is None or configured.bot_token is None:
        hint = f"set channels.{account.channel}.botToken; docs/{account.channel}.md says where to get one"
        raise BadInput(f"the account {account.account_id} of {account.channel} has no token", hint=hint)
    return check_bot(configured)


def build_intake(context: IngressContext) -> InboundIntake:
    stores, loaded = context.stores, context.loaded

    gate = AccessGate(
        settings=loaded.settings,
        pairings=stores.pairings,
        contexts=stores.group_context,
        sessions=stores.sessions,
        reader=stores.reader,
    )
    return InboundIntake(gate=gate, intake=context.intake, outbox=stores.outbox, call=context.call)


def may_send(context: IngressContext, session: SessionKey, route: Route) -> bool:
    """Whether the send policy lets a session write to a chat."""
    # What a session was set to wins over the rules of the configuration.
    chosen = context.stores.reader.row(session).get("sendPolicy")
    if chosen in ("allow", "deny"):
        return chosen == "allow"
    return send_decision(context.settings.session.send_policy, session, route.channel) == "allow"
