"""Taking a run where the files of its agent are; a wake-up that reached another host is passed on."""

from __future__ import annotations

from openclaw_workers.domain.ids import RunId, SessionKey, new_token
from openclaw_workers.domain.runs import lane_of
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.delivery.chats import ChatDelivery
from openclaw_workers.engine.turn.journal import persist
from openclaw_workers.engine.turn.reset_policy import ResetPolicy
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.wake import Waker
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.store.turn_records import NotTaken, Taken
from openclaw_workers.store.turns import Turns


class PlacedTurns:
    def __init__(
        self,
        *,
        turns: Turns,
        agents: AgentConfigs,
        resets: ResetPolicy,
        transcripts: TranscriptCache,
        process: WorkerState,
        waker: Waker,
        chats: ChatDelivery,
        places: HostPlaces,
    ) -> None:
        self._turns = turns
        self._agents = agents
        self._resets = resets
        self._transcripts = transcripts
        self._process = process
        self._waker = waker
        self._chats = chats
        self._places = places

    def take(self, session: SessionKey, run: RunId, may_suspect: bool) -> Taken | NotTaken:
        agent = agent_of(session)
        taken = self._take_at(self._places.seen(agent), session, run, may_suspect)
        match taken:
            case NotTaken(why="unplaced"):
                return self._take_at(self._places.make(agent), session, run, may_suspect)
            case NotTaken(why="elsewhere", place=place) if place == self._places.seen(agent):
                # Another turn has made the place in the meantime.
                return self._take_at(place, session, run, may_suspect)
        return taken

    def pass_on(self, session: SessionKey, run: RunId, place: str) -> None:
        """Give a wake-up to the workers that see the files of its agent. This one does not.

        While the files are moved, and where this host has just lost sight of them, the run is left to the sweep.
        """
        if self._places.is_of_others(place):
            self._waker.turn(session, run, place=place)

    def _take_at(self, place: str | None, session: SessionKey, run: RunId, may_suspect: bool) -> Taken | NotTaken:
        # The nonce makes `take` safe to repeat: a lost answer and a second try are one owner.
        nonce = new_token()
        freshness = self._resets.times(session)
        time_ms = self._agents.run_time_ms(session)
        known = self._transcripts.known(session)
        delivery = self._chats.of_take(session)
        return persist(
            lambda: self._turns.take(
                session,
                run,
                lane_of(session),
                nonce=nonce,
                time_ms=time_ms,
                freshness=freshness,
                may_suspect=may_suspect,
                known=known,
                delivery=delivery,
                place=place,
            ),
            self._process,
        )
