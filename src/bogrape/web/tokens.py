"""Secrets: the access token, sessions of browsers, and marks against forged forms.

The token is kept as a hash (scrypt), together with the key that signs sessions, in a file of the
user: ``serve.json`` in ``$BOGRAPE_STATE``, else in ``$XDG_STATE_HOME/bogrape`` or
``~/.local/state/bogrape``. So the token survives a restart, and is shown only once.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import threading
import time
from pathlib import Path
from typing import Any, final

from ..errors import InvalidInputError

LEAST_TOKEN = 16  # characters
_MOST_TOKEN = 1000
_SESSION = 14 * 86400  # seconds


def state_file() -> Path:
    """The file that holds hashes and keys."""
    if given := os.environ.get("BOGRAPE_STATE"):
        return Path(given) / "serve.json"
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "bogrape" / "serve.json"


@final
class Secrets:
    """Secrets of the server of one storage, and checks against them.

    Args:
        storage: URL of the storage.
        token: token to use from now on; ``None`` for the previous one.
        needed: whether a token is required; if there is none yet, one is created.
        renew: whether to create a new token in any case.
    """

    def __init__(
        self, storage: str, *, token: str | None = None, needed: bool, renew: bool = False
    ) -> None:
        self.printed: str | None = None  # a token that was just created
        if token is not None and not (
            LEAST_TOKEN <= len(token) <= _MOST_TOKEN and token.isascii() and token.isprintable()
        ):
            raise InvalidInputError(
                f"a token must have {LEAST_TOKEN} or more plain characters without spaces, got "
                f"{len(token)}; leave it out to have one created"
            )
        place = hashlib.sha256(storage.encode()).hexdigest()[:32]
        path = state_file()
        record = _read(path).get(place, {})
        if not isinstance(record.get("key"), str):
            record = {"key": secrets.token_hex(32)}
        if token is None and (renew or (needed and "hash" not in record)):
            token = self.printed = secrets.token_urlsafe(32)
        if token is not None:
            salt = secrets.token_bytes(16)
            # other sessions end with the old token
            record = {
                "key": secrets.token_hex(32),
                "salt": salt.hex(),
                "hash": _hash(token, salt).hex(),
            }
        self.is_stored = _write(path, place, record)
        self._key = bytes.fromhex(record["key"])
        self.has_token = (needed or token is not None) and "hash" in record
        self._salt = bytes.fromhex(record.get("salt", ""))
        self._hash = bytes.fromhex(record.get("hash", ""))
        self._seen: bytes | None = None  # a quick hash of the token, once verified
        self._lock = threading.Lock()

    # -- the token ----------------------------------------------------------------------------

    def is_token(self, given: str) -> bool:
        """True if this is the token."""
        if not self.has_token or not given or len(given) > _MOST_TOKEN:
            return False
        quick = self._sign("seen", given)
        if self._seen is not None:  # scrypt is slow on purpose: once is enough
            return hmac.compare_digest(quick, self._seen)
        with self._lock:
            right = hmac.compare_digest(_hash(given, self._salt), self._hash)
        if right:
            self._seen = quick
        return right

    # -- sessions -----------------------------------------------------------------------------

    def new_session(self) -> str:
        """The session cookie for a new browser."""
        body = f"{secrets.token_urlsafe(18)}.{int(time.time()) + _SESSION}"
        return f"{body}.{self._sign('session', body).hex()}"

    def is_session(self, cookie: str | None) -> bool:
        """True if this server issued the cookie and it has not expired."""
        if cookie is None or len(cookie) > 300 or cookie.count(".") != 2 or not cookie.isascii():
            return False
        body, _, mark = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign("session", body).hex(), mark):
            return False
        return int(body.rpartition(".")[2]) > time.time()

    def mark_of(self, session: str) -> str:
        """Mark that the forms of this session carry, and no other site can know."""
        return self._sign("form", session).hex()

    def is_mark(self, given: object, session: str) -> bool:
        """True if a form comes from a page of this session."""
        if not isinstance(given, str) or not given.isascii():
            return False
        return hmac.compare_digest(given, self.mark_of(session))

    def _sign(self, purpose: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{purpose}:{text}".encode(), "sha256")


def _hash(token: str, salt: bytes) -> bytes:
    return hashlib.scrypt(token.encode(), salt=salt, n=2**14, r=8, p=1, dklen=32)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    known = data.items() if isinstance(data, dict) else ()
    return {place: record for place, record in known if isinstance(record, dict)}


def _write(path: Path, place: str, record: dict[str, Any]) -> bool:
    """Save the record, readable for this user only; returns True on success."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        data = json.dumps({**_read(path), place: record})
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(data)
        part.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        return False
    return True
