"""The chemist's week of docs/serve.md in Chromium: by keyboard, on phone and desktop.

``BOGRAPE_SCREENSHOTS`` names a folder for pictures, ``BOGRAPE_AXE`` the file ``axe.min.js`` of
axe-core (npm), which then checks every page.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bogrape import GraphSpace, Study

pytest.importorskip("starlette")
pytest.importorskip("rdkit")
webdriver = pytest.importorskip("selenium.webdriver")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="Chromium is not installed"),
    pytest.mark.deep,
]
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)
PATIENCE = 180.0  # seconds, on a busy machine
OVERFLOWING = """
const wide = document.documentElement.clientWidth;
return Array.from(document.querySelectorAll("main *, header *")).filter(function (element) {
  const box = element.getBoundingClientRect();
  if (element.closest(".scroll, .skip, .away, svg") || box.width === 0) { return false; }
  return box.right > wide + 1 || box.left < -1;
}).map(function (element) { return element.tagName + "." + element.className; });
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder, port = tmp_path_factory.mktemp("serve"), free_port()
    base = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "bogrape", "serve", str(folder / "study.db"), "--port", str(port)],
        env={**os.environ, "BOGRAPE_STATE": str(folder)},
    )
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{base}/healthz", timeout=5).read()
            break
        except OSError:
            time.sleep(0.2)
    yield base, folder
    process.send_signal(signal.SIGINT)
    process.wait(30)


