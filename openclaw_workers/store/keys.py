"""Every Redis key this project reads or writes. Nothing else spells one.

    key                            type    expires          holds
    -----------------------------  ------  ---------------  --------------------------------------------------
    {ns}:memory                    hash    10 s             how full Redis is, and whether it takes new work
    {ns}:due                       zset    never            `turn|session`, `archive|id`, `batch|id`, `relay|id`,
                                                            `cleanup|session`, `lost_call|id`, `stop_children|session`,
                                                            `stop_children|run session`, `forget|batch session`,
                                                            `memory_note|session id`,
                                                            `job|id`, `firing|job time`, `maintenance|sessions`
                                                            -> when to look
    {ns}:due:before_step           zset    when shifted     what was due when Redis' clock stepped back
    {ns}:stop_orders               hash    when done        session key, or `run session` for what one run of it spawned
                                                            -> which children to stop, and why (JSON)
    {ns}:relays                    hash    when passed on   message id -> an answer for another session (JSON)
    {ns}:lost_calls                hash    when recorded    `run:fence` -> a model call whose run was taken away (JSON)
    {ns}:dedupe:{id}               hash    24 h             a message that its channel may deliver again: where its
                                                            receipt is, or what the command that it is led to
    {ns}:threads                   hash    with session     `channel|account|to|thread` -> the session bound to it
    {ns}:pairing:admitted          hash    when revoked     person, group or member of a group -> who it is (JSON)
    {ns}:pairing:pending           hash    1 hour each      person -> pairing code and who it is (JSON); 3 per account
    {ns}:pairing:refusals          hash    newest 200       who was refused -> why and how often (JSON)
    {ns}:pairing:refused           zset    newest 200       who was refused -> when last (ms)
    {ns}:channel:{id}              hash    never            an account of a channel: who receives for it, the offset,
                                                            when and what last came or failed
    {ns}:channel:{id}:received     hash    when handled     number of an update -> the update (JSON)
    {ns}:channel:{id}:refused      list    newest 200       updates that could not be accepted (JSON)
    {ns}:channel:{id}:blocked      hash    until it writes  chat that takes nothing from us -> since when and why (JSON)
    {ns}:channel:{id}:progress     hash    when removed     session -> the message in its chat that shows progress
    {ns}:topic:{id}                hash    30 days          what became of a thread that a session waited for
    {ns}:batch:{id}                hash    7 days after     a batch of children: parent, members, state; after it is
                                                            announced or given up, and the runs of it with it
    {ns}:batch:{id}:open           set     when settled     its runs that have not settled
    {ns}:tree:{id}                 zset    when settled     unsettled runs below root session id -> spawned at (ms)
    {ns}:sweep                     hash    never            last sweep, end of grace, last step back of the clock, the
                                                            item that a sweeper waits for, last prune (ms)
    {ns}:sessions                  zset    with session     session key -> last update (ms)
    {ns}:label:{id}                zset    with session     by label: its sessions -> since when (ms)
    {ns}:running                   zset    with turn        session key -> when its run was taken (ms)
    {ns}:runs                      zset    sweep prunes     run id -> queued at (ms)
    {ns}:run:{id}                  hash    7 days after end the run record; a child's goes with its batch
    {ns}:run:{id}:texts            hash    1 hour after end the answer and the partial result; a child's are kept until
                                                            the announce
    {ns}:workers                   zset    tick prunes      worker id -> last tick (ms)
    {ns}:worker:{id}               hash    1 day            host, pid, lane, concurrency, drain
    {ns}:drained                   hash    when undrained   host or worker that takes no turns -> since when (ms)
    {ns}:metrics:{id}              hash    7 days           by host: series (JSON) -> what its processes counted
    {ns}:worker:{id}:report        hash    2 minutes        its plugins and MCP servers (JSON)
    {ns}:config                    hash    never            the configuration in force: number, id, digest, document
                                                            (JSON), last number given
    {ns}:config:versions           hash    newest 100       number -> a published configuration (JSON)
    {ns}:secrets_held              zset    tick prunes      variable -> when a worker that has it last ticked (ms)
    {ns}:suspects                  hash    sweep prunes     worker id -> the one suspect run it carries
    {ns}:ingresses                 zset    when read        ingress id -> last heartbeat (ms)
    {ns}:ingress:{id}              hash    1 minute         host, pid, url
    {ns}:tokens                    hash    when revoked     token id -> scope, agent, person, digest (JSON)
    {ns}:token_uses                hash    when revoked     token id -> last use (ms)
    {ns}:login:{id}                string  15 minutes       by digest of a login code: the token it logs in with
    {ns}:browser:{id}              string  30 days          by digest of a cookie: the token of the browser session
    {ns}:places                    hash    never            agent -> id of the place with its files, or the move of them
    {ns}:places:seen               zset    never            place -> when a worker that takes turns last saw it (ms)
    {ns}:places:apart              zset    tick prunes      agent -> when a live worker last did not see its place (ms)
    {ns}:places:where              hash    never            place -> host and directory, for people
    {ns}:places:waits:{id}         set     when seen        by place: sessions that wait until a worker sees it
    {ns}:moves                     hash    when ended       agent -> move of its files that is under way
    {ns}:move:{id}                 hash    30 days          a move: from where, to where, how far, how it ended
    {ns}:move:{id}:lease           string  with lease       token of the process that fetches the files
    {ns}:move:{id}:requests        list    when taken       questions to a host that has the files (JSON)
    {ns}:move_reply:{id}           list    1 minute         the answer to one question: a list of files, or a piece
    {ns}:lane:{lane}:slots         zset    with lease       session key -> when its slot ends (ms)
    {ns}:lane:{lane}:line          zset    with turn        `run session` -> ticket
    {ns}:lane:{lane}:ticket        string  never            last ticket given
    {ns}:wake_messages             string  never            templates of Celery's messages, kept by the last worker that
                                                            started, for clients without Celery (JSON)
    {ns}:celery:{lane}             list    Celery's own     wake-ups that no worker has fetched; only counted here;
                                                            `lane@place`: for workers that see the place
    {ns}:skill_commands            hash    never            agent -> slash commands that its skills add (JSON)
    {ns}:cooldown:{id}             hash    7 days           cooldowns of a provider's key, by reason
    {ns}:cooldown:{id}:probe       string  30 s             somebody tries a key in its cooldown
    {ns}:limit:{id}:recent         zset    1 hour           calls of the last minute -> when they began (ms)
    {ns}:limit:{id}:working        zset    1 hour           runs that are calling -> when their place ends (ms)
    {ns}:limit:{id}:waiting        zset    1 hour           runs that are held up -> when they came
    {ns}:limit:{id}:asked          hash    1 hour           when each of them last asked, and about which call
    {ns}:budget:{id}:spent         hash    90 days          tokens, cost, calls, seconds; a tree's for 2 days
    {ns}:budget:{id}:reserved      hash    2 days           run -> what its call may cost (JSON)
    {ns}:budget:{id}:ends          zset    2 days           run -> when its reservation ends (ms)
    {ns}:budget:{id}:sums          hash    2 days           sums of the reservations
    {ns}:ledger:{id}               hash    90 days          a day's model calls: call id -> what it took (JSON)
    {ns}:archive:{id}              list    when written     by session id: a transcript cut off by reset or deletion,
                                                            and results that came too late for it
    {ns}:archives                  hash    when written     session id -> whose transcript it is (JSON)
    {ns}:archiving:{id}            hash    30 days          by session id: who writes the archive, where, how far
    {ns}:archives:at:{id}          set     when written     due items of archives that wait for a writer at one place
    {ns}:archive_places            hash    never            state directory that has archives -> host and directory, for
                                                            people
    {ns}:place_owner:{id}          string  with lease       by state directory: token of the process that answers for it
    {ns}:place_requests:{id}       list    when taken       questions to that process (JSON)
    {ns}:place_reply:{id}          list    1 minute         the answer to one question, and progress before it (JSON)
    {ns}:memory_wanted:{id}        set     when taken       agents whose memory may have changed
    {ns}:memory_sync:{id}          string  with lease       who brings one agent's part of a server's index up to date
    {ns}:memory_note:{id}          hash    30 days          by session id: a conversation that is to be saved to memory
    {ns}:memory_vectors:{id}       hash    newest 10,000    by model: hash of a text -> its embedding
    {ns}:memory_vectors:{id}:used  zset    newest 10,000    hash of a text -> when its embedding was last used
    {ns}:upload:{id}               list    when written     a file for an agent, in chunks (base64); 24 h at most
    {ns}:outbox:new                stream  when sorted      messages to chats that are not sorted by route yet
    {ns}:outbox:entry:{id}         hash    24 h after sent  a message to a chat: message (JSON), state, address, parts
                                                            (how many), next (part to send), attempts, `part 0` …
                                                            (how each ended, JSON); 30 days if unknown or failed
    {ns}:outbox:parts:{id}         list    with entry       its rendered parts (JSON)
    {ns}:outbox:file:{id}          list    when sent        a file to send, in chunks (base64); 1 hour without a message
    {ns}:outbox:route:{id}         list    when sent        by `channel|account|to|thread`: ids of the messages that
                                                            wait for one route, oldest first
    {ns}:outbox:ready:{id}         zset    when sent        by `channel|account`: routes with messages -> when a
                                                            sender may claim them (ms): a lease or pause ends then
    {ns}:outbox:owners             hash    when sent        route -> token of the sender that holds it
    {ns}:outbox:waiting            zset    when sent        messages that wait -> since when (ms)
    {ns}:outbox:sent               zset    24 h             messages that were sent or dropped -> when (ms)
    {ns}:outbox:kept               zset    30 days          messages that are unknown or failed -> since when (ms)
    {ns}:outbox:senders            zset    never            `channel|account` -> when a sender last looked (ms)
    {ns}:jobs                      zset    when removed     scheduled job -> when it was made (ms)
    {ns}:job:{id}                  hash    when removed     job (JSON), next_at, paused, failures, retries, last_at …
    {ns}:job:{id}:firings          hash    when ended       scheduled time (ms) -> firing that has not ended (JSON)
    {ns}:job:{id}:log              list    7 days           run log (JSON), newest first, at most `cron.runLogEntries`
    {ns}:questions                 zset    when answered    open questions to people -> when they expire (ms)
    {ns}:question:{id}             hash    1 day after      a question: kind, text, choices, command …, state, answer
    {ns}:approved:{id}             hash    when revoked     by agent: command pattern -> who allowed it always (JSON)
    {ns}:approved_operations       hash    when over        digest of a command, directory and place -> until when, and
                                                            who allowed it (JSON)
    {ns}:maintenance               hash    never            how far the walk over all sessions is, how the last ended
    {ns}:maintenance:files:{id}    string  10 minutes       somebody looks for outdated archives at a place
    {ns}:quarantine                list    newest 1,000     records that could not be read (JSON)
    {ns}:quarantine:times          zset    newest 1,000     digest of such a note -> when it was first made (ms)
    {ns}:s:{key}:row               hash    with session     SessionEntry, a field per attribute
    {ns}:s:{key}:ctl               hash    with session     engine state: state, run, lease, fence, seq, step …
    {ns}:s:{key}:inbox             zset    with session     waiting message (JSON) -> sequence number
    {ns}:s:{key}:bound             zset    with turn        messages the current run answers -> sequence number
    {ns}:s:{key}:receipts          hash    newest 2,000     message id -> how it stands (JSON); all that wait
    {ns}:s:{key}:receipts:settled  zset    newest 2,000     message that is over -> since when (ms)
    {ns}:s:{key}:log               list    with session     transcript entries (JSON), oldest first
    {ns}:s:{key}:events            stream  1 hour           what happened, for viewers; the newest 2,000
    {ns}:s:{key}:batches           zset    with batch       batches it spawned that are not announced -> spawned at (ms)
    {ns}:s:{key}:children          zset    newest 1,000     runs it spawned -> the order of spawning
    {ns}:s:{key}:spawned           zset    with child       sessions it spawned -> when (ms)
    {ns}:s:{key}:live              zset    when settled     those of them that have not settled
    {ns}:s:{key}:waiters           hash    when answered    message id -> session whose run waits for the answer
    {ns}:s:{key}:asking            hash    when answered    question id -> the session itself, whose run waits
    {ns}:s:{key}:system_events     list    when seen        events for its next turn (JSON), oldest first
    {ns}:s:{key}:event_keys        zset    1 day            keys of events it has had -> when (ms)
    {ns}:s:{key}:context           zset    1 day            messages of a group that the bot was not asked about (JSON)
                                                            -> their order

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
JOB = "job|"
FIRING = "firing|"
MAINTENANCE = "maintenance|"

TEXTS = ":texts"
"""Ends the key of a run's texts; scripts derive it from the key of the record (`texts_key` in lib/runs.lua)."""
SETTLED = ":settled"
"""Ends the key of the index of receipts; scripts derive it from theirs (`settled_key` in lib/messages.lua)."""


