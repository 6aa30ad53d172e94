"""From the chat to the reminder: it arrives once, on the page and in the chat, although its worker was killed."""

from __future__ import annotations

from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import ADA
from tests.support.ingress import STARTED, Api, in_path, new_token
from tests.support.waiting import eventually

REMINDER = "⏰ Reminder: stretch"
SESSION = f"agent:main:telegram:dm:{ADA.id}"


def test_a_reminder_arrives_once_on_the_page_and_in_the_chat(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(agents={"defaults": {"model": "offline/demo"}})
    ingress, first = fleet.ingress(), fleet.worker("main")
    found = STARTED.search(ingress.log_text())
    assert found is not None
    page = Api(found[1], new_token(fleet))
    telegram.bot.say("remind me in 10 seconds to stretch")
    eventually(lambda: any("stretch" in text for text in telegram.bot.texts(ADA.id)), within=60)
    eventually(lambda: not fleet.stores.reader.running(), within=60)

    with page.stream("GET", f"/sessions/{in_path(SESSION)}/events") as events:
        first.kill()  # it took the message, and made the job
        fleet.worker("main")
        shown = next(data for _, kind, data in events if kind == "run.ended" and REMINDER in str(data.get("text")))
    assert shown["state"] == "ok"
    eventually(lambda: REMINDER in telegram.bot.texts(ADA.id), within=60)
    eventually(lambda: not fleet.stores.schedules.jobs(), within=60)

    history = str(page.get(f"/sessions/{in_path(SESSION)}/history"))
    assert history.count(REMINDER) == 1
    assert telegram.bot.texts(ADA.id).count(REMINDER) == 1
