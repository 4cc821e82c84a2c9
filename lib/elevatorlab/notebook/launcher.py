"""JupyterLab: where each study's notebooks are, and a tile for each in the launcher."""

from __future__ import annotations

from pathlib import Path

import yaml

from ..paths import PROJECT, make_folder
from ..plugins import studies

NOTEBOOKS = PROJECT / "notebooks"

#: What a study's notebooks do, by folder, in the order in which a reader needs them.
KINDS = {"analysis": "analyse", "experiments": "measure"}

_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="5" fill="#005a9c"/><path d="M8 13l5-6 5 6zM8 19l5 6 5-6z" fill="#fff"/>'
    '<text x="25" y="21" font-family="sans-serif" font-size="13" font-weight="bold" '
    'text-anchor="middle" fill="#fff">{number}</text></svg>\n'
)


def notebook_of(study: str, kind: str) -> Path | None:
    """Return a study's notebook of a kind, or None where it has none.

    `study`: Name of the study; the notebook's file name is a number and this name.

    Examples
    --------
    >>> notebook_of("vm_vs_container", "analysis").name
    '01-vm-vs-container.ipynb'
    """
    found = sorted((NOTEBOOKS / kind).glob(f"[0-9]*-{study.replace('_', '-')}.ipynb"))
    return found[0] if found else None


def write_tiles(folder: Path) -> Path:
    """Write the tiles of JupyterLab's launcher: one per study, which opens its analysis.

    `folder`: The folder that JUPYTER_APP_LAUNCHER_PATH names for the server, or the folder
    jupyter_app_launcher in the server's data. The server's root must be the project. Returns: The
    configuration file; the icons, one per study, are beside it.
    """
    folder = Path(folder)
    make_folder(folder, "tiles", "Name another folder")
    tiles = []
    for number, study in enumerate(studies.STUDIES.values(), 1):
        icon = folder / f"{study.NAME}.svg"
        icon.write_text(_ICON.format(number=number))
        first = next(filter(None, (notebook_of(study.NAME, kind) for kind in KINDS)), None)
        if first is None:
            continue
        opening = {
            "label": study.TITLE,
            "id": "docmanager:open",
            "args": {"path": first.relative_to(PROJECT).as_posix()},
        }
        tiles.append(
            {
                "title": study.NAME.replace("_", " "),
                "description": study.TITLE,
                "type": "jupyterlab-commands",
                "catalog": "Elevator Lab",
                "icon": icon.name,
                "source": [opening],
            }
        )
    config = folder / "jp_app_launcher.yaml"
    config.write_text(yaml.safe_dump(tiles, sort_keys=False, allow_unicode=True))
    return config
