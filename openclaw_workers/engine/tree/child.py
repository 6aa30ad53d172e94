"""Builds a child from a spawn call: its session, its first message and its run record."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw_workers.agent.context.history import estimate_tokens, open_calls, reaches_back, seen_from
from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.resolve import AgentConfig, resolve_model, workspace_dir
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import BatchId, MessageId, RunId, SessionId, SessionKey
from openclaw_workers.domain.messages import Authority, InboundMessage, Route
from openclaw_workers.domain.sent_files import SentFile
from openclaw_workers.domain.session_key import subagent_key
from openclaw_workers.domain.transcript import AssistantEntry, Attachment, TranscriptEntry, UserEntry, dump_entry
from openclaw_workers.domain.tree import Cleanup, Role, SpawnMode, child_run_id, child_uuid, role_at
from openclaw_workers.engine.attachments import Store, attach
from openclaw_workers.engine.routing.row_fields import delivery_fields
from openclaw_workers.engine.routing.thread_bindings import thread_of
from openclaw_workers.engine.tree.child_files import files_dir
from openclaw_workers.engine.tree.lineage import TreeLimits, authority_of, group_of, limits_of, senders_of
from openclaw_workers.errors import ToolError
from openclaw_workers.store.inbox import stored_form
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import NewChild
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.sessions.port import SpawnCall
from openclaw_workers.tools.sessions.spawn_input import MAX_FILES, SpawnInput

DEFAULT_LABEL = "Background task"
MOST_FORKED_TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Parent:
    """A running turn that spawns."""

    taken: Taken
    agent: AgentConfig
    depth: int
    root: SessionKey
    workspace: Path
    """Where the turn works, and where its files are."""

    @property
    def session(self) -> SessionKey:
        return self.taken.lease.session

    @property
    def session_id(self) -> str:
        return self.taken.row.get("sessionId", "")

    @property
    def authority(self) -> Authority:
        """That of who asked for the turn; what it starts or writes elsewhere has no more."""
        return authority_of(self.taken.row, self.taken.authority)

    @property
    def limits(self) -> TreeLimits:
        """Of the whole tree, as far as this session may fill it."""
        return limits_of(self.taken.row, self.agent.subagents)

    @property
    def controls(self) -> bool:
        """Whether it may control sub-agents at all."""
        stored = self.taken.row.get("subagentControlScope")
        return (stored or _scope(role_at(self.depth, self.limits.depth))) != "none"


def build_child(
    parent: Parent,
    call: SpawnCall,
    agent: AgentConfig,
    batch: BatchId,
    *,
    settings: Settings,
    state_dir: Path,
    reader: Reader,
    store: Store | None,
) -> NewChild:
    """Derive everything from the call, so that repeating it means the same child (rule 3).

    `store` takes the files that come with its task; None if the child is registered already.

    Raises:
        ToolError: the workspace it asks for is not inside the agent's.
        StoreUnavailable: a file could not be stored.
    """
    args, run = call.args, parent.taken.lease.run
    mode = args.mode or (SpawnMode.SESSION if args.thread else SpawnMode.RUN)
    uuid = child_uuid(parent.session_id, run, call.call_id)
    place = thread_of(parent.taken.row, uuid) if mode is SpawnMode.SESSION else None
    session = subagent_key(agent.id, uuid)
    child_run, depth = child_run_id(parent.session_id, run, call.call_id), parent.depth + 1
    deepest = min(parent.limits.depth, agent.subagents.max_spawn_depth)
    role = role_at(depth, deepest)
    forked = _forked(parent, reader) if args.context == "fork" else []
    own_workspace = _workspace(parent, call, agent, workspace_dir(settings, agent.id, state_dir))
    sent = [SentFile(file.name, base64.b64decode(file.content)) for file in args.attachments]
    files = attach(sent, files_dir(session), owner=session, store=store, most=MAX_FILES)
    paths = [file.path for file in files]
    message = _task_message(
        parent,
        child_run,
        session,
        text=_first_message(parent, call, f"{depth} of {deepest}", role, paths),
        thread=place,
        files=files,
    )
    archive_ms = 0 if args.cleanup is Cleanup.DELETE else agent.subagents.archive_after_minutes * 60_000
    keeps = mode is SpawnMode.SESSION or (args.cleanup is Cleanup.KEEP and archive_ms == 0)
    return NewChild(
        run=child_run,
        session=session,
        session_id=SessionId(uuid),
        agent=agent.id,
        message_id=message.id,
        message=stored_form(message),
        row={
            **_lineage(parent, args, depth, role),
            **parent.limits.as_row(),
            "forkedFromParent": "true" if forked else "false",
            "archiveAfterMs": str(archive_ms),
            **({name: value for name, value in delivery_fields(place).items() if value} if place else {}),
            **own_workspace,
            **({"spawnedWithFiles": "true"} if files else {}),
            **_choices(parent, call, agent, settings),
        },
        record=_record(parent, args, depth, role, mode) | _timeout(call, agent),
        batch=batch,
        mode=args.announce,
        cleanup_ms=-1 if keeps else archive_ms,
        entries=forked,
        uploads=[file.upload for file in files if file.upload],
        thread=place.address() if place else "",
    )


def _task_message(
    parent: Parent, run: RunId, session: SessionKey, *, text: str, thread: Route | None, files: Sequence[Attachment]
) -> InboundMessage:
    """The message that starts a child's first turn."""
    return InboundMessage(
        id=MessageId(f"task-{run}"),
        session_key=session,
        text=text,
        # The answer of a child with a thread of its own goes there too.
        route=thread if thread and thread.channel else Route(channel="internal", to=parent.session),
        authority=parent.authority,
        kind="internal",
        metadata={"provenance": "task"},
        attachments=tuple(files),
    )


