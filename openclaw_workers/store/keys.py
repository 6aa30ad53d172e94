"""Every Redis key this project reads or writes. Nothing else spells one.

    key                            type    expires          holds
    -----------------------------  ------  ---------------  --------------------------------------------------
    {ns}:memory                    hash    10 s             how full Redis is, and whether it takes new work
    {ns}:due                       zset    never            `turn|session`, `archive|id`, `batch|id`, `relay|id`,
                                                            `cleanup|session`, `lost_call|id`, `stop_children|session`,
                                                            `stop_children|run session`, `forget|batch session`,
                                                            `memory_note|session id`
                                                            -> when to look
    {ns}:due:before_step           zset    when shifted     what was due when Redis' clock stepped back
    {ns}:stop_orders               hash    when done        session key, or `run session` for what one run of it spawned
                                                            -> which children to stop, and why (JSON)
    {ns}:relays                    hash    when passed on   message id -> an answer for another session (JSON)
    {ns}:lost_calls                hash    when recorded    `run:fence` -> a model call whose run was taken away (JSON)
    {ns}:dedupe:{id}               hash    24 h             a message that its channel may deliver again: where its
                                                            receipt is, or what the command that it is led to
    {ns}:threads                   hash    with session     `channel|account|to|thread` -> the session bound to it
    {ns}:batch:{id}                hash    7 days after     a batch of children: parent, members, state; after it is
                                                            announced or given up, and the runs of it with it
    {ns}:batch:{id}:open           set     when settled     its runs that have not settled
    {ns}:tree:{id}                 zset    when settled     unsettled runs below root session id -> spawned at (ms)
    {ns}:sweep                     hash    never            last sweep, end of grace, last step back of the clock (ms)
    {ns}:sessions                  zset    with session     session key -> last update (ms)
    {ns}:running                   zset    with turn        session key -> when its run was taken (ms)
    {ns}:runs                      zset    sweep prunes     run id -> queued at (ms)
    {ns}:run:{id}                  hash    7 days after end the run record; a child's goes with its batch
    {ns}:workers                   zset    tick prunes      worker id -> last tick (ms)
    {ns}:worker:{id}               hash    1 day            host, pid, lane, concurrency, drain
    {ns}:suspects                  hash    sweep prunes     worker id -> the one suspect run it carries
    {ns}:lane:{lane}:slots         zset    with lease       session key -> when its slot ends (ms)
    {ns}:lane:{lane}:line          zset    with turn        `run session` -> ticket
    {ns}:lane:{lane}:ticket        string  never            last ticket given
    {ns}:celery:{lane}             list    Celery's own     wake-ups that no worker has fetched; only counted here
    {ns}:cooldown:{id}             hash    7 days           cooldowns of a provider's key, by reason
    {ns}:cooldown:{id}:probe       string  30 s             somebody tries a key in its cooldown
    {ns}:limit:{id}:recent         zset    1 hour           calls of the last minute -> when they began (ms)
    {ns}:limit:{id}:working        zset    1 hour           runs that are calling -> when their place ends (ms)
    {ns}:limit:{id}:waiting        zset    1 hour           runs that are held up -> when they came
    {ns}:limit:{id}:asked          hash    1 hour           when each of them last asked, and about which call
    {ns}:budget:{id}:spent         hash    90 days          tokens, cost, calls, seconds
    {ns}:budget:{id}:reserved      hash    7 days           run -> what its call may cost (JSON)
    {ns}:ledger:{id}               hash    90 days          a day's model calls: call id -> what it took (JSON)
    {ns}:archive:{id}              list    when written     by session id: a transcript cut off by reset or deletion,
                                                            and results that came too late for it
    {ns}:archives                  hash    when written     session id -> whose transcript it is (JSON)
    {ns}:archiving:{id}            hash    30 days          by session id: who writes the archive, where, how far
    {ns}:archives:at:{id}          set     when written     due items of archives that wait for a writer at one place
    {ns}:memory_owner:{id}         string  with lease       token of the process that owns the memory index of a place
    {ns}:memory_requests:{id}      list    when taken       questions to that process (JSON)
    {ns}:memory_wanted:{id}        set     when taken       agents whose memory may have changed
    {ns}:memory_reply:{id}         list    1 minute         the answer to one question, and progress before it (JSON)
    {ns}:memory_sync:{id}          string  with lease       who brings one agent's part of a server's index up to date
    {ns}:memory_note:{id}          hash    30 days          by session id: a conversation that is to be saved to memory
    {ns}:memory_vectors:{id}       hash    newest 10,000    by model: hash of a text -> its embedding
    {ns}:memory_vectors:{id}:used  zset    newest 10,000    hash of a text -> when its embedding was last used
    {ns}:quarantine                list    newest 1,000     records that could not be read (JSON)
    {ns}:quarantine:times          zset    newest 1,000     digest of such a note -> when it was first made (ms)
    {ns}:s:{key}:row               hash    with session     SessionEntry, a field per attribute
    {ns}:s:{key}:ctl               hash    with session     engine state: state, run, lease, fence, seq, step …
    {ns}:s:{key}:inbox             zset    with session     waiting message (JSON) -> sequence number
    {ns}:s:{key}:bound             zset    with turn        messages the current run answers -> sequence number
    {ns}:s:{key}:receipts          hash    newest 2,000     message id -> how it stands (JSON)
    {ns}:s:{key}:ages              zset    with receipts    message id -> accepted at (ms)
    {ns}:s:{key}:log               list    with session     transcript entries (JSON), oldest first
    {ns}:s:{key}:events            stream  newest 2,000     what happened, for viewers
    {ns}:s:{key}:batches           zset    with batch       batches it spawned that are not announced -> spawned at (ms)
    {ns}:s:{key}:children          zset    with session     runs it spawned -> the order of spawning
    {ns}:s:{key}:live              zset    when settled     those of them that have not settled
    {ns}:s:{key}:waiters           hash    when answered    message id -> session whose run waits for the answer
    {ns}:s:{key}:files             hash    with session     attachments it was spawned with: name -> base64

Scripts touch keys of one session and shared indexes together, so they assume a single Redis primary.
"""

