"""Every Redis key this project reads or writes. Nothing else spells one.

    key                            type    expires          holds
    -----------------------------  ------  ---------------  --------------------------------------------------
    {ns}:due                       zset    never            `turn|session` or `archive|id` -> when to look (ms)
    {ns}:sweep                     hash    never            last sweep and end of grace (ms)
    {ns}:sessions                  zset    with session     session key -> last update (ms)
    {ns}:running                   zset    with turn        session key -> when its run was taken (ms)
    {ns}:runs                      zset    sweep prunes     run id -> queued at (ms)
    {ns}:run:{id}                  hash    7 days after end the run record
    {ns}:workers                   zset    tick prunes      worker id -> last tick (ms)
    {ns}:worker:{id}               hash    1 day            host, pid, lane, concurrency, drain
    {ns}:suspects                  hash    sweep prunes     worker id -> the one suspect run it carries
    {ns}:lane:{lane}:slots         zset    with lease       session key -> when its slot ends (ms)
    {ns}:lane:{lane}:line          zset    with turn        `run session` -> ticket
    {ns}:lane:{lane}:ticket        string  never            last ticket given
    {ns}:celery:{lane}             list    Celery's own     wake-ups that no worker has fetched; only counted here
    {ns}:archive:{id}              list    when written     a transcript cut off by reset or deletion
    {ns}:archives                  hash    when written     archive id -> whose transcript it is (JSON)
    {ns}:quarantine                list    newest 1,000     records that could not be read (JSON)
    {ns}:s:{key}:row               hash    with session     SessionEntry, a field per attribute
    {ns}:s:{key}:ctl               hash    with session     engine state: state, run, lease, fence, seq, step …
    {ns}:s:{key}:inbox             zset    with session     waiting message (JSON) -> sequence number
    {ns}:s:{key}:bound             zset    with turn        messages the current run answers -> sequence number
    {ns}:s:{key}:receipts          hash    newest 2,000     message id -> how it stands (JSON)
    {ns}:s:{key}:ages              zset    with receipts    message id -> accepted at (ms)
    {ns}:s:{key}:log               list    with session     transcript entries (JSON), oldest first
    {ns}:s:{key}:events            stream  newest 2,000     what happened, for viewers

Scripts touch keys of one session and shared indexes together, so they assume a single Redis primary.
"""

from __future__ import annotations

from dataclasses import dataclass

TURN = "turn|"
ARCHIVE = "archive|"


@dataclass(frozen=True, slots=True)
class Keys:
    """Builds key names inside one namespace; tests give each test its own."""

    namespace: str = "ocw"

    @property
    def due(self) -> str:
        return f"{self.namespace}:due"

    @property
    def sweep(self) -> str:
        return f"{self.namespace}:sweep"

    @property
    def sessions(self) -> str:
        return f"{self.namespace}:sessions"

    @property
    def running(self) -> str:
        return f"{self.namespace}:running"

    @property
    def runs(self) -> str:
        return f"{self.namespace}:runs"

    @property
    def workers(self) -> str:
        return f"{self.namespace}:workers"

    @property
    def suspects(self) -> str:
        return f"{self.namespace}:suspects"

    @property
    def archives(self) -> str:
        return f"{self.namespace}:archives"

    @property
    def quarantine(self) -> str:
        return f"{self.namespace}:quarantine"

    def run(self, run_id: str) -> str:
        return f"{self.namespace}:run:{run_id}"

    def worker(self, worker_id: str) -> str:
        return f"{self.namespace}:worker:{worker_id}"

    def archive(self, archive_id: str) -> str:
        return f"{self.namespace}:archive:{archive_id}"

    def slots(self, lane: str) -> str:
        return f"{self.namespace}:lane:{lane}:slots"

    def line(self, lane: str) -> str:
        return f"{self.namespace}:lane:{lane}:line"

    def ticket(self, lane: str) -> str:
        return f"{self.namespace}:lane:{lane}:ticket"

    def broker_queue(self, lane: str) -> str:
        return f"{self.namespace}:celery:{lane}"

    def row(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:row"

    def ctl(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:ctl"

    def inbox(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:inbox"

    def bound(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:bound"

    def receipts(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:receipts"

    def ages(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:ages"

    def log(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:log"

    def events(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:events"
