"""A headless Chromium without a network, and what tests ask of a page in it."""

import contextlib

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

PROGRAM = "/usr/bin/chromium"

SCREENS = {
    "wide": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}


@contextlib.contextmanager
def chromium():
    """Start the distribution's own Chromium; root needs it without its sandbox."""
    with sync_playwright() as player:
        running = player.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"])
        yield running
        running.close()


@contextlib.contextmanager
def opened(running, path, screen="wide", **more):
    """Open a file without network; what the page complains of fails the test."""
    context = running.new_context(offline=True, **SCREENS[screen], **more)
    page = context.new_page()
    complaints, asked = [], []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"file://{path}")
    yield page
    assert complaints == []
    assert [url for url in asked if not url.startswith(("file://", "data:"))] == []
    context.close()


def barriers(page):
    """Return what keeps some people from using the page, as axe-core finds it."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]


def overflow_px(page):
    """Return by how much the page is wider than the screen."""
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
