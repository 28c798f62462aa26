"""`plait definitions`: the kinds of job that workers have made known."""

from plait.cli.command import Invocation, command, new_group
from plait.cli.output import show_json, show_table, span

group = new_group("Show the kinds of job that workers have made known.", "definitions", lists=True)


async def list_(cli: Invocation) -> None:
    """Show the kinds of job that workers have made known, and their limits."""
    async with cli.store() as store:
        rows = await store.definitions.list_definitions()
    if cli.json:
        show_json(rows)
        return
    show_table(
        ("definition", "queue", "priority", "attempts", "timeout", "max running", "rate", "active"),
        [
            (
                row.name,
                row.queue,
                row.priority,
                row.max_attempts,
                span(row.timeout_s),
                row.max_running,
                f"{row.rate_count}/{span(row.rate_period_s)}" if row.rate_count and row.rate_period_s else None,
                row.active,
            )
            for row in rows
        ],
        optional=("priority", "active", "rate"),
        empty="No definitions yet. A worker makes its app's jobs known: plait worker APP",
    )


group.callback()(command(list_))
group.command("list", short_help="Show the kinds of job.")(command(list_))
