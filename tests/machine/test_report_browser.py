"""The report in a browser: without server or network, on a phone, in the dark, for everybody."""

import io

import numpy as np
import pytest
from PIL import Image

from browser import SCREENS, barriers, chromium, opened, overflow_px
from elevatorlab.running.provenance import Origin
from elevatorlab.showing.report_pages import ReportFigure, ReportTable, build
from elevatorlab.showing.style import save
from elevatorlab.showing.verdict_pairs import OtherResults
from elevatorlab.studies import vm_vs_container as study
from elevatorlab.studies.vm_vs_container.tables import overview_table
from helpers import wait_until
from synthetic import deterministic

pytestmark = [pytest.mark.browser, pytest.mark.timeout(1200)]

#: As many studies and claims as a large report has.
STUDIES = ("first", "second", "third", "fourth", "fifth")
CLAIMS_A_STUDY = 500
CONTROL = "a control"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write the report of five studies: the claims of one, again and again under other names."""
    folder = tmp_path_factory.mktemp("site")
    measured = deterministic(jitter=0.01)
    judged = study.judge(measured)
    claims = [
        judged[number % len(judged)].model_copy(
            update={"study": name, "id": f"{name}/{number}", "formula": CONTROL}
        )
        for name in STUDIES
        for number in range(CLAIMS_A_STUDY)
    ]
    drawn = study.figures(study.published(), measured)["table-5"]
    trials = {name: "none, seed 1" for name in sorted(set(measured["trial"]))}
    files = save(drawn.figure, folder / "figures", "table-5")
    figures = [
        ReportFigure(name, "table-5", "Table 5", files, drawn.caption, drawn.trials)
        for name in STUDIES
    ]
    facts = {"kernel": "6.1", "image digest": "1" * 64}
    runs = [
        Origin(name, "deterministic", "quick", trials, facts, "1" * 64, f"elevatorlab run {name}")
        for name in STUDIES
    ]
    tables = [ReportTable(name, *overview_table(measured)) for name in STUDIES]
    other = OtherResults("a second run", claims[:CLAIMS_A_STUDY])
    titles = {"first": study.TITLE}
    return build(folder, claims, figures, runs, tables, titles, other=other).parent


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ["index.html", "first.html", "claims.html", "beside.html"])
def test_a_page_is_for_everybody_on_every_screen(browser, site, name, screen):
    """No barrier that axe-core knows, with everything opened; no page wider than its screen."""
    with opened(browser, site / name, screen) as page:
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert barriers(page) == []
        assert overflow_px(page) <= 0


def test_a_figure_keeps_its_size_on_a_phone_and_opens_alone(browser, site):
    """It is moved sideways in its own place: as narrow as the screen, nobody could read it."""
    with opened(browser, site / "first.html", "phone") as page:
        picture = page.locator(".picture").first
        picture.scroll_into_view_if_needed()
        image = picture.locator("img")
        assert image.bounding_box()["width"] == float(image.get_attribute("width")) > 390
        assert picture.evaluate("one => one.scrollWidth > one.clientWidth")
        assert overflow_px(page) <= 0
        picture.click()
        assert page.url.endswith("table-5.svg")
        assert page.locator("svg").first.bounding_box()["width"] > 390


def test_barriers_are_found_where_there_are_some(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text('<html><body><img src="data:,"><p style="color:#eee">grey</p></body></html>')
    with opened(browser, bad) as page:
        assert {"image-alt", "color-contrast", "html-has-lang"} <= {
            one for one, _ in barriers(page)
        }


def shown(page):
    return page.locator(".claims tbody:visible")


def test_claims_are_filtered_by_study_place_verdict_and_words(browser, site):
    with opened(browser, site / "claims.html") as page:
        page.select_option("[name=study]", "third")
        page.select_option("[name=verdict]", "not testable here")
        page.fill("[name=text]", "BFQ container tree")
        rows = shown(page)
        assert 0 < rows.count() < 100
        for row in rows.all():
            assert row.get_attribute("data-study") == "third"
            assert row.get_attribute("data-verdict") == "not testable here"
            words = row.inner_text().lower()
            assert "bfq" in words and "container" in words
        assert page.locator("output").inner_text() == f"{rows.count()} of 2500 claims"
        page.select_option("[name=where]", "published data")
        assert shown(page).count() == 0
        address = page.url
    with opened(browser, address.removeprefix("file://")) as page:
        assert page.input_value("[name=text]") == "BFQ container tree"
        assert page.input_value("[name=where]") == "published data"


def test_a_count_leads_to_its_claims(browser, site):
    with opened(browser, site / "index.html") as page:
        link = page.locator(".study").nth(1).locator(".counts a").first
        count = int(link.locator("b").inner_text())
        link.click()
        page.wait_for_url("**/claims.html#*")
        assert page.locator("output").inner_text().startswith(f"{count} of 2500 claims")
        assert page.input_value("[name=study]") == "second"
        page.go_back()
        assert page.locator("h1").inner_text() == "Elevator Lab: report"


def test_all_claims_can_be_seen_a_part_at_a_time(browser, site):
    with opened(browser, site / "claims.html") as page:
        assert shown(page).count() == 100
        while page.locator(".further button").is_visible():
            page.click(".further button")
        assert shown(page).count() == 2500
        page.fill("[name=text]", CONTROL)
        assert page.locator("output").inner_text() == "2500 of 2500 claims, the first 100 shown"


def test_without_scripts_every_claim_is_there(browser, site):
    with opened(browser, site / "claims.html", java_script_enabled=False) as page:
        assert shown(page).count() == 2500
        assert not page.locator(".filters").is_visible()


def test_print_has_what_was_asked_for_and_no_controls(browser, site):
    with opened(browser, site / "claims.html#study=first") as page:
        page.emulate_media(media="print")
        assert shown(page).count() == CLAIMS_A_STUDY  # not the first hundred alone
        assert not page.locator(".filters").is_visible()
        assert not page.locator("nav").is_visible()


@pytest.mark.parametrize("name", ["first.html", "claims.html"])
def test_paper_shows_what_a_screen_folds(browser, site, name):
    """The last line of each fold has a place on the page, which it lacks while it is folded."""
    folded = """[...document.querySelectorAll("details")].filter((one) =>
        !one.lastElementChild.checkVisibility({contentVisibilityAuto: true})).length"""
    with opened(browser, site / f"{name}") as page:
        assert page.evaluate(folded) > 0
        page.emulate_media(media="print")
        wait_until(lambda: page.evaluate(folded) == 0)  # a browser that is busy lays out later


def luminance(page, selector, property):
    colour = page.eval_on_selector(selector, f"one => getComputedStyle(one).{property}")
    return sum(int(part) for part in colour.strip("rgb()").split(",")[:3]) / 3


def pixels(page, selector):
    """Return the grey of each pixel of an element as it is seen, 0 to 255."""
    seen = Image.open(io.BytesIO(page.locator(selector).first.screenshot()))
    return np.asarray(seen.convert("L"))


def test_dark_is_dark_for_text_and_figures(browser, site):
    with opened(browser, site / "first.html", "dark") as page:
        assert luminance(page, "body", "backgroundColor") < 40
        assert luminance(page, "body", "color") > 200
        figure = pixels(page, ".picture")
        assert np.median(figure) < 40 and figure.max() > 200
    with opened(browser, site / "first.html", "wide") as page:
        assert luminance(page, "body", "backgroundColor") == 255
        figure = pixels(page, ".picture")
        assert np.median(figure) == 255 and figure.min() < 50


def test_a_figure_leads_to_its_trials(browser, site):
    with opened(browser, site / "first.html") as page:
        page.locator(".origin summary").first.click()
        page.locator(".origin a").first.click()
        assert page.url.endswith("#run-deterministic-quick")
        page.get_by_text("trials, by hash").click()
        assert page.locator(".trials li").count() > 10
