"""What every command can ask for. Both implementations answer with the JSON that `--json` prints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from openclaw_workers.client.protocol import Steps, Update
    from openclaw_workers.domain.accepted import Answered, Queued, Rejected
    from openclaw_workers.domain.ids import MessageId, SessionKey
    from openclaw_workers.domain.messages import QueueMode
    from openclaw_workers.domain.session_row import SessionEntry
    from openclaw_workers.skills.install import Package

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What a message sets for its own turn only."""

    model: str | None = None
    system: str | None = None
    """Added to the system prompt."""
    thinking: str | None = None
    context_tokens: int | None = None
    timeout_seconds: int | None = None


NO_OPTIONS = TurnOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingText:
    """A message of the person at the terminal."""

    text: str
    session: SessionKey
    message_id: MessageId
    options: TurnOptions = NO_OPTIONS
    mode: QueueMode | None = None
    thread: str = ""
    files: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """A transcript for an export."""

    workspace: str
    """Of the session's agent."""
    lines: Sequence[str]
    """Entries as JSON."""
    unreadable: int
    """How many were left out."""


Progress = Callable[[str], Callable[[int, int], None]]
"""For an agent, a function that is called with the documents done and the documents in all."""


class Follower(Protocol):
    """Follows conversations."""

    def follow(self, steps: Steps[Any]) -> Iterator[Update]: ...

    def result(self, steps: Steps[T]) -> T: ...