def _lineage(parent: Parent, args: SpawnInput, depth: int, role: Role) -> dict[str, str]:
    """The row's fields that say where the session stands in its tree, and what it inherits there."""
    asked = [json.loads(each).get("metadata") or {} for each in parent.taken.bound]
    group = group_of(parent.session, parent.taken.row, senders_of(asked))
    return {
        "spawnedBy": parent.session,
        "parentSessionId": parent.session_id,
        "createdByRunId": parent.taken.lease.run,
        "spawnDepth": str(depth),
        "subagentRole": role,
        "subagentControlScope": _scope(role),
        "rootSessionKey": parent.root,
        "sessionKind": "subagent",
        "chatType": "dm",
        "label": args.label or DEFAULT_LABEL,
        **({"deliver": "1"} if args.deliver else {}),
        "spawnAuthority": parent.authority,
        **({"toolGroup": group.stored()} if group else {}),
    }


def _scope(role: Role) -> str:
    return "none" if role is Role.LEAF else "children"


def _record(parent: Parent, args: SpawnInput, depth: int, role: Role, mode: SpawnMode) -> dict[str, str]:
    """The run's fields that are decided when it is spawned."""
    return {
        "label": args.label or DEFAULT_LABEL,
        "task": args.task,
        "depth": str(depth),
        "authority": parent.authority,
        "role": role,
        "controller_session_key": parent.session,
        "root_session_key": parent.root,
        "cleanup": Cleanup.KEEP if mode is SpawnMode.SESSION else args.cleanup,
        "spawn_mode": mode,
        "announce": args.announce,
        "deliver": str(int(args.deliver)),
        "wake_on_descendant_settle": str(int(args.wake_on_descendant_settle)),
        "metadata": json.dumps(args.metadata),
    }


def _timeout(call: SpawnCall, agent: AgentConfig) -> dict[str, str]:
    asked = call.args.run_timeout_seconds
    seconds = agent.subagents.run_timeout_seconds if asked is None else asked
    return {"timeout_ms": str(seconds * 1000)} if seconds else {}