def open_browser(profile: Path) -> Any:
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(120)
    return driver


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    driver = open_browser(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def another(tmp_path: Path) -> Iterator[Any]:
    driver = open_browser(tmp_path)
    yield driver
    driver.quit()


class Chemist:
    """A user with a keyboard and no mouse."""

    def __init__(self, browser: Any, base: str, width: int, scheme: str) -> None:
        self.browser, self.base, self.name = browser, base, f"{width}-{scheme}"
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.width = width

    def go(self, path: str) -> None:
        self.browser.get(self.base + path)

    def keys(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser).send_keys(*keys).perform()

    def reach(self, selector: str) -> Any:
        """Press Tab until an element is focused; fails if the keyboard never gets there."""
        from selenium.webdriver.common.keys import Keys

        self.wait(f"document.querySelector({json.dumps(selector)}) !== null", selector)
        self.browser.execute_script("document.activeElement && document.activeElement.blur()")
        for _ in range(250):
            self.keys(Keys.TAB)
            found = self.browser.execute_script(
                "return document.activeElement.matches(arguments[0])", selector
            )
            if found:
                return self.browser.switch_to.active_element
        raise AssertionError(f"the keyboard does not reach {selector}")

    def write(self, selector: str, text: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys

        self.reach(selector)
        ActionChains(self.browser).key_down(Keys.CONTROL).send_keys("a").key_up(
            Keys.CONTROL
        ).send_keys(Keys.DELETE).perform()
        self.keys(text)

    def press(self, selector: str) -> None:
        """Press Enter on a link or a button."""
        from selenium.webdriver.common.keys import Keys

        self.reach(selector)
        self.keys(Keys.ENTER)

    def leave(self, selector: str) -> None:
        self.browser.execute_script("window.thisPage = true")
        self.press(selector)
        self.wait("window.thisPage === undefined && document.readyState === 'complete'", selector)

    def wait(self, condition: str, what: str) -> None:
        from selenium.common.exceptions import JavascriptException, WebDriverException

        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if self.browser.execute_script(f"return {condition}"):
                    return
            except (JavascriptException, WebDriverException):
                pass
            time.sleep(0.1)
        text = self.browser.find_element("css selector", "body").text
        raise AssertionError(f"timed out waiting for {what}; the page says {text[:1500]}")

    def says(self, words: str) -> None:
        self.wait(f"document.body.innerText.includes({json.dumps(words)})", words)

    def look(self, name: str) -> None:
        """Take a screenshot; fails if anything overflows or axe-core finds a serious problem."""
        assert self.browser.execute_script(OVERFLOWING) == []
        scroll = self.browser.execute_script("return document.documentElement.scrollWidth")
        assert scroll <= self.width
        if folder := os.environ.get("BOGRAPE_SCREENSHOTS"):
            height = self.browser.execute_script("return document.body.scrollHeight")
            shot = self.browser.execute_cdp_cmd(
                "Page.captureScreenshot",
                {
                    "captureBeyondViewport": True,
                    "clip": {
                        "x": 0,
                        "y": 0,
                        "width": self.width,
                        "height": min(height, 4000),
                        "scale": 1,
                    },
                },
            )
            import base64

            path = Path(folder) / f"{self.name}-{name}.png"
            path.write_bytes(base64.b64decode(shot["data"]))
        if axe := os.environ.get("BOGRAPE_AXE"):
            # run by the driver, to which the policy of the page does not apply
            self.browser.execute_script(Path(axe).read_text(encoding="utf-8"))
            found = self.browser.execute_async_script(
                "const done = arguments[0]; axe.run(document).then(function (r) {"
                " done(r.violations.map(function (v) { return [v.id, v.impact,"
                " v.nodes.slice(0, 3).map(function (n) { return n.html.slice(0, 160); })]; })); },"
                " function (e) { done([['failed', 'critical', [String(e)]]]); });"
            )
            serious = [entry for entry in found if entry[1] in ("serious", "critical")]
            assert serious == []

    def quiet(self) -> None:
        """Fails if the console has messages or anything was loaded from another site."""
        log = [
            entry
            for entry in self.browser.get_log("browser")
            if not (entry["source"] == "network" and "favicon" in entry["message"])
        ]
        assert log == []
        messages = [
            json.loads(e["message"])["message"] for e in self.browser.get_log("performance")
        ]
        sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        urls = {params["request"]["url"] for params in sent}
        strange = [u for u in urls if not u.startswith((self.base, "data:", "chrome:", "about:"))]
        assert strange == []


@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "light"), (390, "dark"), (1440, "light"), (1440, "dark")]
)
def test_a_chemists_week(
    browser: Any, server: tuple[str, Path], tmp_path: Path, width: int, scheme: str
) -> None:
    base, folder = server
    study = f"week {width} {scheme}"
    url = f"sqlite:///{folder}/study.db"
    chemist = Chemist(browser, base, width, scheme)
    browser.get_log("browser")
    browser.get_log("performance")

    # Monday: a study by form, which contradicts itself at first
    chemist.go("/")
    chemist.look("home")
    chemist.write("#person", "Ann")
    chemist.leave(".person button")
    chemist.leave("a[href='/new']")
    chemist.write("#n-name", study)
    chemist.write("#n-n_min", "6")
    chemist.write("#n-n_max", "8")
    chemist.write("#n-scaffold", "c1ccoc1")
    chemist.write("#n-n_initial", "3")
    chemist.write("#n-time_limit", "4")
    chemist.write("#n-counts", "O 5 3")
    chemist.says("O: at least 5 and at most 3")
    chemist.look("contradiction")
    chemist.write("#n-counts", "O 1 2")
    chemist.wait("document.querySelectorAll('.samples img').length === 6", "samples")
    chemist.look("new")
    chemist.leave("#newform button:not(.quiet)")
    assert browser.title == study

    # earlier measurements, two of them with slips
    file = tmp_path / "known.csv"
    file.write_text(
        "smiles,value\nCc1ccco1,1.6\nOc1ccoc1,0.9\nnot a molecule,1\nNc1ccco1,high\n"
        "CCCCCC,2.6\nCCc1ccco1,2.1\n",
        encoding="utf-8",
    )
    chemist.leave("a[href$='/upload']")
    browser.find_element("id", "file").send_keys(str(file))
    chemist.leave("form[enctype] button")
    chemist.says("4 rows can be used")
    chemist.says("expected a number as value, got 'high'")
    chemist.look("upload")
    chemist.leave("form[action$='/confirm'] button")
    chemist.says("known before")

    # Tuesday: suggestions, with progress
    chemist.write("#n", "2")
    chemist.press("form[action$='/ask'] button")
    chemist.wait("document.querySelector('#jobs .job') !== null", "the request")
    chemist.wait("document.querySelectorAll('#pending .card').length === 2", "two suggestions")
    chemist.look("asked")
    loaded = Study.load(url, study)
    first, second = (trial.id for trial in loaded.trials if trial.state == "pending")

    # Wednesday: one worked, one did not
    chemist.write(f"#v{first}-1", "1.75")
    chemist.write(f"#d{first}-1", "0.1")
    chemist.leave(f"#pending-{first} form.tell button")
    chemist.wait("document.querySelectorAll('#pending .card').length === 1", "one left")
    chemist.press(f"#pending-{second} summary")
    chemist.write(f"#f{second}", "the flask broke")
    chemist.leave(f"#pending-{second} details button")
    chemist.says("the flask broke")

    # Thursday: an idea of her own, drawn from what she has, and a comment
    chemist.go(f"/studies/{study}/candidate?from=0".replace(" ", "%20"))
    chemist.press("#paper [data-node='0']")
    chemist.press("#addnode")
    chemist.wait("document.querySelectorAll('#paper [data-node]').length === 7", "a seventh atom")
    chemist.look("editor")
    chemist.leave("#draw .row:last-of-type button")
    chemist.says("Somebody suggested it")
    chemist.write("#text", "smells of caramel")
    chemist.leave("#comments button")
    chemist.says("smells of caramel")
    chemist.look("trial")

    # the model proposes; good enough is good enough
    chemist.go(f"/studies/{study}".replace(" ", "%20"))
    chemist.write("#n", "20")
    chemist.write("#limit", "900")
    chemist.press("form[action$='/ask'] button")
    good_enough = "#jobs form:first-of-type button"
    chemist.wait(f"document.querySelector('{good_enough}') !== null", "the proof")
    chemist.wait("document.querySelectorAll('#pending .card').length >= 1", "what was drawn")
    chemist.wait("document.querySelector('#jobs').innerText.includes('candidate')", "a candidate")
    chemist.look("proof")
    chemist.press(good_enough)
    chemist.wait("document.querySelector('.job.running') === null", "the end")
    asked = [trial for trial in Study.load(url, study).trials if trial.state == "pending"]
    assert {trial.origin for trial in asked} == {"queued", "proposal"}
    assert len(asked) < 20
    assert all(trial.log[-1]["by"] == "Ann" for trial in asked)

    # Friday: figures and exported files
    chemist.wait("document.querySelector('#figures') !== null", "figures")
    chemist.press("#figures a")
    chemist.wait("document.querySelectorAll('#figures svg').length >= 3", "figures")
    chemist.look("study")
    chemist.quiet()
    for kind, holds in (("csv", b"1.75"), ("sdf", b"$$$$"), ("ipynb", b"nbformat"), ("json", b"{")):
        path = f"{base}/studies/{study}/export/{kind}".replace(" ", "%20")
        assert holds in urllib.request.urlopen(path, timeout=60).read()


