"""Result bundles: everything that a stranger needs to check a result, in one file.

A bundle is an RO-Crate (a zip file with ``ro-crate-metadata.json``) and has a manifest with the
size and the SHA-256 of every file in it.
"""

from .manifest import FORMAT, Manifest
from .reading import Bundle, results_of
from .writing import write

__all__ = ["FORMAT", "Bundle", "Manifest", "results_of", "write"]
