"""What our programs import is declared in pyproject.toml, and nothing comes along by chance."""

import ast
import functools
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from elevatorlab.paths import PROJECT

#: The extras that may be installed where the files of a folder run.
EXTRAS = {
    "lib": {"remote", "cluster", "notebooks"},
    "tests": {"remote", "cluster", "notebooks", "docs", "test"},
    "docs": {"docs"},
    "benchmarks": {"remote", "cluster", "test"},
    "environments": set(),
}

#: What the agent's archive calls the agent, in which files beside it run.
OF_THE_ARCHIVE = "agent"


def imported(source):
    """Return the top-level modules that a file imports by their whole names."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"elevatorlab", OF_THE_ARCHIVE}


def declared(extras):
    """Return the names of the packages that the project and these of its extras declare."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    return {canonicalize_name(Requirement(one).name) for one in wanted}


#: The packages that bring each module. It reads the metadata of all packages, which takes seconds.
distributions = functools.cache(packages_distributions)


def undeclared(modules, extras):
    """Return those of some modules that no declared package brings."""
    known, bringing = declared(extras), distributions()
    return {
        module
        for module in modules
        if not known & {canonicalize_name(name) for name in bringing.get(module, [module])}
    }


@pytest.mark.parametrize("folder", EXTRAS)
def test_each_import_is_declared(folder):
    files = sorted((PROJECT / folder).rglob("*.py"))
    assert files
    ours = {file.stem for place in EXTRAS for file in (PROJECT / place).rglob("*.py")}
    ours |= {file.parent.name for file in (PROJECT / "benchmarks").rglob("*.py")}
    found = {
        str(file.relative_to(PROJECT)): names
        for file in files
        if (names := undeclared(imported(file.read_text()) - ours, EXTRAS[folder]))
    }
    assert found == {}


def test_a_package_that_only_comes_along_is_found():
    source = "import os, numpy.linalg\nfrom PIL import Image\nfrom . import here\nimport pytest"
    assert imported(source) == {"numpy", "PIL", "pytest"}
    assert undeclared(imported(source), set()) == {"pytest"}
    assert undeclared({"cycler", "kiwisolver"}, {"test"}) == {"cycler", "kiwisolver"}