def test_two_people_see_what_the_other_does_without_reloading(
    browser: Any, another: Any, server: tuple[str, Path]
) -> None:
    base, folder = server
    goals = {"yield": "maximize", "cost": "minimize"}
    study = Study(
        GraphSpace(nodes=("hub", "desk", "lab", "store")),
        f"sqlite:///{folder}/study.db",
        "shared",
        n_initial=4,
        properties=goals,
    )
    first, second = (trial.id for trial in study.ask(2))  # type: ignore[union-attr]
    ann = Chemist(browser, base, 1440, "light")
    bob = Chemist(another, base, 390, "dark")
    for person, name in ((ann, "Ann"), (bob, "Bob")):
        person.browser.get_log("browser")
        person.browser.get_log("performance")
        person.go("/")
        person.write("#person", name)
        person.leave(".person button")
        person.go("/studies/shared")

    # the list of studies is updated, too
    bob.go("/")
    study.comment(first, "looks expensive")  # by a script, outside the server
    study.add(study.space.sample(1, seed=3)[0], {"yield": 0.5, "cost": 5.0})
    bob.wait("document.querySelector('#studies').innerText.includes('1 done · 2 running')", "it")
    bob.go("/studies/shared")

    # Ann's request, with a part pinned and one forbidden, appears on Bob's page
    ann.press("form[action$='/ask'] summary")
    ann.write("#required", "hub, lab")
    ann.write("#forbidden", "desk store")
    ann.press("form[action$='/ask'] button")
    bob.wait("document.querySelectorAll('#pending .card').length === 3", "Ann's suggestion")
    asked = Study.load(study.storage, "shared").trials[-1]
    assert asked.graph.adjacency[0, 2]
    assert not asked.graph.adjacency[1, 3]

    # what Bob is typing survives Ann's result, which Bob sees
    bob.write(f"#v{second}-1", "2.5")
    ann.write(f"#v{first}-1", "1.5")
    ann.write(f"#v{first}-2", "4")
    ann.leave(f"#pending-{first} form.tell button")
    bob.wait("document.querySelector('#best').innerText.includes('yield 1.5, cost 4')", "a result")
    typed = another.execute_script(f"return document.getElementById('v{second}-1').value")
    assert typed == "2.5"
    bob.write(f"#v{second}-2", "3")
    bob.leave(f"#pending-{second} form.tell button")
    ann.wait("document.querySelectorAll('.tradeoff circle').length === 3", "the trade-off")
    ann.look("tradeoff")
    bob.look("tradeoff")
    ann.press("#figures a")
    ann.wait("document.querySelectorAll('#figures svg').length >= 2", "figures")
    ann.look("figures-of-several")

    # a comment, with its author
    for person in (ann, bob):
        person.go(f"/studies/shared/trials/{second}")
    ann.write("#text", "cheaper than <b>thought</b>")
    ann.leave("#comments button")
    bob.says("cheaper than <b>thought</b>")
    bob.says("Bob told the value")
    bob.look("trial-of-several")
    for person in (ann, bob):
        person.quiet()
