"""Commands that show and prune the cache of what takes minutes to build."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .base import JsonOption, app, console

if TYPE_CHECKING:
    from .. import cache

cache_app = typer.Typer(
    invoke_without_command=True,
    help="The cache of what takes minutes to build; all checkouts of a user share it.",
)
app.add_typer(cache_app, name="cache")


@cache_app.callback()
def show(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the entries of the cache with digest, size, and time of last use.

    All checkouts of a user share the cache. It is in the user's cache folder, unless
    ELEVATORLAB_CACHE names another folder.
    """
    if context.invoked_subcommand:
        return
    from rich.table import Table

    from .. import cache

    if as_json:
        _print_json(cache.entries())
        return
    table = Table("what", "digest", "MiB", "last used", "")
    for entry in cache.entries():
        used = datetime.fromtimestamp(entry.last_used_s).isoformat(" ", "minutes")
        size = f"{entry.size_bytes / 2**20:.1f}"
        table.add_row(entry.kind, entry.digest[:12], size, used, entry.damage())
    if table.row_count:
        console().print(table)
    print(f"entries: {table.row_count}, in {cache.ROOT}")


@cache_app.command()
def prune(
    everything: Annotated[bool, typer.Option("--all", help="remove all of it")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove entries that are damaged, incomplete, or unused for 30 days; with --all, all entries.

    It also removes what killed processes have left in the folder for temporary files.
    What a checkout has copied from the cache stays in its build folder.
    """
    from .. import cache, scratch

    scratch.sweep()
    sizes = {entry: entry.size_bytes for entry in cache.entries()}
    removed = cache.prune(everything)
    if as_json:
        print(json.dumps([{"kind": entry.kind, "digest": entry.digest} for entry in removed]))
        return
    for entry in removed:
        print(f"removed {entry.kind} {entry.digest[:12]}")
    freed_mib = sum(sizes.get(entry, 0) for entry in removed) / 2**20
    print(f"removed in all: {len(removed)}, {freed_mib:.1f} MiB")


def _print_json(entries: Iterable[cache.Entry]) -> None:
    shown: list[dict[str, Any]] = [
        {
            "kind": entry.kind,
            "digest": entry.digest,
            "size_bytes": entry.size_bytes,
            "last_used": datetime.fromtimestamp(entry.last_used_s).astimezone().isoformat(),
            "damage": entry.damage(),
        }
        for entry in entries
    ]
    print(json.dumps(shown, indent=1))
