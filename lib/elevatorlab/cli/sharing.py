"""Commands that hand results to others, and check those of others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .base import (
    EXIT_ERROR,
    EXIT_UNDECIDED,
    ReferenceOption,
    ResultsOption,
    WorkersOption,
    app,
)

if TYPE_CHECKING:
    from ..sharing.verification import Stored


@app.command()
def bundle(results: ResultsOption = None, out: Path = Path("elevatorlab-bundle.zip")) -> None:
    """Write results, report and environment to one file that anybody can verify (an RO-Crate)."""
    from .. import testbeds
    from ..results import store
    from ..sharing import bundles
    from ..showing.report import write_report

    results = results or store.default_results(testbeds.get("deterministic"))
    made = bundles.write(results, out, write_report)
    print(f"packed the results in {results}")
    print(f"{out}: {len(made.files)} files, {out.stat().st_size / 2**20:.1f} MiB")
    with bundles.Bundle(out) as whole:
        print(f"manifest SHA-256 {whole.digest()}")
        print("publish this number where nobody else can change it")


@app.command()
def verify(
    bundle: Annotated[
        Path | None, typer.Argument(help="a bundle; by default the stored reference")
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="how many trials to run again; 0 only with a bundle")
    ] = 3,
    preset: ReferenceOption = "quick",
    everything: Annotated[
        bool, typer.Option("--all", help="run all trials again, and also compare the verdicts")
    ] = False,
    seed: Annotated[int, typer.Option(help="decides which trials are in the sample")] = 0,
    image: Annotated[
        Path | None,
        typer.Option(help="an image for the trials, from `elevatorlab image export`"),
    ] = None,
    attest: Annotated[
        bool, typer.Option("--attest", help="print this machine's line for data/attested.csv")
    ] = False,
    workers: WorkersOption = None,
) -> None:
    """Check a bundle's files; run a sample of the trials again and compare the bits.

    If a second deterministic testbed is ready on this machine, a sample of that testbed's reference
    runs again as well.
    After Ctrl-C the same command goes on where it stopped.

    Exit status 0: same bits; with --all and another image, same verdicts. 1: a file or a result
    differs from what is stored. 4: another image, so bits may differ.
    """
    if bundle is None and sample == 0:
        raise typer.BadParameter("--sample: expected at least 1 where there is no bundle to check")
    if bundle is not None and attest:
        raise typer.BadParameter("--attest: expected no bundle, since it is about the reference")
    if image is not None and not (everything or sample):
        raise typer.BadParameter("--image: expected trials to run again with it")
    from .. import testbeds
    from ..plugins.testbeds import DEFAULT
    from ..sharing import attestation, verification
    from ..testbeds.deterministic import image_archive

    where = testbeds.get(DEFAULT)
    count = None if everything else sample
    attested: list[str] = []

    def run_again(stored: Stored) -> str:
        digests = {one.image_digest for one in stored.values()}
        with image_archive.in_use(image, digests) if image else nullcontext():
            found = verification.again(stored, where, count, seed, workers)
            print(*found, sep="\n")
            answer = verification.outcome(found)
            if attest and answer == verification.SAME:
                line = attestation.of_verification(stored, found, where.identity()).line()
                attested.append(line)
        return answer

    if bundle is None:
        answer = run_again(verification.reference(preset))
    else:
        answer = _check(bundle, run_again if everything or sample else None)
    for line in attested:
        print(line)
    if answer == verification.DIFFERENT:
        raise typer.Exit(EXIT_ERROR)
    if answer == verification.ANOTHER_IMAGE:
        raise typer.Exit(EXIT_UNDECIDED)


def _check(path: Path, run_again: Callable[[Stored], str] | None) -> str:
    """Check a bundle's files and tables, and run those of its trials again that can run here."""
    from .. import scratch
    from ..sharing import bundles, verification

    with bundles.Bundle(path) as opened, scratch.folder() as folder:
        stored, left_out = verification.unpacked(opened, Path(folder))
        print(f"{path}: all {len(opened.manifest.files)} files are as its manifest says")
        print(f"manifest SHA-256 {opened.digest()}; it should be what its author published")
        followed = verification.tables_follow(Path(folder))
        print(*followed, *left_out, sep="\n")
        answer = verification.outcome(followed)
        again = run_again(stored) if stored and run_again else answer
        return answer if answer == verification.DIFFERENT else again
