"""Build the documentation site: `python docs/site/build.py [FOLDER]`, as `make docs` does."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import gallery
import gather
import reference
from sphinx.cmd.build import main as sphinx

from elevatorlab.paths import BUILD

HERE = Path(__file__).parent


def build(site: Path) -> int:
    """Gather and write the pages, and call Sphinx, for which a warning is an error.

    Parameters
    ----------
    site : pathlib.Path
        The folder of the site; its sources are beside it.
    """
    sources = site.with_name(f"{site.name}-source")
    shutil.rmtree(sources, ignore_errors=True)
    gather.gather(sources)
    reference.write(sources / "reference")
    gallery.write(sources / "gallery")
    asked = ["-q", "-W", "--keep-going", "-j", "auto", "-c", f"{HERE}", "-d", f"{sources}.cache"]
    status = sphinx([*asked, f"{sources}", f"{site}"])
    if status == 0:
        print(f"site     {site / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else BUILD / "site"))
