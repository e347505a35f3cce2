"""The pages: what is shown, and what forms do. Everything works without a script."""

from __future__ import annotations

import csv
import io
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass
from typing import Any, final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ..errors import BoGrapeError, InvalidInputError
from ..files.observations import Columns, ImportedRow, kind_of, rows_of
from ..graph import Graph
from ..report.text import number
from ..trial import package_version
from . import actions, api, exports, forms, views
from .actions import Server, Wanted, Who
from .drawn import editor_data, graph_of
from .errors import NotFound, Refused, status_of
from .guard import PERSON, SESSION, Visit, as_person, cookie
from .jobs import Job
from .rooms import Room

_MOST_FIELDS = 100
_MOST_CHARACTERS = 200_000  # of a field
_MOST_ROWS = 10_000  # of a file
_SHOWN_ROWS = 300
_MOST_UPLOADS = 30
_UPLOAD_SECONDS = 3600.0
_FIGURE_SECONDS = 120.0

_templates = Environment(
    loader=PackageLoader("bogrape.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@final
@dataclass(frozen=True, kw_only=True)
class Sent:
    """A request for a page, or a form that was filled in."""

    server: Server
    request: Request
    visit: Visit
    fields: Mapping[str, str]
    file: tuple[str, bytes] | None = None

    @property
    def name(self) -> str:
        """Name of the study."""
        return str(self.request.path_params["name"])

    @property
    def room(self) -> Room:
        """The study."""
        return self.server.rooms.room(self.name)

    @property
    def trial(self) -> int:
        """Number of the trial."""
        return int(self.request.path_params["trial"])

    @property
    def who(self) -> Who:
        """Who sends it; a form that is sent twice counts once."""
        given = self.fields.get("request_id", "")
        fine = 0 < len(given) <= 100 and given.isascii() and given.isprintable()
        content = {k: v for k, v in self.fields.items() if k not in ("request_id", "csrf")}
        content["path"] = self.request.url.path
        return Who(by=self.visit.person, request=given if fine else None, content=content)

    def text(self, name: str) -> str:
        """A field."""
        return self.fields.get(name, "").strip()

    def number(self, name: str) -> float | None:
        """A number, or ``None`` for an empty field."""
        form = forms.Form(self.fields)
        found = form.number(name)
        form.refuse()
        return found

    def page(self, template: str, code: int = 200, /, **context: Any) -> HTMLResponse:
        """A page."""
        text = _templates.get_template(template).render(
            person=self.visit.person or "",
            csrf=self.visit.mark,
            read_only=self.server.place.read_only,
            version=package_version(),
            request_id=lambda: secrets.token_urlsafe(12),
            url=_url,
            path=self.request.url.path,
            has_token=self.visit.secrets.has_token,
            **context,
        )
        return HTMLResponse(text, code)


def _url(*parts: object) -> str:
    """A path on this server, with every part quoted."""
    return "/" + "/".join(quote(str(part), safe="") for part in parts)


def back(*parts: object, anchor: str = "") -> RedirectResponse:
    """To another page, after a form."""
    return RedirectResponse(_url(*parts) + (f"#{anchor}" if anchor else ""), 303)


def error_page(server: Server, request: Request, message: str, status: int) -> HTMLResponse:
    """What went wrong, and a way back."""
    visit: Visit = request.state.visit
    sent = Sent(server=server, request=request, visit=visit, fields={})
    return sent.page("error.html", status, message=message, status=status)


# -- looking ----------------------------------------------------------------------------------


def _home(sent: Sent) -> Response:
    rooms = sent.server.rooms
    cards, broken = [], []
    for name in rooms.names():
        try:
            cards.append(views.study_card(rooms.room(name)))
        except BoGrapeError as error:  # one study that needs what is not there hides no other
            broken.append((name, str(error)))
    return sent.page("home.html", cards=cards, broken=broken)


def _study(sent: Sent) -> Response:
    given = sent.request.query_params.get("page", "1")
    page = int(given) if given.isdecimal() and given.isascii() and len(given) < 8 else 1
    study = views.study_view(sent.room, page)
    jobs = [job for job in sent.server.asks.of(sent.name) if not job.is_over or _is_fresh(job)]
    return sent.page("study.html", study=study, jobs=[job.data() for job in jobs])


def _is_fresh(job: Job) -> bool:
    return job.ended is not None and time.monotonic() - job.ended < 120.0


def _trial(sent: Sent) -> Response:
    room = sent.room
    trials = room.survey().trials
    if not 0 <= sent.trial < len(trials):
        raise NotFound(f"there is no trial {sent.trial}")
    trial = views.trial_page(room, trials[sent.trial])
    return sent.page("trial.html", trial=trial, study={"name": room.name})


def _figures(sent: Sent) -> Response:
    room, server = sent.room, sent.server

    def make() -> dict[str, Any]:
        task = {"kind": "figures", "storage": server.rooms.url, "study": room.name}
        job = server.drawings.submit(Job(task=task, limit=_FIGURE_SECONDS))
        try:
            return job.future.result(_FIGURE_SECONDS + 60)
        except TooLate:
            raise Refused("the figures take too long", 409) from None

    found = room.kept("figures", make)
    charts = [{**chart, "svg": _named(chart)} for chart in found["charts"]]
    template = "figures_part.html" if _is_part(sent) else "figures.html"
    return sent.page(template, study={"name": room.name}, found={**found, "charts": charts})


def _named(chart: Mapping[str, str]) -> Markup:
    """The drawing, with its words for those who cannot see it."""
    label = Markup('<svg role="img" aria-label="{}"').format(chart["words"])
    return Markup(chart["svg"].replace("<svg", label, 1))


def _is_part(sent: Sent) -> bool:
    return sent.request.headers.get("x-part") == "1"


def _help(sent: Sent) -> Response:
    return sent.page("help.html", endpoints=api.ENDPOINTS)


def _export(sent: Sent) -> Response:
    return exports.export(sent.room, sent.request.path_params["kind"])


# -- asking and telling -----------------------------------------------------------------------


def _ask(sent: Sent) -> Response:
    form = forms.Form(sent.fields)
    n, limit = form.whole("n") or 1, form.number("time_limit")
    form.refuse()
    if not 1 <= n <= 100:
        raise Refused("ask for 1 to 100 at a time", 422)
    if limit is not None and not 0 < limit <= 86400:
        raise Refused("seconds must be between 0 and 86400", 422)
    rules = forms.rules_of(sent.fields, sent.room.survey().space)
    wanted = Wanted(n=n, time_limit=limit, rules=rules)
    actions.ask(sent.server, sent.name, wanted, sent.who)
    return back("studies", sent.name, anchor="jobs")


def _stop(sent: Sent) -> Response:
    job = sent.server.asks.find(sent.request.path_params["job"])
    if job is None or job.study != sent.name:
        raise NotFound("there is no such request for suggestions; it may have ended long ago")
    if sent.text("take") == "1":
        sent.server.asks.enough(job)
    else:
        actions.cancel(sent.server, job, sent.who)
    return back("studies", sent.name, anchor="jobs")


def _measured(sent: Sent) -> tuple[actions.Value, actions.Noise]:
    """A value and the variance of its noise, which people give as a deviation."""
    goals = sent.room.survey().settings.goals
    if goals is not None:
        found = {name: sent.number(f"value:{name}") for name in goals.names}
        spread = {name: sent.number(f"deviation:{name}") for name in goals.names}
        if any(v is not None and (v < 0 or found[name] is None) for name, v in spread.items()):
            raise Refused("±: expected a number that is not negative, beside a value", 422)
        noises = {name: v**2 for name, v in spread.items() if v is not None}
        return {name: v for name, v in found.items() if v is not None}, noises or None
    value, deviation = sent.number("value"), sent.number("deviation")
    if value is None:
        raise Refused("value: a number is missing", 422)
    if deviation is not None and deviation < 0:
        raise Refused("±: expected a number that is not negative", 422)
    return value, None if deviation is None else deviation**2


def _tell(sent: Sent) -> Response:
    value, noise = _measured(sent)
    actions.tell(sent.server, sent.name, sent.trial, value, sent.who, noise=noise)
    return _after(sent)


def _fail(sent: Sent) -> Response:
    actions.fail(sent.server, sent.name, sent.trial, sent.text("reason"), sent.who)
    return _after(sent)


def _correct(sent: Sent) -> Response:
    reason = sent.text("reason") or None
    value: actions.Value | None = None
    noise: actions.Noise = None
    if not sent.text("withdraw"):
        value, noise = _measured(sent)
    actions.correct(sent.server, sent.name, sent.trial, value, sent.who, noise=noise, reason=reason)
    return _after(sent)


def _release(sent: Sent) -> Response:
    actions.release(sent.server, sent.name, sent.trial, sent.who)
    return _after(sent)


def _retry(sent: Sent) -> Response:
    actions.retry(sent.server, sent.name, sent.trial, sent.who)
    return _after(sent)


def _repeat(sent: Sent) -> Response:
    made = actions.repeat(sent.server, sent.name, sent.trial, sent.who)
    return back("studies", sent.name, "trials", made.id)


def _comment(sent: Sent) -> Response:
    text = sent.text("text")
    actions.comment(sent.server, sent.name, sent.trial, text, sent.who)
    return back("studies", sent.name, "trials", sent.trial, anchor="comments")


def _after(sent: Sent) -> Response:
    """Where the form was."""
    if sent.text("next") == "study":
        return back("studies", sent.name, anchor="pending")
    return back("studies", sent.name, "trials", sent.trial)


def _paste(sent: Sent) -> Response:
    """Lines such as ``12 3.5`` or ``12 3.5 0.1``: trial, value and perhaps its deviation."""
    room = sent.room
    if room.survey().settings.goals is not None:
        raise Refused("several properties: use the fields of each trial, or upload a file", 409)
    known = {trial.id: trial for trial in room.survey().trials}
    rows: list[tuple[int, float, float | None]] = []
    problems = []
    lines = [line for line in sent.text("lines").splitlines() if line.strip()]
    for k, line in enumerate(lines[:_MOST_ROWS], start=1):
        parts = line.replace(";", " ").replace("\t", " ").split()
        try:
            number_of, value = int(parts[0].lstrip("#")), float(parts[1])
            deviation = float(parts[2]) if len(parts) > 2 else None
            if len(parts) > 3 or not abs(value) < float("inf"):
                raise ValueError
            if deviation is not None and not 0 <= deviation < float("inf"):
                raise ValueError
        except (ValueError, IndexError):
            problems.append(f"line {k}: expected trial, value and perhaps ±, got {line!r:.60}")
            continue
        trial = known.get(number_of)
        if trial is None or trial.state not in ("pending", "queued"):
            state = "does not exist" if trial is None else f"is {trial.state} already"
            if trial is None or trial.value != value:
                problems.append(f"line {k}: trial {number_of} {state}")
            continue
        rows.append((number_of, value, None if deviation is None else deviation**2))
    if not lines:
        problems.append("there is nothing in the field")
    if problems:
        return sent.page(
            "error.html",
            422,
            message="Nothing was recorded. " + "; ".join(problems[:50]),
            status=422,
        )
    for number_of, value, noise in rows:
        actions.tell(sent.server, sent.name, number_of, value, sent.who, noise=noise)
    return back("studies", sent.name, anchor="pending")


# -- files of measurements --------------------------------------------------------------------


@final
@dataclass(frozen=True)
class _Upload:
    """A file whose rows have been read, waiting to be confirmed."""

    study: str
    rows: list[ImportedRow]
    made: float


_uploads: OrderedDict[str, _Upload] = OrderedDict()
_uploads_lock = threading.Lock()


def _upload_form(sent: Sent) -> Response:
    return sent.page("upload.html", study={"name": sent.room.name}, rows=None)


def _upload(sent: Sent) -> Response:
    """Read a file, and show what would become of each row."""
    room = sent.room
    if sent.file is None or not sent.file[1]:
        raise Refused("choose a file first: CSV or JSON lines", 422)
    file_name, raw = sent.file
    kind = kind_of(file_name, None)
    space = room.survey().space
    columns = Columns(
        graph=sent.text("graph_column") or None,
        value=sent.text("value_column") or "value",
        noise=sent.text("noise_column") or None,
    )
    try:
        text = raw.decode("utf-8-sig")
        goals = room.survey().settings.goals
        file = io.StringIO(text, newline="")
        rows = rows_of(file, room.format, kind, space, columns=columns, goals=goals)
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidInputError(f"the file cannot be read: {str(error)[:200]}") from None
    if len(rows) > _MOST_ROWS:
        raise Refused(f"expected at most {_MOST_ROWS} rows, got {len(rows)}", 413)
    number_of = secrets.token_urlsafe(16)
    now = time.monotonic()
    with _uploads_lock:
        for old in [k for k, u in _uploads.items() if now - u.made > _UPLOAD_SECONDS]:
            del _uploads[old]
        while len(_uploads) >= _MOST_UPLOADS:
            _uploads.popitem(last=False)
        _uploads[number_of] = _Upload(room.name, rows, now)
    look = room.survey().look
    good = [row for row in rows if row.problem is None]
    shown = [
        {
            "line": row.line,
            "problem": row.problem,
            "value": ", ".join(f"{name} {number(v, 4)}" for name, v in row.values.items())
            or ("" if row.value is None else number(row.value, 6)),
            "text": "" if row.graph is None else look.text(row.graph) or repr(row.graph)[:80],
            "outside": " ".join(views.broken_in_words(space, row.outside)),
        }
        for row in [r for r in rows if r.problem is not None] + good
    ]
    return sent.page(
        "upload.html",
        study={"name": room.name},
        rows=shown[:_SHOWN_ROWS],
        n_more=max(0, len(shown) - _SHOWN_ROWS),
        n_good=len(good),
        n_bad=len(rows) - len(good),
        n_outside=sum(bool(row.outside) for row in good),
        upload=number_of,
        file_name=file_name[:100],
    )


def _confirm(sent: Sent) -> Response:
    with _uploads_lock:
        upload = _uploads.get(sent.text("upload"))
    if upload is None or upload.study != sent.name:
        raise Refused("the file is no longer here; choose it again", 409)
    good: list[tuple[Graph, actions.Value, actions.Noise]] = []
    for row in upload.rows:
        if row.graph is not None and row.values:
            good.append((row.graph, dict(row.values), dict(row.noises)))
        elif row.graph is not None and row.value is not None:
            good.append((row.graph, row.value, row.noise))
    who = sent.who
    # the same file is imported once, however often this form is sent
    who = Who(by=who.by, request=f"upload-{sent.text('upload')}", content={"rows": len(good)})
    actions.add_observations(sent.server, sent.name, good, who)
    return back("studies", sent.name, anchor="best")


# -- candidates of one's own ------------------------------------------------------------------


def _candidate_form(sent: Sent) -> Response:
    room = sent.room
    survey = room.survey()
    given = sent.request.query_params.get("from", "")
    start = None
    if given.isdecimal() and given.isascii() and len(given) < 9 and int(given) < len(survey.trials):
        start = survey.trials[int(given)].graph
    return sent.page(
        "candidate.html",
        study={"name": room.name},
        editor=editor_data(survey.space, start),
        text_name=survey.look.text_name,
        nouns=survey.look.nouns,
        text="" if start is None else survey.look.text(start),
        properties=[] if survey.settings.goals is None else list(survey.settings.goals.names),
    )


def _candidate(sent: Sent) -> Response:
    room = sent.room
    if sent.text("how") == "drawn":
        graph = graph_of(sent.text("drawing"), room.survey().space)
    else:
        if not sent.text("text"):
            raise Refused("write the candidate into the field, or draw it", 422)
        graph = actions.read_graph(room, sent.text("text"))
    value: actions.Value | None = None
    noise: actions.Noise = None
    if any(text.strip() for name, text in sent.fields.items() if name.startswith("value")):
        value, noise = _measured(sent)
    made = actions.add_candidate(sent.server, sent.name, graph, sent.who, value, noise)
    return back("studies", sent.name, "trials", made.id)


# -- new studies ------------------------------------------------------------------------------


_EXAMPLE = {
    "kind": "molecules",
    "name": "",
    "elements": "C, N, O",
    "n_min": "5",
    "n_max": "8",
    "direction": "maximize",
    "n_initial": "10",
}


def _new_form(sent: Sent) -> Response:
    return sent.page("new.html", fields=_EXAMPLE, check=None)


def _check(sent: Sent) -> Response:
    template = "check_part.html" if _is_part(sent) else "new.html"
    found = actions.checked_form(sent.server, sent.fields, 6)
    pictures = [Markup(picture) for picture in found["pictures"]]
    return sent.page(template, fields=sent.fields, check={**found, "pictures": pictures})


def _new(sent: Sent) -> Response:
    try:
        found = actions.checked_form(sent.server, sent.fields, 1)
        if found["problems"]:
            return sent.page("new.html", 422, fields=sent.fields, check={**found, "pictures": []})
        name, settings = forms.study_of(sent.fields)
        if name in sent.server.rooms.names():
            raise Refused(f"name: there is a study {name!r} already", 409)
        actions.create(sent.server, name, settings)
    except (Refused, BoGrapeError) as error:
        problem = {"problems": [("", str(error))], "rules": [], "pictures": [], "note": ""}
        return sent.page("new.html", status_of(error), fields=sent.fields, check=problem)
    return back("studies", name)


# -- people -----------------------------------------------------------------------------------


def _login_form(sent: Sent) -> Response:
    return sent.page("login.html", wrong=False)


def _login(sent: Sent) -> Response:
    if not sent.visit.secrets.is_token(sent.text("token")):
        time.sleep(0.5)  # guessing takes its time
        return sent.page("login.html", 401, wrong=True)
    answer = back()
    answer.headers.append(
        "set-cookie",
        cookie(SESSION, sent.visit.secrets.new_session(), secure=sent.server.place.is_secure),
    )
    return answer


def _logout(sent: Sent) -> Response:  # noqa: ARG001
    answer = back("login")
    answer.delete_cookie(SESSION, samesite="strict")
    return answer


def _person(sent: Sent) -> Response:
    name = as_person(sent.text("person")) or ""
    given = sent.text("next")
    fine = given.startswith("/") and not given.startswith(("//", "/\\")) and given.isprintable()
    answer = RedirectResponse(quote(given, safe="/%.~-_") if fine else "/", 303)
    secure = sent.server.place.is_secure
    answer.headers.append("set-cookie", cookie(PERSON, name, secure=secure))
    return answer


# -- into Starlette ---------------------------------------------------------------------------

_S = "/studies/{name}"
_T = _S + "/trials/{trial:int}"
_PAGES: tuple[tuple[str, Callable[[Sent], Response]], ...] = (
    ("/", _home),
    ("/new", _new_form),
    ("/login", _login_form),
    ("/help", _help),
    (_S, _study),
    (_T, _trial),
    (_S + "/figures", _figures),
    (_S + "/upload", _upload_form),
    (_S + "/candidate", _candidate_form),
    (_S + "/export/{kind}", _export),
)
_FORMS: tuple[tuple[str, Callable[[Sent], Response]], ...] = (
    ("/new", _new),
    ("/new/check", _check),
    ("/logout", _logout),
    ("/person", _person),
    (_S + "/ask", _ask),
    (_S + "/jobs/{job}/stop", _stop),
    (_S + "/paste", _paste),
    (_S + "/upload", _upload),
    (_S + "/confirm", _confirm),
    (_S + "/candidate", _candidate),
    (_T + "/tell", _tell),
    (_T + "/fail", _fail),
    (_T + "/correct", _correct),
    (_T + "/release", _release),
    (_T + "/retry", _retry),
    (_T + "/repeat", _repeat),
    (_T + "/comment", _comment),
)


def routes(server: Server) -> list[Route]:
    """All pages and forms, for Starlette."""
    out = [Route(path, _shows(server, do), methods=["GET"]) for path, do in _PAGES]
    out += [Route(path, _acts(server, do), methods=["POST"]) for path, do in _FORMS]
    out.append(Route("/login", _acts(server, _login, marked=False), methods=["POST"]))
    out.append(Route(_S + "/events", _events(server), methods=["GET"]))
    return out


Handler = Callable[[Request], Awaitable[Response]]


def _shows(server: Server, do: Callable[[Sent], Response]) -> Handler:
    async def handle(request: Request) -> Response:
        sent = Sent(server=server, request=request, visit=request.state.visit, fields={})
        return await run_in_threadpool(do, sent)

    return handle


def _acts(server: Server, do: Callable[[Sent], Response], *, marked: bool = True) -> Handler:
    """A form: whatever it does, its mark is checked first."""

    async def handle(request: Request) -> Response:
        fields, file = await _read_form(request)
        visit: Visit = request.state.visit
        if marked:
            visit.check_mark(fields.get("csrf") or request.headers.get("x-csrf-token"))
        sent = Sent(server=server, request=request, visit=visit, fields=fields, file=file)
        return await run_in_threadpool(do, sent)

    return handle


async def _read_form(request: Request) -> tuple[dict[str, str], tuple[str, bytes] | None]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise Refused("expected a form", 415)
    fields: dict[str, str] = {}
    file = None
    try:
        async with request.form(
            max_files=1, max_fields=_MOST_FIELDS, max_part_size=_MOST_CHARACTERS
        ) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    file = (value.filename or "", await value.read())
                else:
                    fields[name] = value
    except MultiPartException as error:
        raise Refused(f"the form cannot be read: {str(error.message)[:200]}") from None
    except (ValueError, LookupError, KeyError, AssertionError) as error:
        raise Refused(f"the form cannot be read: {str(error)[:200]}") from None
    if len(fields) > _MOST_FIELDS or any(len(v) > _MOST_CHARACTERS for v in fields.values()):
        raise Refused("the form is too large", 413)
    for value in (*fields.values(), *fields):
        if "\0" in value or any("\ud800" <= c <= "\udfff" for c in value):
            raise Refused("the form has null or broken characters", 422)
    return fields, file


def _events(server: Server) -> Handler:
    async def handle(request: Request) -> Response:
        name = request.path_params["name"]
        await run_in_threadpool(server.rooms.room, name)
        server.live.check()
        return StreamingResponse(
            server.live.stream(name),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return handle
