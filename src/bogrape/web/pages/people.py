"""Identity of a user: token, session and name."""

from __future__ import annotations

import time
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from ..guard import PERSON, SESSION, as_person, cookie
from .sent import Sent, back


def login_form(sent: Sent) -> Response:
    """The page where the token is entered."""
    return sent.page("login.html", wrong=False)


def login(sent: Sent) -> Response:
    """Open a session for a user with the token."""
    if not sent.visit.secrets.is_token(sent.text("token")):
        time.sleep(0.5)  # slows down guessing
        return sent.page("login.html", 401, wrong=True)
    answer = back()
    answer.headers.append(
        "set-cookie",
        cookie(SESSION, sent.visit.secrets.new_session(), secure=sent.server.place.is_secure),
    )
    return answer


def logout(sent: Sent) -> Response:  # noqa: ARG001
    """Forget the session in this browser."""
    answer = back("login")
    answer.delete_cookie(SESSION, samesite="strict")
    return answer


def person(sent: Sent) -> Response:
    """Save a user's name in a cookie."""
    name = as_person(sent.text("person")) or ""
    given = sent.text("next")
    fine = given.startswith("/") and not given.startswith(("//", "/\\")) and given.isprintable()
    answer = RedirectResponse(quote(given, safe="/%.~-_") if fine else "/", 303)
    secure = sent.server.place.is_secure
    answer.headers.append("set-cookie", cookie(PERSON, name, secure=secure))
    return answer
