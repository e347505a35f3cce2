"""The HTTP API: answers, repeated requests, and invalid requests."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from bogrape import GraphSpace, Study

from web_cases import NASTY, SPACE, client, new_study

API = "/api/studies/one"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BOGRAPE_STATE", str(tmp_path / "state"))
    return new_study(tmp_path)


@pytest.fixture
def web(url: str) -> Iterator[Any]:
    with client(url) as found:
        yield found


def pending(url: str, n: int = 1) -> list[int]:
    """Trials asked for outside the server, without waiting for a process to start."""
    found = Study.load(url, "one").ask(n, progress=False)
    return [trial.id for trial in (found if isinstance(found, list) else [found])]


def test_health_and_the_openapi_document_are_served(web: Any) -> None:
    assert web.get("/healthz").json()["status"] == "ok"
    document = web.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    for path in ("/api/studies/{name}/ask", "/api/studies/{name}/trials/{trial}/tell"):
        assert "post" in document["paths"][path]


def test_repeating_a_request_gives_the_same_graphs(url: str, web: Any) -> None:
    body = {"n": 4, "request_id": "robot-1", "by": "robot"}
    first = web.post(f"{API}/ask", json=body).json()
    again = web.post(f"{API}/ask", json=body).json()
    ids = [trial["id"] for trial in first["trials"]]
    assert len(set(ids)) == 4
    assert [trial["id"] for trial in again["trials"]] == ids
    assert all(trial["state"] == "pending" for trial in first["trials"])
    study = Study.load(url, "one")
    assert len(study.trials) == 4
    assert {trial.log[0]["by"] for trial in study.trials} == {"robot"}
    other = web.post(f"{API}/ask", json={**body, "n": 5})
    assert other.status_code == 409
    # after a restart, which forgets the jobs
    with client(url) as later:
        kept = later.post(f"{API}/ask", json=body).json()
    assert [trial["id"] for trial in kept["trials"]] == ids
    # a job that the client does not wait for is found by its number
    job = web.post(f"{API}/ask", json={"wait": False}).json()["job"]
    assert job["state"] in ("waiting", "running", "done")
    found = web.get(f"{API}/jobs/{job['id']}")
    assert found.status_code == 200
    assert web.get(f"{API}/jobs/{'0' * 16}").status_code == 404


def test_rules_of_a_request_hold_for_its_suggestions(url: str, web: Any) -> None:
    rules = [{"rule": "LabelCount", "label": "b", "minimum": 0, "maximum": 0}]
    asked = web.post(f"{API}/ask", json={"n": 3, "rules": rules}).json()["trials"]
    assert all(set(trial["graph"]["labels"]) == {0} for trial in asked)
    assert Study.load(url, "one").settings.space == SPACE
    for bad in (
        [{"rule": "os:system"}],
        [{"rule": "LabelCount"}],
        [{"rule": "LabelCount", "label": "gold"}],
        [{"rule": "LabelCount", "label": {"x": []}, "maximum": "many"}],
    ):
        assert web.post(f"{API}/ask", json={"rules": bad}).status_code == 422


def test_a_value_is_told_once_however_often_the_request_is_repeated(url: str, web: Any) -> None:
    (number,) = pending(url)
    tell = f"{API}/trials/{number}/tell"
    body = {"value": 2.5, "noise": 0.01, "request_id": "t-1"}
    told = web.post(tell, json=body, headers={"x-bogrape-person": "Ann"}).json()
    assert (told["state"], told["value"], told["noise"]) == ("complete", 2.5, 0.01)
    assert web.post(tell, json=body).json()["value"] == 2.5
    assert web.post(tell, json={"value": 3.0}).status_code == 409
    assert web.post(tell, json={"value": 3.0, "request_id": "t-1"}).status_code == 409
    study = Study.load(url, "one")
    assert [entry["action"] for entry in study.trials[number].log] == ["tell"]
    assert study.trials[number].log[0]["by"] == "Ann"
    # the request is found although its value has been corrected
    web.post(f"{API}/trials/{number}/correct", json={"value": 2.25, "reason": "a slip"})
    assert web.post(tell, json=body).json()["value"] == 2.25


def test_a_repeated_request_adds_nothing(url: str, web: Any) -> None:
    graph = json.loads(SPACE.sample(1, seed=3)[0].to_json())
    rows = {"observations": [{"graph": graph, "value": 1.0}] * 2, "request_id": "lims-7"}
    assert web.post(f"{API}/observations", json=rows).json() == {"trials": [0, 1]}
    assert web.post(f"{API}/observations", json=rows).json() == {"trials": [0, 1]}
    own = {"graph": json.loads(SPACE.sample(1, seed=9)[0].to_json()), "request_id": "c"}
    first = web.post(f"{API}/candidates", json=own).json()
    assert first["state"] == "queued"
    assert web.post(f"{API}/candidates", json=own).json()["id"] == first["id"]
    again = web.post(f"{API}/trials/0/repeat", json={"request_id": "r"}).json()
    assert web.post(f"{API}/trials/0/repeat", json={"request_id": "r"}).json()["id"] == again["id"]
    assert len(Study.load(url, "one").trials) == 4


def test_trials_fail_are_retried_released_and_commented(url: str, web: Any) -> None:
    one, two = pending(url, 2)
    failed = web.post(f"{API}/trials/{one}/fail", json={"reason": "the flask broke"}).json()
    assert (failed["state"], failed["reason"]) == ("failed", "the flask broke")
    assert web.post(f"{API}/trials/{one}/retry").json()["state"] == "queued"
    assert web.post(f"{API}/trials/{two}/release", json={}).json()["state"] == "queued"
    said = web.post(f"{API}/trials/{two}/comments", json={"text": NASTY, "by": "Bo"}).json()
    assert said["details"]["log"][-1] | {"time": 0} == {
        "action": "comment",
        "by": "Bo",
        "note": NASTY,
        "time": 0,
    }
    states = {trial["id"]: trial["state"] for trial in web.get(f"{API}/trials").json()["trials"]}
    assert states == {one: "queued", two: "queued"}
    assert web.get(f"{API}/trials?state=failed").json() == {"trials": [], "next": None}


def test_a_failure_may_say_nothing_about_its_graph(url: str, web: Any) -> None:
    one, two = pending(url, 2)
    broke = {"reason": "the oven broke", "about_graph": False, "request_id": "f"}
    for _ in range(2):
        failed = web.post(f"{API}/trials/{one}/fail", json=broke).json()
        assert failed["details"]["about_graph"] is False
    web.post(f"{API}/trials/{two}/fail", json={"reason": "no yield"})
    assert [trial.succeeded for trial in Study.load(url, "one").trials] == [None, False]
    odd = web.post(f"{API}/trials/{one}/fail", json={**broke, "about_graph": "no"})
    assert odd.status_code == 422


def test_comments_and_values_at_the_same_time_lose_nothing(url: str) -> None:
    """Two processes that read the trial before either writes."""
    (number,) = pending(url)
    one, two = Study.load(url, "one"), Study.load(url, "one")
    assert one.trials == two.trials
    two.comment(number, "looks yellow")
    one.comment(number, "smells of almonds")
    two.tell(number, 1.0)
    one.comment(number, "done")
    found = Study.load(url, "one").trials[number]
    notes = [entry["note"] for entry in found.log]
    assert notes == ["looks yellow", "smells of almonds", "done"]
    assert found.value == 1.0


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/ask", {"n": 0}, 422),
        ("/ask", {"n": 1.5}, 422),
        ("/ask", {"n": True}, 422),
        ("/ask", {"n": 10**400}, 422),
        ("/ask", {"time_limit": -1}, 422),
        ("/ask", {"worker": "a\nb"}, 422),
        ("/ask", {"unknown": 1}, 422),
        ("/ask", [], 422),
        ("/trials/0/tell", {}, 422),
        ("/trials/0/tell", {"value": "1"}, 422),
        ("/trials/0/tell", {"value": None}, 422),
        ("/trials/0/tell", {"value": 1, "noise": -1}, 422),
        ("/trials/99999999999999999999/tell", {"value": 1}, 404),
        ("/trials/7/tell", {"value": 1}, 404),
        ("/trials/-1/tell", {"value": 1}, 404),
        ("/trials/0/fail", {"reason": ""}, 422),
        ("/trials/0/fail", {"reason": "a\0b"}, 422),
        ("/trials/0/comments", {"text": "   "}, 422),
        ("/trials/0/comments", {"text": "x" * 4001}, 422),
        ("/candidates", {"graph": {"n_nodes": 10**9}}, 422),
        ("/candidates", {"graph": "CCO"}, 422),
        ("/candidates", {"graph": 7}, 422),
        ("/observations", {"observations": []}, 422),
        ("/observations", {"observations": [{"graph": {}, "value": 1}]}, 422),
    ],
)
def test_invalid_requests_are_refused_with_a_reason(
    url: str, web: Any, path: str, body: Any, status: int
) -> None:
    pending(url)
    answer = web.post(
        API + path, content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert answer.status_code == status
    assert answer.json()["error"]
    assert Study.load(url, "one").trials[0].state == "pending"


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"\xff\xfe",
        b'{"value": NaN}',
        b'{"value": Infinity}',
        b"[" * 100_000,
        b'{"value": ' + b"9" * 9000 + b"}",
    ],
)
def test_bodies_that_are_not_json_are_refused(url: str, web: Any, raw: bytes) -> None:
    pending(url)
    answer = web.post(
        f"{API}/trials/0/tell", content=raw, headers={"content-type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert "error" in answer.json()


def test_studies_are_created_and_their_names_cannot_be_paths(url: str, web: Any) -> None:
    form = {"kind": "graphs", "n_min": "4", "n_max": "5", "labels": "x, y"}
    made = web.post("/api/studies", json={"name": "new one", "form": form})
    assert made.status_code == 200
    assert Study.load(url, "new one").space.label_names == ("x", "y")
    assert web.post("/api/studies", json={"name": "new one", "form": form}).status_code == 200
    for name in ("../etc/passwd", "a/b", "", "x" * 101, "'; DROP TABLE bogrape_trials; --", NASTY):
        assert web.post("/api/studies", json={"name": name, "form": form}).status_code == 422
    for name in ("..%2F..%2Fetc%2Fpasswd", "%00", "'%3B DROP TABLE bogrape_trials%3B--"):
        assert web.get(f"/api/studies/{name}").status_code == 404
        assert web.get(f"/studies/{name}").status_code == 404
    assert len(web.get("/api/studies").json()["studies"]) == 2


def test_exports_contain_all_trials(url: str, web: Any) -> None:
    one, two = pending(url, 2)
    web.post(f"{API}/trials/{one}/tell", json={"value": 4.5})
    web.post(f"{API}/trials/{two}/fail", json={"reason": "=HYPERLINK(1)"})
    csv = web.get(f"{API}/export/csv")
    assert csv.headers["content-disposition"] == 'attachment; filename="one.csv"'
    assert "4.5" in csv.text
    assert "'=HYPERLINK(1)" in csv.text  # so that spreadsheets do not run it as a formula
    data = web.get(f"{API}/export/json").json()
    assert [trial["state"] for trial in data["trials"]] == ["complete", "failed"]
    cells = web.get(f"{API}/export/ipynb").json()["cells"]
    names: dict[str, Any] = {}
    exec("".join(cells[1]["source"]), names)
    assert names["study"].best.value == 4.5
    assert web.get(f"{API}/export/sdf").status_code == 409
    assert web.get(f"{API}/export/exe").status_code == 404


def test_good_enough_takes_the_incumbent_and_cancel_discards_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOGRAPE_STATE", str(tmp_path / "state"))
    space = GraphSpace(12, labels=5)
    url = f"sqlite:///{tmp_path}/study.db"
    study = Study(space, url, "one", preset="paper", n_initial=6)
    study.add_all([(g, float(g.n_edges)) for g in space.sample(6, seed=0, distinct=True)])
    body = {"time_limit": 600.0, "wait": False}

    def begun(web: Any) -> str:
        """A job whose proof has begun."""
        number = web.post(f"{API}/ask", json=body).json()["job"]["id"]
        end = time.monotonic() + 90
        while time.monotonic() < end:
            job = web.get(f"{API}/jobs/{number}").json()
            if "candidate" in job["words"]:
                return str(number)
            assert job["state"] in ("waiting", "running")
            time.sleep(0.1)
        raise AssertionError("the proof does not begin")

    def ended(web: Any, number: str) -> dict[str, Any]:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            job: dict[str, Any] = web.get(f"{API}/jobs/{number}").json()
            if job["state"] in ("done", "failed", "cancelled"):
                return job
            time.sleep(0.1)
        raise AssertionError("the job does not end")

    with client(url) as web:
        number = begun(web)
        # other requests do not wait for it
        extra = json.loads(space.sample(1, seed=77)[0].to_json())
        added = web.post(f"{API}/candidates", json={"graph": extra, "value": 9.0}).json()
        assert added["state"] == "complete"
        web.post(f"{API}/jobs/{number}/stop", json={"take": True})
        job = ended(web, number)
        assert job["state"] == "done"
        (taken,) = job["trials"]
        certificate = Study.load(url, "one").trials[taken].certificate
        assert certificate["status"] == "time_limit"
        assert certificate["bound"] is not None

        number = begun(web)
        worker = web.app.state.server.asks._processes[0]._process
        assert worker.poll() is None
        web.post(f"{API}/jobs/{number}/stop", json={"take": False})
        assert ended(web, number)["state"] == "cancelled"
        assert worker.poll() is not None
        assert len(Study.load(url, "one").trials) == 8


def test_trials_of_a_cancelled_request_are_queued_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOGRAPE_STATE", str(tmp_path / "state"))
    space = GraphSpace(12, labels=5)
    url = f"sqlite:///{tmp_path}/study.db"
    study = Study(space, url, "one", preset="paper", n_initial=6)
    graphs = space.sample(7, seed=0, distinct=True)
    study.add_all([(g, float(g.n_edges)) for g in graphs[:6]])
    study.enqueue(graphs[6])
    body = {"n": 2, "time_limit": 600.0, "wait": False, "request_id": "r"}
    with client(url) as web:
        number = web.post(f"{API}/ask", json=body).json()["job"]["id"]
        end = time.monotonic() + 90
        while web.get(f"{API}/jobs/{number}").json()["found"] < 1:
            assert time.monotonic() < end
            time.sleep(0.1)
        assert web.get(f"{API}/trials/6").json()["state"] == "pending"
        web.post(f"{API}/jobs/{number}/stop", json={"take": False, "by": "Ann"})
        trial = web.get(f"{API}/trials/6").json()
        assert trial["state"] == "queued"
        assert [entry["action"] for entry in trial["details"]["log"]] == ["ask", "cancel"]
        assert web.post(f"{API}/ask", json=body).status_code == 409
