"""Twenty clients at once, a proof at the same time, and a server that is killed halfway.

``BOGRAPE_SERVE_SECONDS`` is the duration (300 for the figures in docs/results), and
``BOGRAPE_SERVE_RECORD`` a file to which each run appends one line of JSON.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bogrape import GraphSpace, Study

pytest.importorskip("starlette")
pytestmark = pytest.mark.deep
SECONDS = float(os.environ.get("BOGRAPE_SERVE_SECONDS", "30"))
N_CLIENTS = 20
SPACE = GraphSpace((7, 8), labels=4)


class Server:
    """The real server in its own process, which can be killed and restarted."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bogrape", "serve", self.url, "--port", str(self.port)],
            env={**os.environ, "BOGRAPE_STATE": str(self.folder)},
            stdout=subprocess.DEVNULL,
        )
        for _ in range(600):
            with contextlib.suppress(OSError):
                address = f"http://127.0.0.1:{self.port}/healthz"
                urllib.request.urlopen(address, timeout=5).read()
                return
            time.sleep(0.1)
        raise AssertionError("the server does not start")

    def kill(self) -> set[int]:
        """Kill the server, and return the processes it had."""
        children = descendants(self.process.pid)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        return children


def descendants(pid: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int(
                    (entry / "stat").read_text().rpartition(")")[2].split()[1]
                )
    found: set[int] = set()
    fresh = {pid}
    while fresh:
        fresh = {child for child, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class Client(threading.Thread):
    """A robot: asks, measures, tells, and repeats a request whose answer was lost."""

    def __init__(self, port: int, number: int, until: float) -> None:
        super().__init__(daemon=True)
        self.port, self.number, self.until = port, number, until
        self.told: dict[int, float] = {}
        self.tells: list[float] = []
        self.asks: list[float] = []
        self.retries = 0
        self.problem: str | None = None

    def post(self, path: str, body: dict[str, Any]) -> tuple[dict[str, Any], float]:
        end = time.monotonic() + 120
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
                headers = {"content-type": "application/json"}
                link.request("POST", path, json.dumps(body), headers)
                answer = link.getresponse()
                data = json.loads(answer.read())
                link.close()
            except (OSError, http.client.HTTPException, ValueError):
                self.retries += 1
                time.sleep(0.2)
                continue
            if answer.status == 200:
                return data, time.monotonic() - began
            raise AssertionError(f"{path}: {answer.status} {data}")
        raise AssertionError(f"no answer to {path}")

    def run(self) -> None:
        try:
            k = 0
            while time.monotonic() < self.until:
                k += 1
                who = {"by": f"robot-{self.number}", "request_id": f"{self.number}-{k}-ask"}
                asked, seconds = self.post("/api/studies/many/ask", who)
                self.asks.append(seconds)
                (trial,) = asked["trials"]
                value = random.Random(trial["id"]).gauss(0, 1)
                time.sleep(random.Random(k).uniform(0, 0.2))
                who["request_id"] = f"{self.number}-{k}-tell"
                path = f"/api/studies/many/trials/{trial['id']}/tell"
                _, seconds = self.post(path, {"value": value, **who})
                self.told[trial["id"]] = value  # acknowledged
                self.tells.append(seconds)
        except BaseException as error:
            self.problem = repr(error)


def proof(port: int) -> None:
    """Request a long proof in another study."""
    body = json.dumps({"n": 1, "time_limit": 3600.0, "wait": False})
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    link.request("POST", "/api/studies/proof/ask", body, {"content-type": "application/json"})
    assert link.getresponse().status in (200, 202)


def state_of_proof(port: int) -> dict[str, Any]:
    address = f"http://127.0.0.1:{port}/api/studies/proof"
    found: dict[str, Any] = json.loads(urllib.request.urlopen(address, timeout=60).read())
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/study.db"
    else:
        yield request.getfixturevalue("postgresql_schema")


@pytest.mark.timeout(0)
def test_twenty_clients_a_proof_and_a_kill(url: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"kernel": "ssp", "noise": 1e-4, "method": "sample"}
    Study(SPACE, url, "many", **settings, n_initial=5, time_limit=1.0)
    hard = Study(
        GraphSpace(20, labels=5), url, "proof", preset="paper", method="exact", n_initial=8
    )
    hard.add_all([(g, float(g.n_edges)) for g in hard.space.sample(8, seed=0, distinct=True)])
    server = Server(url, tmp_path)
    proof(server.port)
    began = time.monotonic()
    clients = [Client(server.port, k, began + SECONDS) for k in range(N_CLIENTS)]
    for client in clients:
        client.start()
    time.sleep(SECONDS / 2)
    assert [job["state"] for job in state_of_proof(server.port)["jobs"]] == ["running"]
    had = server.kill()
    time.sleep(3.0)
    left = {pid for pid in had if is_running(pid)}
    server.start()
    proof(server.port)
    for client in clients:
        client.join(SECONDS + 300)
    assert [client.problem for client in clients] == [None] * N_CLIENTS
    (job,) = state_of_proof(server.port)["jobs"]
    assert job["state"] == "running"  # throughout
    workers = descendants(server.process.pid)
    body = json.dumps({"take": False})
    path = f"/api/studies/proof/jobs/{job['id']}/stop"
    link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    link.request("POST", path, body, {"content-type": "application/json"})
    assert json.loads(link.getresponse().read())["state"] == "cancelled"
    time.sleep(3.0)
    of_proof = {pid for pid in workers if not is_running(pid)}
    last = server.kill()
    time.sleep(3.0)
    left |= {pid for pid in last if is_running(pid)}

    study = Study.load(url, "many")
    told = {number: value for client in clients for number, value in client.told.items()}
    assert len(told) == sum(len(client.told) for client in clients)  # trials are not shared
    stored = {trial.id: trial.value for trial in study.trials}
    assert all(stored[number] == value for number, value in told.items())
    graphs = [study.space.identity(trial.graph) for trial in study.trials]
    assert len(set(graphs)) == len(graphs)
    logs = [entry["request"] for trial in study.trials for entry in trial.log]
    assert len(set(logs)) == len(logs)
    assert left == set()
    assert of_proof  # the proof's processes ended with it
    tells = np.array([seconds for client in clients for seconds in client.tells])
    asks = np.array([seconds for client in clients for seconds in client.asks])
    record = {
        "storage": url.partition(":")[0],
        "clients": N_CLIENTS,
        "seconds": SECONDS,
        "told": len(told),
        "trials": len(study.trials),
        "retries": sum(client.retries for client in clients),
        "tell_median_ms": round(1000 * float(np.median(tells)), 1),
        "tell_p95_ms": round(1000 * float(np.quantile(tells, 0.95)), 1),
        "tell_max_ms": round(1000 * float(tells.max()), 1),
        "ask_median_ms": round(1000 * float(np.median(asks)), 1),
        "ask_p95_ms": round(1000 * float(np.quantile(asks, 0.95)), 1),
        "processes_left": len(left),
        "load": os.getloadavg()[0],
        "commit": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip(),
    }
    print(json.dumps(record))
    if path := os.environ.get("BOGRAPE_SERVE_RECORD"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
