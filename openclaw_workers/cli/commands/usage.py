"""`ocw usage`: tokens and cost of model calls, from the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click

from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.output import WholeNumber, echo_json, json_option
from openclaw_workers.cli.render.text import cost_of_calls, span, table
from openclaw_workers.domain.ledger import Dimension
from openclaw_workers.store.llm.ledger import KEPT_DAYS

if TYPE_CHECKING:
    from collections.abc import Iterable


@click.command(
    epilog="""\b
Examples:
  ocw usage                                 the last seven days, by model
  ocw usage --by day --days 30
  ocw usage --by tree --days 1 --json
Days are UTC days. Failed calls and calls of workers that died count too, because they are billed.
"""
)
@click.option("--by", type=click.Choice(get_args(Dimension)), default="model", show_default=True, help="Group by this.")
@click.option(
    "--days", type=WholeNumber(1, KEPT_DAYS), default=7, show_default=True, help="How far back, today included."
)
@json_option
@pass_cli
def usage(cli: CliContext, by: str, days: int) -> None:
    """Show tokens and cost of model calls, by agent, session, model, day or tree."""
    answer = cli.backend.usage(by, days)
    sums = answer["usage"]
    if cli.json:
        echo_json(answer)
    elif sums:
        click.echo(_table(by, [*sums, answer["total"]] if len(sums) > 1 else sums))
    else:
        click.echo(f"no model calls in the last {days} day(s)")


def _table(by: str, sums: Iterable[dict[str, Any]]) -> str:
    head = (by.upper(), "CALLS", "FAILED", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST", "TIME")
    rows = [
        (each["name"], each["calls"], each["failed"], f"{each['input']:,}", f"{each['output']:,}")
        + (
            f"{each['cacheRead']:,}",
            f"{each['cacheWrite']:,}",
            cost_of_calls(each["cost"], each["calls"], each["unpriced"]),
            span(each["milliseconds"]),
        )
        for each in sums
    ]
    return table(head, rows, right=head[1:], drop=("TIME", "CACHE WRITE"), cut=head[:1])
