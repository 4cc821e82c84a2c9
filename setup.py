"""What pyproject.toml cannot say: a wheel carries what the commands need of the checkout.

In a checkout data/, environments/ and the rest stand beside the package (`elevatorlab.paths`).
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SHARED = [
    "courses",
    "data",
    "environments",
    "CITATION.cff",
    "LICENSE",
    "Vagrantfile",
    "requirements.lock",
]


class BuildWithShared(build_py):
    """Builds the modules, and puts `SHARED` beside them."""

    def run(self):
        if self.editable_mode:
            super().run()
            return
        # Whatever is there comes from another version, and a wheel would take it along.
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        target = Path(self.build_lib, "elevatorlab", "share")
        target.mkdir()
        for name in SHARED:
            if Path(name).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(name, target / name, ignore=ignored)
            else:
                shutil.copy(name, target)


# Not in build/, which is where the commands put what they make.
setup(cmdclass={"build_py": BuildWithShared}, options={"build": {"build_base": "build/package"}})
