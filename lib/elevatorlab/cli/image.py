"""Commands about the image of the deterministic testbed."""

from __future__ import annotations

from typing import Annotated

import typer

from .base import app

image_app = typer.Typer(no_args_is_help=True)
app.add_typer(image_app, name="image", help="The image of the deterministic testbed.")


@image_app.command("build")
def build(
    force: Annotated[bool, typer.Option(help="build anyway, for newer packages")] = False,
) -> None:
    """Build the deterministic image where it is missing or its recipe has changed."""
    from ..testbeds.deterministic import image, template

    built = image.build(force)
    template.prune()
    print(f"deterministic image: {'built' if built else 'up to date'}, digest {image.digest()}")
    print(f"in {image.FOLDER}")
