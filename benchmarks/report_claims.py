"""How quick the report's page of claims is in a browser, by the number of claims.

    .venv/bin/python benchmarks/report_claims.py

Needs Chromium and the test dependencies. The claims are those of a document alone, again and again.
The bar: 5,000 claims load within 2 s on an idle machine, and a filter answers within 0.2 s.
"""

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from elevatorlab import studies
from elevatorlab.results import store
from elevatorlab.showing import report_pages

FILTER = """text => {
    const start = performance.now();
    form.text.value = text;
    filter();
    document.body.offsetHeight;
    return performance.now() - start;
}"""


def site(folder, count):
    """Write a report of `count` claims."""
    study = next(iter(studies.STUDIES.values()))
    judged = study.judge(store.load(study.NAME, "published"))
    return report_pages.build(Path(folder), [judged[n % len(judged)] for n in range(count)]).parent


def main():
    """Print a line for each number of claims."""
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for count in (500, 2500, 5000):
            with tempfile.TemporaryDirectory() as folder:
                page = browser.new_page()
                page.goto(f"file://{site(folder, count)}/claims.html")
                timing = "performance.getEntriesByType('navigation')[0].loadEventEnd"
                filters_ms = [page.evaluate(FILTER, text) for text in ("bfq", "", "printed")]
                print(
                    f"{count} claims: loaded in {page.evaluate(timing):.0f} ms, "
                    f"slowest of three filters {max(filters_ms):.0f} ms"
                )
        browser.close()


if __name__ == "__main__":
    main()
