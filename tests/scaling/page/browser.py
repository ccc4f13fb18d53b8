"""A page in a real browser, and what it said and asked for: the fixture `open_page` of the tests marked `browser`."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

__all__ = ["OpenedPage", "browser_path", "load_seconds", "new_browser", "open_page", "running_browser"]

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# As a superuser there is no sandbox; nothing of the browser's own may look like a request of the page's.
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
_MOST_MILLISECONDS = 10_000  # a large page on a busy machine opens in two seconds


@dataclass
class OpenedPage:
    """Playwright's `page`, and what was recorded since before it was opened.

    Attributes:
        errors: texts of the console at the level of an error or a warning, and uncaught exceptions. A violation of the
            page's Content-Security-Policy is one.
        requests: addresses asked for, without images inside the page (`data:`).
        dialogs: texts of alerts and the like, which were closed.
    """

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def goto(self, path: Path) -> None:
        self.page.goto(path.as_uri())

    def load_seconds(self) -> float:
        """From the start of the navigation to the end of the load event."""
        return load_seconds(self.page)


def load_seconds(page: Any) -> float:
    return page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000


@pytest.fixture(scope="session")
def running_browser():
    """One for all tests; skipped where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if browser_path() is None:
        pytest.skip("needs a browser: apt-get install chromium")
    with sync_api.sync_playwright() as driver, new_browser(driver) as browser:
        yield browser


def browser_path() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def new_browser(driver: Any) -> Iterator[Any]:
    """Of playwright's driver, with a home of its own."""
    with tempfile.TemporaryDirectory() as home:
        browser = driver.chromium.launch(executable_path=browser_path(), args=[*_FLAGS], env={"HOME": home})
        yield browser
        browser.close()


@pytest.fixture
def open_page(running_browser):
    """Call it with a path, and options of a playwright context such as `viewport`, for an `OpenedPage`."""
    contexts = []

    def opened(path: Path, **options: Any) -> OpenedPage:
        contexts.append(running_browser.new_context(**options))
        contexts[-1].set_default_timeout(_MOST_MILLISECONDS)
        found = _recorded(contexts[-1].new_page())
        found.goto(Path(path))
        return found

    yield opened
    for context in contexts:
        context.close()


def _recorded(page: Any) -> OpenedPage:
    found = OpenedPage(page)

    def close(dialog: Any) -> None:
        found.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda said: said.type in ("error", "warning") and found.errors.append(said.text))
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith("data:") or found.requests.append(asked.url))
    page.on("dialog", close)
    return found