def queue_name(lane: str, place: str = "") -> str:
    """What Celery calls the queue of a lane, or that of its workers which see a place."""
    return f"{lane}@{place}" if place else lane


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
    def config(self) -> str:
        return f"{self.namespace}:config"

    @property
    def config_versions(self) -> str:
        return f"{self.namespace}:config:versions"

    @property
    def secrets_held(self) -> str:
        return f"{self.namespace}:secrets_held"

    @property
    def due(self) -> str:
        return f"{self.namespace}:due"

    @property
    def jobs(self) -> str:
        return f"{self.namespace}:jobs"

    def job(self, job_id: str) -> str:
        return f"{self.namespace}:job:{job_id}"

    def job_firings(self, job_id: str) -> str:
        return f"{self.namespace}:job:{job_id}:firings"

    def job_log(self, job_id: str) -> str:
        return f"{self.namespace}:job:{job_id}:log"

    @property
    def maintenance(self) -> str:
        return f"{self.namespace}:maintenance"

    def maintenance_files(self, place: str) -> str:
        return f"{self.namespace}:maintenance:files:{place}"

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

    def label(self, label: str) -> str:
        return f"{self.namespace}:label:{label}"

    @property
    def running(self) -> str:
        return f"{self.namespace}:running"

    @property
    def runs(self) -> str:
        return f"{self.namespace}:runs"

    @property
    def workers(self) -> str:
        return f"{self.namespace}:workers"

    def metrics(self, host: str) -> str:
        return f"{self.namespace}:metrics:{host}"

    @property
    def drained(self) -> str:
        return f"{self.namespace}:drained"

    @property
    def places(self) -> str:
        return f"{self.namespace}:places"

    @property
    def places_seen(self) -> str:
        return f"{self.namespace}:places:seen"

    @property
    def places_apart(self) -> str:
        return f"{self.namespace}:places:apart"

    @property
    def places_where(self) -> str:
        return f"{self.namespace}:places:where"

    def place_waits(self, place: str) -> str:
        return f"{self.namespace}:places:waits:{place}"

    @property
    def moves(self) -> str:
        return f"{self.namespace}:moves"

    def move(self, move_id: str) -> str:
        return f"{self.namespace}:move:{move_id}"

    def move_lease(self, move_id: str) -> str:
        return f"{self.namespace}:move:{move_id}:lease"

    def move_requests(self, move_id: str) -> str:
        return f"{self.namespace}:move:{move_id}:requests"

    def move_reply(self, request_id: str) -> str:
        return f"{self.namespace}:move_reply:{request_id}"

    @property
    def suspects(self) -> str:
        return f"{self.namespace}:suspects"

    @property
    def ingresses(self) -> str:
        return f"{self.namespace}:ingresses"

    def ingress(self, ingress_id: str) -> str:
        return f"{self.namespace}:ingress:{ingress_id}"

    @property
    def wake_messages(self) -> str:
        return f"{self.namespace}:wake_messages"

    @property
    def skill_commands(self) -> str:
        return f"{self.namespace}:skill_commands"

    @property
    def tokens(self) -> str:
        return f"{self.namespace}:tokens"

    @property
    def token_uses(self) -> str:
        return f"{self.namespace}:token_uses"

    def login(self, code_digest: str) -> str:
        return f"{self.namespace}:login:{code_digest}"

    def browser(self, cookie_digest: str) -> str:
        return f"{self.namespace}:browser:{cookie_digest}"

    @property
    def archives(self) -> str:
        return f"{self.namespace}:archives"

    @property
    def archive_places(self) -> str:
        return f"{self.namespace}:archive_places"

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

    @property
    def admitted(self) -> str:
        return f"{self.namespace}:pairing:admitted"

    @property
    def pending(self) -> str:
        return f"{self.namespace}:pairing:pending"

    @property
    def refusals(self) -> str:
        return f"{self.namespace}:pairing:refusals"

    @property
    def refused(self) -> str:
        return f"{self.namespace}:pairing:refused"

    @property
    def outgoing(self) -> str:
        return f"{self.namespace}:outbox:new"

    def outbox_entry(self, name: str) -> str:
        return f"{self.namespace}:outbox:entry:{name}"

    def outbox_parts(self, name: str) -> str:
        return f"{self.namespace}:outbox:parts:{name}"

    def outbox_file(self, name: str) -> str:
        return f"{self.namespace}:outbox:file:{name}"

    def outbox_route(self, name: str) -> str:
        return f"{self.namespace}:outbox:route:{name}"

    def outbox_ready(self, name: str) -> str:
        return f"{self.namespace}:outbox:ready:{name}"

    @property
    def outbox_owners(self) -> str:
        return f"{self.namespace}:outbox:owners"

    @property
    def outbox_waiting(self) -> str:
        return f"{self.namespace}:outbox:waiting"

    @property
    def outbox_sent(self) -> str:
        return f"{self.namespace}:outbox:sent"

    @property
    def outbox_kept(self) -> str:
        return f"{self.namespace}:outbox:kept"

    @property
    def outbox_senders(self) -> str:
        return f"{self.namespace}:outbox:senders"

    def dedupe(self, delivery: str) -> str:
        return f"{self.namespace}:dedupe:{delivery}"

    def channel(self, account: str) -> str:
        return f"{self.namespace}:channel:{account}"

    def received(self, account: str) -> str:
        return f"{self.namespace}:channel:{account}:received"

    def refused_updates(self, account: str) -> str:
        return f"{self.namespace}:channel:{account}:refused"

    def blocked_chats(self, account: str) -> str:
        return f"{self.namespace}:channel:{account}:blocked"

    def channel_progress(self, account: str) -> str:
        return f"{self.namespace}:channel:{account}:progress"

    def topic(self, address: str) -> str:
        return f"{self.namespace}:topic:{address}"

    def batch(self, batch_id: str) -> str:
        return f"{self.namespace}:batch:{batch_id}"

    def open(self, batch_id: str) -> str:
        return f"{self.namespace}:batch:{batch_id}:open"

    def tree(self, root: str) -> str:
        return f"{self.namespace}:tree:{root}"

    def run(self, run_id: str) -> str:
        return f"{self.namespace}:run:{run_id}"

    def run_texts(self, run_id: str) -> str:
        return f"{self.run(run_id)}{TEXTS}"

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

    def reserved_ends(self, name: str) -> str:
        return f"{self.namespace}:budget:{name}:ends"

    def reserved_sums(self, name: str) -> str:
        return f"{self.namespace}:budget:{name}:sums"

    def budget(self, name: str) -> tuple[str, str, str, str]:
        """The keys of one budget, in the order in which scripts take them."""
        return self.spent(name), self.reserved(name), self.reserved_ends(name), self.reserved_sums(name)

    def ledger(self, day: str) -> str:
        return f"{self.namespace}:ledger:{day}"

    def worker(self, worker_id: str) -> str:
        return f"{self.namespace}:worker:{worker_id}"

    def worker_report(self, worker_id: str) -> str:
        return f"{self.namespace}:worker:{worker_id}:report"

    def archive(self, archive_id: str) -> str:
        return f"{self.namespace}:archive:{archive_id}"

    def archiving(self, archive_id: str) -> str:
        return f"{self.namespace}:archiving:{archive_id}"

    def archives_at(self, place: str) -> str:
        return f"{self.namespace}:archives:at:{place}"

    def place_owner(self, place: str) -> str:
        return f"{self.namespace}:place_owner:{place}"

    def place_requests(self, place: str) -> str:
        return f"{self.namespace}:place_requests:{place}"

    def place_reply(self, request_id: str) -> str:
        return f"{self.namespace}:place_reply:{request_id}"

    def memory_wanted(self, place: str) -> str:
        return f"{self.namespace}:memory_wanted:{place}"

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
        """The queue of a lane, or a queue by the name that Celery gives it."""
        # Scheduled turns have slots of their own, but the workers of the lane `subagent` run them.
        return f"{broker_prefix(self.namespace)}{'subagent' if lane == 'cron' else lane}"

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

    def settled_receipts(self, session: str) -> str:
        return f"{self.receipts(session)}{SETTLED}"

    def log(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:log"

    def events(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:events"

    def batches(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:batches"

    def children(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:children"

    def spawned(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:spawned"

    def live(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:live"

    def waiters(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:waiters"

    def asking(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:asking"

    @property
    def questions(self) -> str:
        return f"{self.namespace}:questions"

    def question(self, question_id: str) -> str:
        return f"{self.namespace}:question:{question_id}"

    def approved(self, agent_id: str) -> str:
        return f"{self.namespace}:approved:{agent_id}"

    @property
    def approved_operations(self) -> str:
        return f"{self.namespace}:approved_operations"

    def system_events(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:system_events"

    def event_keys(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:event_keys"

    def upload(self, upload_id: str) -> str:
        return f"{self.namespace}:upload:{upload_id}"

    def context(self, session: str) -> str:
        return f"{self.namespace}:s:{session}:context"
