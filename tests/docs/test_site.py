"""The site builds without warnings and works in Chromium: minutes, so only in deep runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import pytest

from places import ROOT

pytestmark = [pytest.mark.deep, pytest.mark.xdist_group("site")]
pytest.importorskip("sphinx")
pytest.importorskip("myst_nb")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the finished site; ``BOGRAPE_SITE`` names one that was built before."""
    if built := os.environ.get("BOGRAPE_SITE"):
        return Path(built)
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, ROOT / "docs", folder], capture_output=True, text=True, timeout=3000
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """URL of the site, served on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    from selenium.webdriver.chrome.service import Service

    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and chromedriver):
        pytest.skip("chromium or chromedriver is not installed")
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    driver.get("about:blank")
    yield driver
    driver.quit()


class Links(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {given[name] or "" for name in ("id", "name") if given.get(name)}
        for name in ("href", "src"):
            if given.get(name):
                self.links.append((tag, given[name] or ""))


def pages(site: Path) -> list[Path]:
    found = [page for page in sorted(site.rglob("*.html")) if "_static" not in page.parts]
    assert len(found) > 60
    return found


def test_every_internal_link_resolves_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    parsed = {page: Links(page) for page in pages(site)}
    bad = []
    for page, found in parsed.items():
        here = "site:/" + str(page.relative_to(site))
        for tag, link in found.links:
            if re.match(r"(https?:)?//", link):
                if tag != "a" and not (tag == "link" and "opensearch" in link):
                    bad.append(f"{here} loads {link}")
                continue
            if link.startswith(("mailto:", "data:")):
                continue
            path, anchor = urldefrag(urljoin("http://site/" + str(page.relative_to(site)), link))
            target = site / unquote(path.removeprefix("http://site/").partition("?")[0])
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                bad.append(f"{here} -> {link}")
            elif anchor and target in parsed and unquote(anchor) not in parsed[target].anchors:
                bad.append(f"{here} -> {link} (no such anchor)")
    assert bad == []


def look(browser: Any, url: str, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(url)


def requested(browser: Any) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


BROKEN = """
return Array.from(document.images).filter(function (image) {
  return image.complete && image.naturalWidth === 0;
}).map(function (image) { return image.src; });
"""


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_pages_do_not_overflow_log_errors_or_load_anything_from_elsewhere(
    browser: Any, address: str, site: Path, width: int
) -> None:
    bad = []
    requested(browser)
    browser.get_log("browser")
    for page in pages(site):
        url = address + str(page.relative_to(site))
        look(browser, url, width)
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        if wide > width:
            bad.append(f"{url}: {wide} px wide")
        bad += [f"{url}: {entry['message']}" for entry in browser.get_log("browser")]
        bad += [f"{url}: {image} is broken" for image in browser.execute_script(BROKEN)]
    others = ("data:", "chrome:", "about:", address)
    bad += [f"asked for {url}" for url in requested(browser) if not url.startswith(others)]
    assert bad == []


def test_search_finds_the_certificate(browser: Any, address: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    look(browser, address + "search.html?q=certificate", 1440)
    WebDriverWait(browser, 30).until(
        lambda b: "finished" in b.find_element("id", "search-results").text.lower()
    )
    found = [
        link.get_attribute("href") for link in browser.find_elements("css selector", ".search a")
    ]
    assert any("concepts/certificate.html" in link for link in found), found


def test_formulas_are_drawn(browser: Any, address: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    look(browser, address + "concepts/kernels.html", 768)
    WebDriverWait(browser, 30).until(lambda b: b.find_elements("css selector", "mjx-container svg"))
    assert browser.find_elements("css selector", "mjx-merror, [data-mjx-error]") == []


def test_tutorials_show_results_and_can_be_downloaded(site: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    for page in sorted((ROOT / "docs" / "tutorials").glob("*.md")):
        notebook = nbformat.read(site / "notebooks" / f"{page.stem}.ipynb", as_version=4)
        nbformat.validate(notebook)
        assert sum(cell.cell_type == "code" for cell in notebook.cells) > 5
        html = (site / "tutorials" / f"{page.stem}.html").read_text(encoding="utf-8")
        assert html.count("cell_output") >= 4
        assert "<svg" in html or "<img" in html
