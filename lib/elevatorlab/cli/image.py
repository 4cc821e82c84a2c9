"""Commands about the image of the deterministic testbed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .base import app

image_app = typer.Typer(no_args_is_help=True)
app.add_typer(image_app, name="image", help="The image of the deterministic testbed.")


@image_app.command("build")
def build(
    force: Annotated[bool, typer.Option(help="build anyway, even if the cache has it")] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            help="the archive of QEMU's sources (environments/emulator/configuration names it)",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Build the deterministic image and its emulator, if they are missing or outdated."""
    from concurrent.futures import ThreadPoolExecutor

    from ..testbeds.deterministic import image, our_qemu, template

    if other := our_qemu.another():
        built = image.build(force)
        print(f"emulator: {other}, which {our_qemu.OTHER} names. Its results may have other bits")
    else:
        # Side by side: the one mostly computes, the other mostly fetches packages.
        with ThreadPoolExecutor() as both:
            compiling = both.submit(our_qemu.build, source)
            built = image.build(force)
        print(f"emulator: {_state(compiling.result())}, digest {our_qemu.digest()}")
    template.prune()
    print(f"deterministic image: {_state(built)}, digest {image.digest()}")
    print(f"in {image.FOLDER}")


def _state(built: bool) -> str:
    return "built" if built else "up to date"


@image_app.command("export")
def export(
    out: Annotated[Path, typer.Option(help="folder of the file", file_okay=False)] = Path("."),
) -> None:
    """Write the image to one file that an archive can keep. This takes a minute or two."""
    from .. import cache
    from ..testbeds.deterministic import image_archive

    file = image_archive.write(out)
    print(f"{file}: {file.stat().st_size / 2**20:.0f} MiB")
    print(f"SHA-256 {cache.sha256(file)}")


@image_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="a file that `elevatorlab image export` wrote")],
) -> None:
    """Check every byte of an exported image, and use it in place of the present image."""
    from ..testbeds.deterministic import image_archive

    described = image_archive.take(file)
    print(f"deterministic image: taken from {file}, exported with digest {described.digest}")
    if differing := image_archive.differing(described):
        print(
            f"What differs here: {', '.join(differing)}. So bits may differ from that image's "
            f"results. {image_archive.remedy(differing)}"
        )
