"""Files of measurements: first shown row by row, then recorded."""

from __future__ import annotations

import csv
import io
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import final

from starlette.responses import Response

from ...errors import InvalidInputError
from ...files.observations import Columns, ImportedRow, kind_of, rows_of
from ...graph import Graph
from ...report.text import number
from .. import actions, views
from ..actions import Who
from ..errors import Refused
from .sent import Sent, back

_MOST_ROWS = 10_000
_SHOWN_ROWS = 300
_MOST_UPLOADS = 30
_UPLOAD_SECONDS = 3600.0


@final
@dataclass(frozen=True)
class _Upload:
    """A file whose rows have been read, waiting to be confirmed."""

    study: str
    rows: list[ImportedRow]
    made: float


_uploads: OrderedDict[str, _Upload] = OrderedDict()
_uploads_lock = threading.Lock()


def upload_form(sent: Sent) -> Response:
    """The page where a file is chosen."""
    return sent.page("upload.html", study={"name": sent.room.name}, rows=None)


def upload(sent: Sent) -> Response:
    """Read a file, and show how each row would be recorded."""
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


def confirm(sent: Sent) -> Response:
    """Record the usable rows of a file that was previewed."""
    with _uploads_lock:
        upload = _uploads.get(sent.text("upload"))
    if upload is None or upload.study != sent.name:
        raise Refused("the file is no longer available; choose it again", 409)
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
