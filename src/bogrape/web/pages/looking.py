"""Pages that change nothing: studies, trials, figures."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import TimeoutError as TooLate
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from ...errors import BoGrapeError
from .. import api, exports, views
from ..errors import NotFound, Refused
from ..jobs import Job
from .sent import Sent

_FIGURE_SECONDS = 120.0


def home(sent: Sent) -> Response:
    """The list of all studies."""
    rooms = sent.server.rooms
    cards, broken = [], []
    for name in rooms.names():
        try:
            cards.append(views.study_card(rooms.room(name)))
        except BoGrapeError as error:  # a study that cannot be opened must not hide the others
            broken.append((name, str(error)))
    return sent.page("home.html", cards=cards, broken=broken)


def study(sent: Sent) -> Response:
    """A study: its requests, its running, finished and failed trials, and the best ones."""
    given = sent.request.query_params.get("page", "1")
    page = int(given) if given.isdecimal() and given.isascii() and len(given) < 8 else 1
    study = views.study_view(sent.room, page)
    jobs = [job for job in sent.server.asks.of(sent.name) if not job.is_over or _is_fresh(job)]
    return sent.page("study.html", study=study, jobs=[job.data() for job in jobs])


def _is_fresh(job: Job) -> bool:
    return job.ended is not None and time.monotonic() - job.ended < 120.0


def trial(sent: Sent) -> Response:
    """A trial: picture, prediction, why it was proposed, history, comments."""
    room = sent.room
    trials = room.survey().trials
    if not 0 <= sent.trial < len(trials):
        raise NotFound(f"there is no trial {sent.trial}")
    trial = views.trial_page(room, trials[sent.trial])
    return sent.page("trial.html", trial=trial, study={"name": room.name})


def figures(sent: Sent) -> Response:
    """Figures, which need a fit or a drawing and are made in another process."""
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
    template = "figures_part.html" if sent.is_part else "figures.html"
    return sent.page(template, study={"name": room.name}, found={**found, "charts": charts})


def _named(chart: Mapping[str, str]) -> Markup:
    """The drawing, with a description for screen readers."""
    label = Markup('<svg role="img" aria-label="{}"').format(chart["words"])
    return Markup(chart["svg"].replace("<svg", label, 1))


def help_page(sent: Sent) -> Response:
    """The endpoints of the HTTP API."""
    return sent.page("help.html", endpoints=api.ENDPOINTS)


def export(sent: Sent) -> Response:
    """All trials as a file."""
    return exports.export(sent.room, sent.request.path_params["kind"])