from __future__ import annotations

from dataclasses import dataclass

TURN = "turn|"
ARCHIVE = "archive|"
BATCH = "batch|"
STOP_CHILDREN = "stop_children|"
CLEANUP = "cleanup|"
RELAY = "relay|"
LOST_CALL = "lost_call|"
FORGET = "forget|"
MEMORY_NOTE = "memory_note|"


def broker_prefix(namespace: str) -> str:
    """What Celery puts in front of every key of its own."""
    return f"{namespace}:celery:"


@dataclass(frozen=True, slots=True)
class Keys:
    """Builds key names inside one namespace; tests give each test its own."""

    namespace: str = "ocw"

    def for_session(self, session: str, *names: str) -> dict[str, str]:
        """Keys of one session by their names."""
        return {name: getattr(self, name)(session) for name in names}

    def for_lane(self, lane: str, *names: str) -> dict[str, str]:
        return {name: getattr(self, name)(lane) for name in names}

    def shared(self, *names: str) -> dict[str, str]:
        """Keys that all sessions share, by their names."""
        return {name: getattr(self, name) for name in names}

    @property
    def due(self) -> str:
        return f"{self.namespace}:due"

    @property
    def memory(self) -> str:
        return f"{self.namespace}:memory"

    @property
    def due_before_step(self) -> str:
        return f"{self.namespace}:due:before_step"

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

    @property
    def quarantine_times(self) -> str:
        return f"{self.namespace}:quarantine:times"

    @property
    def stop_orders(self) -> str:
        return f"{self.namespace}:stop_orders"

    @property
    def relays(self) -> str:
        return f"{self.namespace}:relays"

    @property
    def lost_calls(self) -> str:
        return f"{self.namespace}:lost_calls"

    @property
    def threads(self) -> str:
        return f"{self.namespace}:threads"

    def dedupe(self, delivery: str) -> str:
        return f"{self.namespace}:dedupe:{delivery}"

    def batch(self, batch_id: str) -> str:
        return f"{self.namespace}:batch:{batch_id}"

    def open(self, batch_id: str) -> str:
        return f"{self.namespace}:batch:{batch_id}:open"

    def tree(self, root: str) -> str:
        return f"{self.namespace}:tree:{root}"

    def run(self, run_id: str) -> str:
        return f"{self.namespace}:run:{run_id}"

    def cooldown(self, name: str) -> str:
        return f"{self.namespace}:cooldown:{name}"

    def probe(self, name: str) -> str:
        return f"{self.namespace}:cooldown:{name}:probe"

    def recent(self, name: str) -> str:
        return f"{self.namespace}:limit:{name}:recent"

    def working(self, name: str) -> str:
        return f"{self.namespace}:limit:{name}:working"

    def waiting(self, name: str) -> str:
        return f"{self.namespace}:limit:{name}:waiting"

    def asked(self, name: str) -> str:
        return f"{self.namespace}:limit:{name}:asked"

    def spent(self, name: str) -> str:
        return f"{self.namespace}:budget:{name}:spent"

    def reserved(self, name: str) -> str:
        return f"{self.namespace}:budget:{name}:reserved"

    def ledger(self, day: str) -> str:
        return f"{self.namespace}:ledger:{day}"

    def worker(self, worker_id: str) -> str:
        return f"{self.namespace}:worker:{worker_id}"

    def archive(self, archive_id: str) -> str:
        return f"{self.namespace}:archive:{archive_id}"

    def archiving(self, archive_id: str) -> str:
        return f"{self.namespace}:archiving:{archive_id}"

    def archives_at(self, place: str) -> str:
        return f"{self.namespace}:archives:at:{place}"

    def memory_owner(self, place: str) -> str:
        return f"{self.namespace}:memory_owner:{place}"

    def memory_requests(self, place: str) -> str:
        return f"{self.namespace}:memory_requests:{place}"

    def memory_wanted(self, place: str) -> str:
        return f"{self.namespace}:memory_wanted:{place}"

    def memory_reply(self, request_id: str) -> str:
        return f"{self.namespace}:memory_reply:{request_id}"

    def memory_sync(self, name: str) -> str:
        return f"{self.namespace}:memory_sync:{name}"

    def memory_note(self, session_id: str) -> str:
        return f"{self.namespace}:memory_note:{session_id}"

    def memory_vectors(self, model: str) -> str:
        return f"{self.namespace}:memory_vectors:{model}"

    def memory_vectors_used(self, model: str) -> str:
        return f"{self.namespace}:memory_vectors:{model}:used"

    def slots(self, lane: str) -> str:
        return f"{self.namespace}:lane:{lane}:slots"

    def line(self, lane: str) -> str:
        return f"{self.namespace}:lane:{lane}:line"

    def ticket(self, lane: str) -> str:
        return f"{self.namespace}:lane:{lane}:ticket"

    def broker_queue(self, lane: str) -> str:
        return f"{broker_prefix(self.namespace)}{lane}"

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

    def batches(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:batches"

    def children(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:children"

    def live(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:live"

    def waiters(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:waiters"

    def files(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:files"
