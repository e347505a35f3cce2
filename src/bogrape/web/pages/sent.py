"""A request for a page, or a form that was filled in, and the answer to it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse

from ...trial import package_version
from .. import forms
from ..actions import Server, Who
from ..errors import Refused
from ..guard import Visit
from ..rooms import Room

_MOST_FIELDS = 100
_MOST_CHARACTERS = 200_000  # of a field

_templates = Environment(
    loader=PackageLoader("bogrape.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_templates.globals["field_names"] = forms.FIELD_NAMES


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
        """The sender; a form that is sent twice counts once."""
        given = self.fields.get("request_id", "")
        fine = 0 < len(given) <= 100 and given.isascii() and given.isprintable()
        content = {k: v for k, v in self.fields.items() if k not in ("request_id", "csrf")}
        content["path"] = self.request.url.path
        return Who(by=self.visit.person, request=given if fine else None, content=content)

    @property
    def is_part(self) -> bool:
        """True if a script asks for a part of the page."""
        return self.request.headers.get("x-part") == "1"

    def text(self, name: str) -> str:
        """The text of a field."""
        return self.fields.get(name, "").strip()

    def number(self, name: str) -> float | None:
        """A number, or ``None`` for an empty field."""
        form = forms.Form(self.fields)
        found = form.number(name)
        form.refuse()
        return found

    def page(self, template: str, code: int = 200, /, **context: Any) -> HTMLResponse:
        """A page from a template."""
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
    """Redirect to another page after a form."""
    return RedirectResponse(_url(*parts) + (f"#{anchor}" if anchor else ""), 303)


def error_page(server: Server, request: Request, message: str, status: int) -> HTMLResponse:
    """A page that says what went wrong, with a way back."""
    visit: Visit = request.state.visit
    sent = Sent(server=server, request=request, visit=visit, fields={})
    return sent.page("error.html", status, message=message, status=status)


async def read_form(request: Request) -> tuple[dict[str, str], tuple[str, bytes] | None]:
    """The fields of a form, and its uploaded file, within limits."""
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
            raise Refused("the form has null or invalid characters", 422)
    return fields, file
