"""Which machines have verified the bits: the line, the file, the matrix and the badge."""

import pytest

from attestations import line
from browser import barriers, chromium, opened, overflow_px
from elevatorlab.showing import report_pages
from elevatorlab.studies.vm_vs_container.claims import judge
from synthetic import as_printed


@pytest.mark.browser
@pytest.mark.parametrize("screen", ["wide", "phone"])
def test_the_report_shows_who_has_verified_what(tmp_path, screen):
    claims = judge(as_printed(arms=("container",)))[:3]
    report_pages.build(tmp_path, claims, attested=[line(), line(processor="B", route="CI")])
    with chromium() as running, opened(running, tmp_path / "index.html", screen) as page:
        assert barriers(page) == [] and overflow_px(page) <= 0
        rows = page.locator("section[aria-labelledby=verified] tbody tr")
        assert rows.count() == 2
        where = "B, Debian 12, Linux 6.1, Python 3.11.7, GCC 12.2.0, CI"
        assert rows.nth(0).inner_text().startswith(f"{where}\t1\t")
