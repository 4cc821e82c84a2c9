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
    force: Annotated[bool, typer.Option(help="build anyway, for newer packages")] = False,
    virtual_machines: Annotated[
        bool,
        typer.Option(
            "--virtual-machines",
            help="also build QEMU, for virtual machines inside the deterministic machine",
        ),
    ] = False,
) -> None:
    """Build the deterministic image if it is missing, or if its recipe has changed."""
    from ..testbeds.deterministic import image, inner, template

    built = image.build(force)
    template.prune()
    print(f"deterministic image: {'built' if built else 'up to date'}, digest {image.digest()}")
    print(f"in {image.FOLDER}")
    if virtual_machines:
        built = inner.build()
        print(f"virtual machines: {'built' if built else 'up to date'}, in {inner.folder()}")


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


@image_app.command("emulator")
def emulator(
    source: Annotated[
        Path | None,
        typer.Option(
            help="the pinned archive of QEMU's sources (environments/emulator/build.sh names it)",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Build the emulator whose processors work in parallel, if it is not built yet."""
    from ..testbeds.deterministic import rounds

    built = rounds.build(source)
    print(f"emulator: {'built' if built else 'up to date'}, digest {rounds.digest()}")
    print(f"in {rounds.kept()}")
