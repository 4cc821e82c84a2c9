"""The badge of README.md that says where the bits were verified."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..paths import PROJECT
from ..results import attested
from ..results.attested import Attestation

FILE = PROJECT / "docs" / "figures" / "verified-bits.svg"
LABEL = "verified bits"

#: Width of a character of the badge's font (11 px Verdana), and of both margins of a text
#: together. `textLength` fits each text to the width computed from these.
_CHARACTER_PX, _MARGIN_PX = 6.6, 12


def words(lines: Sequence[Attestation]) -> str:
    """Name the image of the newest line, and count what has verified its bits, each kind apart.

    Two lines of one processor model may be of one machine or of two: no machines are counted.
    """
    if not lines:
        return "none yet"
    newest = attested.of_newest_image(lines)
    return f"{newest[0].image_digest[:12]} on {tried(newest)}"


def tried(lines: Sequence[Attestation]) -> str:
    """Count what lines of one image are of, such as "1 processor model, 2 distributions"."""
    kinds = {
        "processor model": {one.processor for one in lines},
        "distribution": {one.distribution for one in lines},
        "compiler": {one.compiler for one in lines},
    }
    return ", ".join(f"{len(of)} {kind}{'s' if len(of) != 1 else ''}" for kind, of in kinds.items())


def svg(lines: Sequence[Attestation]) -> str:
    """Draw the badge."""
    said = words(lines)
    left, right = (round(len(text) * _CHARACTER_PX) + _MARGIN_PX for text in (LABEL, said))
    title = escape(f"{LABEL}: {said}")
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" \
aria-label="{title}">
<title>{title}</title>
<clipPath id="round"><rect width="{left + right}" height="20" rx="3"/></clipPath>
<g clip-path="url(#round)">
<rect width="{left}" height="20" fill="#444"/>
<rect x="{left}" width="{right}" height="20" fill="#0b5394"/>
</g>
<g fill="#fff" text-anchor="middle" font-family="Verdana, Geneva, sans-serif" font-size="11">
<text x="{left / 2}" y="14" textLength="{left - _MARGIN_PX}">{escape(LABEL)}</text>
<text x="{left + right / 2}" y="14" textLength="{right - _MARGIN_PX}">{escape(said)}</text>
</g>
</svg>
"""


def write() -> Path:
    """Write the badge's file with the content of data/attested.csv."""
    FILE.write_text(svg(attested.read()))
    return FILE
