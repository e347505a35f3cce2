"""The report in a real browser, if Chromium, its driver and selenium are installed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bogrape.report import write_report

from report_cases import STUDIES

pytest.importorskip("matplotlib")
webdriver = pytest.importorskip("selenium.webdriver")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium is not installed")

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.get("about:blank")
    yield driver
    driver.quit()


def look(browser: Any, file: Path, width: int, scheme: str = "light") -> None:
    """Open the page in a window of this width."""
    mobile = width < 600
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get(file.as_uri())


def requests(browser: Any) -> list[str]:
    """Addresses that the page has requested since the last call."""
    import json

    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


OVERFLOWING = """
const wide = document.documentElement.clientWidth;
return Array.from(document.querySelectorAll("body *")).filter(function (element) {
  const box = element.getBoundingClientRect();
  if (element.closest(".scroll, .skip") || box.width === 0) { return false; }
  return box.right > wide + 1 || box.left < -1;
}).map(function (element) { return element.tagName + "." + element.getAttribute("class"); });
"""


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("name", ["no trials", "thirty trials", "hostile labels"])
def test_nothing_overflows_fails_or_is_loaded(
    browser: Any, tmp_path: Path, name: str, width: int
) -> None:
    file = write_report(STUDIES[name](), tmp_path / "report.html")
    requests(browser)  # discard earlier ones
    look(browser, file, width)
    assert browser.get_log("browser") == []
    # chrome: the browser's own first page, which may still be loading its parts
    asked = [url for url in requests(browser) if not url.startswith(("data:", "chrome:"))]
    assert asked == [file.as_uri()]
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(OVERFLOWING) == []


def column(browser: Any, index: int) -> list[str]:
    script = (
        "return Array.from(document.querySelectorAll('#trials-table tbody tr')).map("
        "function (row) { return row.cells[arguments_index].dataset.v || ''; })"
    )
    found = browser.execute_script(script.replace("arguments_index", str(index)))
    return [str(value) for value in found]


def test_clicking_on_a_heading_sorts_the_table(browser: Any, tmp_path: Path) -> None:
    study = STUDIES["thirty trials"]()
    look(browser, write_report(study, tmp_path / "report.html"), 1440)
    values = sorted(t.value for t in study.trials if t.value is not None)
    heading = browser.find_elements("css selector", "#trials-table th")[2]
    assert heading.get_attribute("aria-sort") == "none"
    heading.find_element("css selector", "button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    up = column(browser, 2)
    assert [float(v) for v in up if v] == values
    assert up[-2:] == ["", ""]  # the failed ones last, both ways
    heading.find_element("css selector", "button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    down = column(browser, 2)
    assert [float(v) for v in down if v] == values[::-1]
    assert down[-2:] == ["", ""]
    first = browser.find_elements("css selector", "#trials-table th")[0]
    first.find_element("css selector", "button").click()
    assert heading.get_attribute("aria-sort") == "none"
    assert column(browser, 0) == [str(trial.id) for trial in study.trials]


def test_hostile_text_is_shown_and_does_not_run(browser: Any, tmp_path: Path) -> None:
    look(browser, write_report(STUDIES["hostile labels"](), tmp_path / "report.html"), 1440)
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert browser.execute_script("return document.scripts.length") == 1
    assert "<script>alert" in browser.find_element("id", "space").text


def test_dark_pages_are_dark_and_all_text_is_legible(browser: Any, tmp_path: Path) -> None:
    file = write_report(STUDIES["ten trials"](), tmp_path / "report.html")
    script = (
        "function light(c) { const p = c.match(/[0-9.]+/g).map(Number);"
        " return (p[0] * 299 + p[1] * 587 + p[2] * 114) / 255000; }"
        "const page = light(getComputedStyle(document.body).backgroundColor);"
        "const inks = Array.from(document.querySelectorAll('p, .chart text')).map("
        "  function (e) { const s = getComputedStyle(e);"
        "    return light(e.tagName === 'text' ? s.fill : s.color); });"
        "return [page, Math.min.apply(null, inks), Math.max.apply(null, inks)];"
    )
    look(browser, file, 1440, "dark")
    page, darkest, _ = browser.execute_script(script)
    assert page < 0.15
    assert darkest > 0.5
    look(browser, file, 1440, "light")
    page, _, lightest = browser.execute_script(script)
    assert page > 0.9
    assert lightest < 0.5
