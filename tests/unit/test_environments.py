"""One recipe, three environments: the same packages in the container, the VM and the image."""

import itertools
import subprocess

import pytest

from elevatorlab.paths import ENVIRONMENTS
from environments_support import BOOT, differences, lines


def test_a_difference_is_named():
    one, other = {"fio": "3.33", "crun": "1.8", "cpio": "2"}, {"fio": "3.36", "bash": "5"}
    assert differences(one, other) == {
        "bash": ("absent", "5"),
        "crun": ("1.8", "absent"),
        "fio": ("3.33", "3.36"),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--exactly"], "expected no argument or --exact, found: --exactly"),
        (["--exact", "now"], "expected no argument or --exact, found: --exact now"),
        (["--exact"], "removes all that is not listed"),
    ],
)
def test_what_would_remove_packages_of_this_machine_is_refused(arguments, said):
    command = ["sh", ENVIRONMENTS / "provision.sh", *arguments]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1 and said in run.stderr and run.stdout == ""


def test_each_list_names_a_package_once():
    listed = lines("packages.txt") + BOOT
    assert [name for name, many in itertools.groupby(sorted(listed)) if len(list(many)) > 1] == []


def sources_of(tmp_path, before):
    """Return a Debian's package sources after provision.sh has enabled non-free in them."""
    script = (ENVIRONMENTS / "provision.sh").read_text()
    function = script[script.index("enable_non_free() {") :].partition("\n}\n")[0] + "\n}\n"
    folder = tmp_path / "apt"
    (folder / "sources.list.d").mkdir(parents=True)
    for name, content in before.items():
        (folder / name).write_text(content)
    command = function.replace("/etc/apt", str(folder)) + "enable_non_free\n"
    for _ in range(2):  # the second time nothing is left to do
        subprocess.run(["sh", "-euc", command], check=True)
    return {name: (folder / name).read_text() for name in before}


def test_images_of_ours_get_the_component_non_free_beside_main(tmp_path):
    deb822 = "Types: deb\nSuites: bookworm\nComponents: main\n"
    line = "deb mirror bookworm main contrib\n"
    assert sources_of(
        tmp_path, {"sources.list.d/debian.sources": deb822, "sources.list": line}
    ) == {
        "sources.list.d/debian.sources": deb822.replace("main", "main non-free"),
        "sources.list": line.replace("contrib", "contrib non-free"),
    }


def test_firmware_alone_is_not_the_component(tmp_path):
    before = "Types: deb\nComponents: main non-free-firmware\n"
    after = sources_of(tmp_path, {"sources.list.d/debian.sources": before})
    assert after["sources.list.d/debian.sources"].endswith("main non-free-firmware non-free\n")
