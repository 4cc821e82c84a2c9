"""Commands that show and prune the cache of what takes minutes to build."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .base import JsonOption, app, console

if TYPE_CHECKING:
    from .. import cache

cache_app = typer.Typer(
    invoke_without_command=True,
    help="The user's cache of what takes minutes to build.",
)
app.add_typer(cache_app, name="cache")


@cache_app.callback()
def show(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="a row for each entry")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what the cache has, kind by kind, with size and time of last use.

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
    found = list(cache.entries())
    table = Table("what", "digest" if everything else "entries", "MiB", "last used", "")
    for kind, group in groupby(found, key=lambda entry: entry.kind):
        entries = list(group)
        rows = [[entry] for entry in entries] if everything else [entries]
        for row in rows:
            named = row[0].digest[:12] if everything else str(len(row))
            table.add_row(kind, named, *_summed(row))
    if found:
        console().print(table)
    print(f"entries: {len(found)}, in {cache.ROOT}")


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


def _summed(entries: Sequence[cache.CacheEntry]) -> tuple[str, str, str]:
    """Return the cells of a row: size in MiB, time of the last use, and damage."""
    size_mib = sum(entry.size_bytes for entry in entries) / 2**20
    used = datetime.fromtimestamp(max(entry.last_used_s for entry in entries))
    wrong = "; ".join(sorted({entry.damage() for entry in entries} - {""}))
    return f"{size_mib:.1f}", used.isoformat(" ", "minutes"), wrong


def _print_json(entries: Iterable[cache.CacheEntry]) -> None:
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
