"""Access to the server: host names, origins, tokens, CSRF tokens of forms, sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from bogrape import Study
from bogrape.errors import InvalidInputError
from bogrape.web.guard import Place
from bogrape.web.tokens import Secrets, state_file

from web_cases import HOST, NASTY, client, mark, new_study, send

TELL = "/api/studies/one/trials/0/tell"


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("BOGRAPE_STATE", str(tmp_path / "state"))
    url = new_study(tmp_path)
    Study.load(url, "one").ask()
    return url


def value(url: str) -> float | None:
    return Study.load(url, "one").trials[0].value


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("[::1]:9000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:8000", 421),
        ("evil@127.0.0.1", 421),
        ("127.0.0.1:99999999", 421),
        ("", 421),
        ("192.168.0.7", 421),
    ],
)
def test_only_requests_to_names_of_this_machine_are_answered(
    url: str, host: str, status: int
) -> None:
    with client(url) as web:
        assert web.get("/healthz", headers={"host": host}).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:8001"},
        {"origin": "http://localhost:8000"},  # not the origin of the request's own host
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_cannot_change_anything(url: str, headers: dict[str, str]) -> None:
    with client(url) as web:
        assert web.post(TELL, json={"value": 1}, headers=headers).status_code == 403
        page = {"csrf": mark(web), "value": "1"}
        form = web.post("/studies/one/trials/0/tell", data=page, headers=headers)
        assert form.status_code == 403
        assert value(url) is None
        fine = {"origin": HOST, "sec-fetch-site": "same-origin"}
        assert web.post(TELL, json={"value": 1}, headers=fine).status_code == 200


def test_forms_need_the_csrf_token_of_their_session_and_the_api_needs_json(url: str) -> None:
    form = "/studies/one/trials/0/tell"
    with client(url) as web, client(url) as other:
        stolen = mark(other)
        mark(web)
        for page in ({}, {"csrf": ""}, {"csrf": stolen}, {"csrf": "é"}):
            answer = web.post(form, data={**page, "value": "1"})
            assert answer.status_code == 403
        for kind in ("text/plain", "application/x-www-form-urlencoded"):
            raw = web.post(TELL, content='{"value": 1}', headers={"content-type": kind})
            assert raw.status_code == 415
        assert value(url) is None
        assert send(web, form, {"value": "1.5"}).status_code == 200
    assert value(url) == 1.5


def test_every_response_has_the_content_security_policy(url: str) -> None:
    with client(url) as web:
        for path in (
            "/",
            "/healthz",
            "/nothing",
            "/static/app.js",
            "/studies/one",
            "/openapi.json",
        ):
            headers = web.get(path).headers
            policy = headers["content-security-policy"]
            assert "script-src 'self';" in policy
            assert "unsafe-inline" not in policy.replace("style-src-attr 'unsafe-inline'", "")
            assert headers["x-content-type-options"] == "nosniff"
        assert (
            "default-src"
            in web.get("/", headers={"host": "evil"}).headers["content-security-policy"]
        )
        page = web.get("/studies/one").text
        assert "<script>" not in page
        assert "onclick" not in page


def test_access_without_the_token_is_denied(url: str) -> None:
    token = "a-long-enough-token"
    place = Place(host="0.0.0.0")
    bearer = {"authorization": f"Bearer {token}"}
    with client(url, place=place, token=token, base="http://192.168.0.7:8000") as web:
        assert web.get("/healthz").status_code == 200
        for path in ("/api/studies", "/openapi.json", "/api/studies/one/export/csv"):
            assert web.get(path).status_code == 401
            assert web.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
            assert web.get(path, headers={"authorization": f"Basic {token}"}).status_code == 401
            assert web.get(path, headers=bearer).status_code == 200
        assert web.post(TELL, json={"value": 1}).status_code == 401
        page = web.get("/studies/one", follow_redirects=False)
        assert (page.status_code, page.headers["location"]) == (303, "/login")
        assert web.get("/studies/one", headers={"host": "rebound.example"}).status_code == 421
        # users log in once
        assert web.post("/login", data={"token": "wrong-but-long-enough"}).status_code == 401
        assert web.get("/studies/one", follow_redirects=False).status_code == 303
        web.post("/login", data={"token": token})
        cookie = web.cookies.jar
        assert any(c.has_nonstandard_attr("HttpOnly") for c in cookie)
        assert web.get("/studies/one").status_code == 200
        # a session alone does not let scripts of other pages use the API
        assert web.post(TELL, json={"value": 1}).status_code == 403
        fine = {"x-csrf-token": mark(web)}
        assert web.post(TELL, json={"value": 1}, headers=fine).status_code == 200
        # a session is signed
        web.cookies.clear()
        web.cookies.set("bogrape_session", "forged.99999999999." + "0" * 64)
        assert web.get("/studies/one", follow_redirects=False).status_code == 303


def test_a_token_is_made_once_kept_as_a_hash_and_ends_when_renewed(url: str) -> None:
    first = Secrets(url, needed=True)
    assert first.printed is not None
    text = state_file().read_text()
    assert first.printed not in text
    assert state_file().stat().st_mode & 0o077 == 0
    again = Secrets(url, needed=True)
    assert again.printed is None
    assert again.is_token(first.printed)
    assert not again.is_token(first.printed + "x")
    session = again.new_session()
    assert Secrets(url, needed=True).is_session(session)
    renewed = Secrets(url, needed=True, renew=True)
    assert renewed.printed is not None
    assert not renewed.is_token(first.printed)
    assert not renewed.is_session(session)
    with pytest.raises(InvalidInputError, match="16 or more"):
        Secrets(url, token="short", needed=True)


def test_a_read_only_server_changes_nothing(url: str) -> None:
    with client(url, place=Place(read_only=True)) as web:
        assert web.get("/healthz").json()["read_only"] is True
        assert web.post(TELL, json={"value": 1}).status_code == 403
        assert web.post("/api/studies/one/ask", json={}).status_code == 403
        page = web.get("/studies/one").text
        assert "read-only" in page
        assert "<form" not in page
        assert web.post("/person", data={"person": "x"}).status_code == 403
    assert value(url) is None


def test_too_large_requests_are_refused_before_they_are_stored(url: str) -> None:
    with client(url) as web:
        large = json.dumps({"text": "x" * 1_100_000})
        headers = {"content-type": "application/json"}
        answer = web.post("/api/studies/one/trials/0/comments", content=large, headers=headers)
        assert answer.status_code == 413

        def endless() -> Any:
            for _ in range(200):
                yield b"x" * 100_000

        chunked = web.post("/studies/one/upload", content=endless())
        assert chunked.status_code == 413
        assert web.get("/" + "x" * 5000).status_code == 414


@pytest.mark.parametrize(
    "kind",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=x; charset=klingon",
        "multipart/form-data; boundary=" + "x" * 1000,
    ],
)
@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"--x",
        b"--x\r\n\r\n",
        b"--x\r\nContent-Disposition: form-data\r\n\r\nhello\r\n--x--\r\n",
        b'--x\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n\xff\r\n--x--\r\n',
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="../a"\r\n\r\n1\r\n' * 3,
    ],
)
def test_broken_forms_are_refused(url: str, kind: str, raw: bytes) -> None:
    with client(url) as web:
        headers = {"content-type": kind, "x-csrf-token": mark(web)}
        answer = web.post("/studies/one/upload", content=raw, headers=headers)
        assert 400 <= answer.status_code < 500


def test_hostile_text_is_escaped_everywhere(url: str) -> None:
    with client(url) as web:
        send(web, "/person", {"person": NASTY[:80]})
        send(web, "/studies/one/trials/0/comment", {"text": NASTY})
        send(web, "/studies/one/trials/0/fail", {"reason": NASTY})
        for path in ("/", "/studies/one", "/studies/one/trials/0"):
            page = web.get(path).text
            assert "<script>alert" not in page
            assert "<img src=x" not in page
        page = web.get("/studies/one/trials/0").text
        assert "&lt;script&gt;" in page
        assert "{{7*7}}" in page
        answer = web.get(f"/studies/{NASTY}", headers={"accept": "text/html"})
        assert answer.status_code == 404
        assert "<script>alert" not in answer.text
        odd = web.post("/person", data={"csrf": mark(web), "person": "x", "next": "//evil.example"},
                       follow_redirects=False)  # fmt: skip
        assert odd.headers["location"] == "/"
