"""Sends what the outbox holds to chats, through the channels' adapters."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ingress.context import IngressContext
    from ingress.services import Service


def services(context: IngressContext) -> list[Service]:
    """One sender, if there is an adapter to send with."""
    if not context.adapters:
        return []
    from ingress.delivery.new_messages import NewMessages  # noqa: PLC0415
    from ingress.delivery.sender import Sender  # noqa: PLC0415
    from ingress.delivery.sending_hook import through_hooks  # noqa: PLC0415
    from ingress.delivery.usage_footer import with_usage  # noqa: PLC0415
    from ingress.services import Service  # noqa: PLC0415
    from openclaw_workers.hooks import Hooks  # noqa: PLC0415
    from openclaw_workers.plugin_imports import import_plugins  # noqa: PLC0415

    @cache
    def hooks() -> Hooks:
        """Plugins are imported for the first message, in the thread that sends it."""
        import_plugins(context.settings.plugins)
        engine = context.settings.engine
        return Hooks(seconds=engine.hook_timeout_seconds, failure=engine.hook_failure)

    seconds = context.settings.engine.accept_timeout_seconds
    news = NewMessages(context.redis, context.stores.keys, timeout_seconds=seconds)
    sender = Sender(
        outbox=context.stores.outbox,
        adapters=context.adapters,
        call=context.call,
        wait_for_new=news.wait,
        finish=lambda message: with_usage(through_hooks(message, hooks()), context.stores.reader),
    )
    return [Service("sender", sender.run)]
