"""The `apply_patch` tool: add, change, move and delete several files at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field

from openclaw_workers.errors import ToolError
from openclaw_workers.tools.base import Effect, NonBlankText, Tool, ToolContext, ToolInput
from openclaw_workers.tools.files.changes import one_change_at_a_time, status_of
from openclaw_workers.tools.files.patch_format import AddFile, DeleteFile, FileChange, UpdateFile, parse_patch
from openclaw_workers.tools.files.patch_lines import apply_chunks
from openclaw_workers.tools.files.patched_files import PatchedFile, write_all
from openclaw_workers.tools.files.paths import WorkspacePath, locate


class ApplyPatchInput(ToolInput):
    input: Annotated[NonBlankText, Field(validation_alias=AliasChoices("input", "patch"))]
    """The patch, from *** Begin Patch to *** End Patch."""


class ApplyPatch(Tool[ApplyPatchInput]):
    """Apply a patch to several files of the workspace; if one change does not fit, none is made. The patch is

    *** Begin Patch, then for each file one of *** Add File: path (followed by + lines), *** Delete File: path, or
    *** Update File: path (optionally *** Move to: path, then changes), then *** End Patch. A change is an optional line
    @@ with a line of the file after which to look, then lines that begin with a space (stays), - (goes) or + (comes);
    show about three unchanged lines around each change. *** End of File says that they are the last lines.
    """

    name = "apply_patch"
    effect = Effect.ONCE
    input_type = ApplyPatchInput

    def run(self, args: ApplyPatchInput, ctx: ToolContext) -> str:
        changes = parse_patch(args.input)
        plan = _Plan(ctx.workspace)
        with one_change_at_a_time(locate(ctx.workspace, ".").root, ctx.cancel):
            for change in changes:
                ctx.cancel.check()
                plan.add(change)
            write_all(plan.files)
        return "\n".join(["Applied:", *plan.done])


class _Plan:
    """What a patch does, worked out before anything is written."""

    def __init__(self, workspace: Path) -> None:
        self._workspace = workspace
        self._files: dict[tuple[str, ...], PatchedFile] = {}
        self.done: list[str] = []

    @property
    def files(self) -> list[PatchedFile]:
        return list(self._files.values())

    def add(self, change: FileChange) -> None:
        match change:
            case AddFile():
                self._create(change.path, "".join(f"{line}\n" for line in change.lines), None)
                self.done.append(f"A {change.path}")
            case DeleteFile():
                self._delete(change.path)
                self.done.append(f"D {change.path}")
            case UpdateFile():
                self._update(change)

    def _update(self, change: UpdateFile) -> None:
        place = locate(self._workspace, change.path)
        # A patch may change a file twice; the second part sees what the first one leaves.
        file = self._known(place) or self._files.setdefault(place.parts, PatchedFile.read(place))
        assert file.after is not None
        text = apply_chunks(file.after, change.chunks, place.shown)
        if change.move_to is None:
            file.after = text
            self.done.append(f"M {change.path}")
        else:
            file.after = None
            self._create(change.move_to, text, file)
            self.done.append(f"R {change.path} -> {change.move_to}")

    def _delete(self, path: str) -> None:
        """It need not be text, and a link is not followed."""
        place = locate(self._workspace, path, follow_last=False)
        file = self._known(place) or self._files.setdefault(place.parts, PatchedFile.found(place))
        file.after = None

    def _known(self, place: WorkspacePath) -> PatchedFile | None:
        """The file as earlier parts of the patch leave it; None if they do not touch it."""
        file = self._files.get(place.parts)
        if file is not None and file.after is None:
            raise ToolError(f"{place.shown} is deleted or moved by an earlier part of the patch")
        return file

    def _create(self, path: str, text: str, like: PatchedFile | None) -> None:
        place = locate(self._workspace, path)
        if not place.parts or path.endswith("/"):
            raise ToolError(f"{path!r} is a directory; name the file to write in it")
        file = self._files.get(place.parts)
        if file is None:
            file = self._files.setdefault(place.parts, PatchedFile(place))
            taken = status_of(place) is not None
        else:
            taken = file.after is not None
        if taken:
            raise ToolError(f"{place.shown} already exists; use *** Update File, or delete it first")
        file.after = text
        if like is not None:
            # A moved file keeps its encoding, its line ends and its permissions.
            file.content, file.mode = like.content, like.mode
