"""The environment of a command: nothing of the worker's secrets, and nothing that changes which programs run."""

from __future__ import annotations

import re
from collections.abc import Mapping

from openclaw_workers.child_processes import clean_environment
from openclaw_workers.errors import ToolError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# With these, a command that looks harmless runs something else.
_REFUSED = {
    *("PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "CDPATH", "SHELL", "HOME"),
    *("NODE_OPTIONS", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB"),
    *("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER", "PAGER", "EDITOR", "VISUAL", "JAVA_TOOL_OPTIONS"),
}
_REFUSED_PREFIXES = ("LD_", "DYLD_", "BASH_FUNC_", "GCONV_")


def command_environment(wanted: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The environment on the host. `wanted`: what a model asks for; `given`: what the run has.

    Raises:
        ToolError: a name is impossible, or changes which programs run.
    """
    # What the run has comes last, so that a model cannot replace it.
    return {**clean_environment(), **check_variables(wanted), **given}


def check_variables(wanted: Mapping[str, str]) -> dict[str, str]:
    """The variables that a model asks for.

    Raises:
        ToolError: a name is impossible, or changes which programs run.
    """
    for name, value in wanted.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise ToolError(f"env: {name!r} cannot be set; expected a name of letters, digits and _, and no NUL")
        if name in _REFUSED or name.startswith(_REFUSED_PREFIXES):
            raise ToolError(f"env: {name} cannot be set, because it changes which programs run; name them by path")
    return dict(wanted)
