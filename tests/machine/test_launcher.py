"""JupyterLab's launcher: a tile for each study, which opens its notebook."""

import contextlib
import os
import secrets
import subprocess
import sys
import urllib.request

import pytest
import yaml

from browser import chromium
from elevatorlab import notebook, studies
from elevatorlab.notebook import launcher
from elevatorlab.paths import PROJECT
from helpers import wait_until

TOKEN = secrets.token_hex(16)


def test_every_study_with_a_notebook_has_a_tile(tmp_path):
    tiles = yaml.safe_load(launcher.write_tiles(tmp_path).read_text())
    with_notebooks = [
        study for study in studies.STUDIES.values() if launcher.notebook_of(study.NAME, "analysis")
    ]
    assert [tile["description"] for tile in tiles] == [study.TITLE for study in with_notebooks]
    for tile in tiles:
        notebook = PROJECT / tile["source"][0]["args"]["path"]
        icon = (tmp_path / tile["icon"]).read_text()
        assert notebook.is_file() and icon.startswith("<svg")
        assert f">{int(notebook.name[:2])}</text>" in icon


@pytest.mark.parametrize("kind", launcher.KINDS)
def test_a_notebook_has_the_number_of_its_study(kind):
    named = {
        study.NAME: launcher.notebook_of(study.NAME, kind) for study in studies.STUDIES.values()
    }
    numbers = {name: int(path.name[:2]) for name, path in named.items() if path}
    assert numbers == {name: studies.get(name).NUMBER for name in numbers}
    assert len(numbers) == 5


def test_where_to_click_has_every_study():
    table = notebook.where_to_click().data
    assert [study.TITLE for study in studies.STUDIES.values() if study.TITLE not in table] == []
    assert "(analysis/01-vm-vs-container.ipynb)" in table


@pytest.fixture
def server(tmp_path):
    """Start JupyterLab as `make lab` does, with settings of its own; return its address."""
    launcher.write_tiles(tmp_path / "tiles")
    own = {"JUPYTER_APP_LAUNCHER_PATH": f"{tmp_path / 'tiles'}", "IPYTHONDIR": f"{tmp_path}"}
    own |= {"JUPYTER_CONFIG_DIR": f"{tmp_path / 'c'}", "JUPYTER_DATA_DIR": f"{tmp_path / 'd'}"}
    own |= {"JUPYTER_RUNTIME_DIR": f"{tmp_path / 'r'}"}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"]
    command += [f"--IdentityProvider.token={TOKEN}", f"--ServerApp.root_dir={PROJECT}"]
    with open(tmp_path / "log", "w") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **own})
    try:
        yield wait_until(lambda: address_in(tmp_path / "r", running), 180)
    finally:
        running.kill()  # asked to end, it may wait for a kernel for ever; kernels end without it
        running.wait()


def address_in(folder, running):
    """Return where the server listens, once it answers."""
    assert running.poll() is None
    for file in folder.glob("jpserver-*.json"):
        said = file.read_text().strip()
        if not said.endswith("}"):  # it is being written
            continue
        address = yaml.safe_load(said)["url"]
        with contextlib.suppress(OSError):  # it tells where it will listen before it does
            with urllib.request.urlopen(address + "api") as answer:
                return address if answer.status == 200 else None
    return None


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_a_tile_opens_its_study(server):
    with chromium() as running:
        page = running.new_page()
        page.set_default_timeout(180_000)
        page.goto(f"{server}lab?token={TOKEN}")
        page.wait_for_selector(".jp-LauncherCard")
        tiles = page.locator(".jp-Launcher-section", has_text="Elevator Lab")
        name = "vm vs container"
        tiles.locator(".jp-LauncherCard", has_text=name).click()
        page.wait_for_selector(".jp-NotebookPanel h1")
        heading = page.locator(".jp-NotebookPanel h1").first.inner_text()
        assert heading.startswith("Virtual machine or container")