class Backend(Protocol):
    """Every method raises `OpenClawError`, as the engine does."""

    @property
    def conversations(self) -> Follower: ...

    def close(self) -> None:
        """Close its own connections; those of the command line are shared."""

    def check(self) -> None:
        """Connect, so that what is missing shows before anything is sent."""

    def session_key(self, wanted: str, agent: str, thread: str) -> SessionKey:
        """The session to send to, whether it exists or not."""

    def send(self, message: OutgoingText) -> Queued | Rejected | Answered: ...

    def row(self, session: SessionKey) -> Json:
        """The fields of a session's row; empty if there is none."""

    def commands(self, agent: str) -> Json:
        """The slash commands of an agent's sessions."""

    def stop_turn(self, session: SessionKey) -> None:
        """Stop the session's current run and cancel what waits."""

    def existing_key(self, key: str) -> SessionKey:
        """The key of a session that exists, even if its row is damaged."""

    def status(self) -> Json: ...

    def damaged(self) -> Json: ...

    def sessions(self, limit: int, agent: str | None) -> Json: ...

    def session_trees(self, key: str | None) -> Json: ...

    def session(self, key: str) -> Json: ...

    def history(self, key: str, limit: int | None) -> tuple[list[Json], int]:
        """Transcript entries, and how many damaged ones were left out."""

    def label_session(self, key: str, label: str | None) -> Json: ...

    def reset_session(self, key: str) -> Json: ...

    def delete_session(self, key: str) -> Json: ...

    def runs(self, limit: int, session: str | None, state: str | None) -> Json: ...

    def run(self, run: str) -> Json: ...

    def some_runs(self, runs: Sequence[str]) -> list[Json]:
        """Those of these runs that are on record."""

    def trees(self, of: str | None, limit: int) -> Json:
        """The tree of a run, the trees of a session, or all active trees."""

    def stop_run(self, run: str) -> Json: ...

    def subagents(self, key: str | None, limit: int, *, live: bool) -> Json: ...

    def subagent(self, subagent: str) -> Json: ...

    def log(self, subagent: str, limit: int | None) -> list[Json]: ...

    def stop_subagent(self, subagent: str) -> Json: ...

    def retry_delivery(self, subagent: str) -> Json: ...

    def usage(self, by: str, days: int) -> Json: ...

    def keys(self) -> Json: ...

    def models(self) -> Json: ...

    def resume_keys(self, wanted: str) -> Json: ...

    def agents(self) -> Json: ...

    def plugins(self) -> Json: ...

    def plugin_check(self) -> Json: ...

    def mcp_status(self) -> Json: ...

    def outbox(self, limit: int, state: str | None, *, with_sent: bool) -> Json: ...

    def outgoing(self, message: str) -> Json: ...

    def retry_outgoing(self, message: str) -> Json: ...

    def drop_outgoing(self, message: str) -> Json: ...

    def pairings(self) -> Json: ...

    def questions(self) -> Json:
        """What waits for a person, and what was allowed for longer."""

    def decide(self, question: str, how: str) -> Json:
        """Allow or deny a command: once, always, for or deny. Without an id, the only one that waits."""

    def answer(self, question: str, text: str) -> Json: ...

    def revoke_approval(self, agent: str, what: str) -> Json: ...

    def approve(self, who: str, *, share_session: bool) -> Json: ...

    def revoke(self, who: str) -> Json: ...

    def channels(self) -> Json: ...

    def channel(self, account: str) -> Json: ...

    def check_channel(self, account: str, chat: str | None) -> Json:
        """What the channel says of an account; with `chat`, a message is sent there first."""

    def tokens(self) -> Json: ...

    def create_token(self, scope: str, *, name: str, agent: str | None, person: str | None) -> Json: ...

    def revoke_token(self, token: str) -> Json: ...

    def login_link(self, token: str) -> Json: ...

    def prompt(self, agent: str) -> Json:
        """The system prompt of an agent, in parts with their texts."""

    def export_rows(self, agent: str | None, session: str | None) -> tuple[list[SessionEntry], int]:
        """Rows of sessions, and how many cannot be read."""

    def export_transcript(self, row: SessionEntry) -> Transcript: ...

    def jobs(self) -> Json: ...

    def add_job(self, fields: dict[str, Any], job: str) -> Json:
        """Add a job with the fields of `JobDraft`; `job` is its id, or empty."""

    def change_job(self, job: str, fields: dict[str, Any]) -> Json: ...

    def remove_job(self, job: str) -> Json: ...

    def run_job(self, job: str) -> Json: ...

    def job_runs(self, job: str, limit: int) -> Json: ...

    def pause_job(self, job: str) -> Json: ...

    def resume_job(self, job: str) -> Json: ...

    def heartbeats(self) -> Json: ...

    def change_heartbeat(self, agent: str, verb: str) -> Json:
        """`verb` is run, pause or resume."""

    def memory_status(self, agent: str | None) -> Json: ...

    def memory_index(self, agent: str | None, *, force: bool, progress: Progress) -> Json: ...

    def memory_search(
        self, query: str, *, agent: str | None, session: str | None, limit: int, only_sessions: bool = False
    ) -> Json: ...

    def memory_files(self, agent: str | None) -> Json: ...

    def memory_lines(self, path: str, *, agent: str | None, first: int | None, count: int | None) -> Json: ...

    def memory_checks(self, agent: str | None) -> Json: ...

    def drain(self, name: str) -> Json: ...

    def undrain(self, name: str) -> Json: ...

    def tools(self, session: str, authority: str) -> Json:
        """The tools of the workers, and which of them a session has."""

    def tool(self, tool: str, session: str, authority: str) -> Json: ...

    def sandbox(self, session: str) -> Json:
        """Where the commands of a session run."""

    def sandboxes(self) -> Json: ...

    def prune_sandboxes(self, *, everything: bool) -> Json: ...

    def skills(self, agent: str | None, *, with_refused: bool) -> Json: ...

    def skill(self, name: str, agent: str | None) -> Json:
        """One skill with its text."""

    def skill_check(self, agent: str | None) -> Json: ...

    def new_skill(self, name: str, description: str, agent: str | None, *, shared: bool) -> Json: ...

    def add_skills(self, packages: Sequence[Package], agent: str | None, *, replace: bool) -> Json:
        """Add unpacked skills: for all agents, or into the workspace of one."""

    def begin_move(self, agent: str, to_host: str, *, with_files: bool) -> Json:
        """Begin to move an agent's files to another host."""

    def move_of(self, agent: str) -> Json:
        """The move of an agent's files that is under way."""

    def move_state(self, move: str) -> Json: ...

    def cancel_move(self, agent: str) -> Json: ...

    def machine(self) -> Json:
        """Room on the disk and the clock of the machine that answers."""

    def clean_up(self, *, is_dry: bool) -> Json:
        """Reset expired sessions, and remove unused and surplus ones."""

    def config_history(self) -> Json: ...

    def publish_config(self, file: Path | None, *, is_dry: bool) -> Json:
        """Publish a file of this machine; without one, the file that the installation uses."""

    def roll_back_config(self, version: int | None) -> Json: ...
