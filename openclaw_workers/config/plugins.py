"""Python packages that add tools."""

from __future__ import annotations

from pydantic import Field, StrictBool, StrictInt

from openclaw_workers.config.base import WEEK_SECONDS, Bytes, Names, Section, UserPath


class PluginsSettings(Section):
    enabled: StrictBool = True
    """Whether workers load plugins at all."""

    modules: Names = ()
    """Python modules to load as plugins, besides those that installed packages announce by their entry point."""

    paths: tuple[UserPath, ...] = ()
    """Directories in which workers look for these modules, besides the installed packages."""

    deny: Names = ()
    """Plugins that are not loaded, by name."""

    timeout_seconds: StrictInt = Field(default=60, ge=1, le=WEEK_SECONDS)
    """Seconds a call of a plugin's tool may take if the tool sets no limit; never more than
    engine.toolTimeoutSeconds."""

    max_output: Bytes = Field(default=50 << 10, ge=1024, le=1 << 20)
    """Size of a plugin tool's answer at most if the tool sets no limit; the middle of a longer one is left out."""
