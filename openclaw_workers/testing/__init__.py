"""For tests of plugins: run a tool, or a whole turn, without Redis, workers or a model.

`run_tool` calls one tool as a worker would. `run_turn` runs a turn of the real engine on an in-memory Redis, with
`offline/script` as the model, which makes the calls that the test names. Needs `openclaw-workers[testing]`.
"""

from openclaw_workers.testing.engine import Engine, Turn, call, run_turn
from openclaw_workers.testing.tool_calls import ToolResult, run_tool

__all__ = ["Engine", "ToolResult", "Turn", "call", "run_tool", "run_turn"]