def _choices(parent: Parent, call: SpawnCall, agent: AgentConfig, settings: Settings) -> dict[str, str]:
    """Model and thinking: by the call, by `subagents`, or as the parent's session has them if it is the same agent."""
    args, configured, row = call.args, agent.subagents, parent.taken.row
    same = agent.id == parent.agent.id
    fields: dict[str, str] = {}
    wanted = args.model or (configured.model.primary if configured.model else None)
    if wanted:
        provider, _, model = resolve_model(settings, wanted).partition("/")
        fields = {"providerOverride": provider, "modelOverride": model}
    elif same:
        fields = {name: row[name] for name in ("providerOverride", "modelOverride") if name in row}
    thinking = args.thinking or configured.thinking or (row.get("thinkingLevel") if same else None)
    return {**fields, **({"thinkingLevel": thinking} if thinking else {})}


def _workspace(parent: Parent, call: SpawnCall, agent: AgentConfig, default: Path) -> dict[str, str]:
    """The parent's own for the same agent, else the target agent's; a directory inside it if one is named.

    It is stored as a path below the agent's workspace, which is another directory on each host.
    """
    inherited = parent.taken.row.get("spawnedWorkspaceDir", "") if agent.id == parent.agent.id else ""
    base = default / inherited
    wanted = call.args.workspace_dir
    if wanted is None:
        return {"spawnedWorkspaceDir": _below(default, base)} if agent.id == parent.agent.id else {}
    try:
        inside = (base / Path(wanted).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # an unknown home, a null byte, a loop of links
        raise ToolError(f"workspaceDir {wanted[:80]!r} cannot be used: {error}") from error
    if not inside.is_relative_to(base.resolve()):
        raise ToolError(f"workspaceDir {wanted!r} is not inside the workspace {base}")
    return {"spawnedWorkspaceDir": _below(default.resolve(), inside)}


def _below(workspace: Path, directory: Path) -> str:
    return str(directory.relative_to(workspace)) if directory.is_relative_to(workspace) else str(directory)


def _forked(parent: Parent, reader: Reader) -> list[str]:
    """The conversation as the model sees it, without the message that spawns; nothing when that is too long."""
    entries: list[TranscriptEntry] = []
    for page in reader.pages_back(parent.session):
        entries = [*page, *entries]
        if reaches_back(entries):
            break
        # Pages may reach behind what the model sees, so the exact limit is checked below.
        if sum(map(estimate_tokens, entries)) > 2 * MOST_FORKED_TOKENS:
            return []
    entries = entries[seen_from(entries) :]
    # A child must not find the open call that spawns it, nor be asked to go on after an answer.
    while entries and (open_calls(entries) or isinstance(entries[-1], AssistantEntry)):
        entries = entries[:-1]
    if sum(map(estimate_tokens, entries)) > MOST_FORKED_TOKENS:
        return []
    return [dump_entry(_with_absolute_paths(entry, parent.workspace)) for entry in entries]


def _with_absolute_paths(entry: TranscriptEntry, workspace: Path) -> TranscriptEntry:
    """An entry as a session with another workspace can read it: files that were sent lie in that of the parent."""
    if not isinstance(entry, UserEntry) or not entry.attachments:
        return entry
    root = os.path.realpath(workspace)
    files = [
        Attachment(name=file.name, mime_type=file.mime_type, path=os.path.join(root, file.path))
        for file in entry.attachments
    ]
    return entry.model_copy(update={"attachments": files})


def _first_message(parent: Parent, call: SpawnCall, depth: str, role: Role, files: list[str]) -> str:
    of = texts.SUBAGENT_PARENT_MAIN if parent.depth == 0 else texts.SUBAGENT_PARENT_OTHER
    lines = [texts.SUBAGENT_CONTEXT.format(depth=depth, parent=of, session=parent.session)]
    if role is Role.LEAF:
        lines.append(texts.SUBAGENT_IS_LEAF)
    if files:
        lines.append(texts.SUBAGENT_FILES.format(files=", ".join(files)))
    return "\n".join([*lines, "", texts.SUBAGENT_TASK_HEADING, call.args.task])
