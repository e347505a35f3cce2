"""Forms that create something: a user's own candidate, a study."""

from __future__ import annotations

from markupsafe import Markup
from starlette.responses import Response

from ...errors import BoGrapeError
from .. import actions, forms
from ..drawn import editor_data, graph_of
from ..errors import Refused, status_of
from .results import measured
from .sent import Sent, back

_EXAMPLE = {
    "kind": "molecules",
    "name": "",
    "elements": "C, N, O",
    "n_min": "5",
    "n_max": "8",
    "direction": "maximize",
    "n_initial": "10",
}


def candidate_form(sent: Sent) -> Response:
    """The page where a candidate is written or drawn."""
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


def candidate(sent: Sent) -> Response:
    """Add a candidate."""
    room = sent.room
    if sent.text("how") == "drawn":
        graph = graph_of(sent.text("drawing"), room.survey().space)
    else:
        if not sent.text("text"):
            raise Refused("write the candidate in the field, or draw it", 422)
        graph = actions.read_graph(room, sent.text("text"))
    value: actions.Value | None = None
    noise: actions.Noise = None
    if any(text.strip() for name, text in sent.fields.items() if name.startswith("value")):
        value, noise = measured(sent)
    made = actions.add_candidate(sent.server, sent.name, graph, sent.who, value, noise)
    return back("studies", sent.name, "trials", made.id)


def new_form(sent: Sent) -> Response:
    """The page where a study is defined."""
    return sent.page("new.html", fields=_EXAMPLE, check=None)


def check(sent: Sent) -> Response:
    """The meaning of a form, its contradictions, and some graphs."""
    template = "check_part.html" if sent.is_part else "new.html"
    found = actions.checked_form(sent.server, sent.fields, 6)
    pictures = [Markup(picture) for picture in found["pictures"]]
    return sent.page(template, fields=sent.fields, check={**found, "pictures": pictures})


def new(sent: Sent) -> Response:
    """Create a study."""
    try:
        found = actions.checked_form(sent.server, sent.fields, 1)
        if found["problems"]:
            return sent.page("new.html", 422, fields=sent.fields, check={**found, "pictures": []})
        name, settings = forms.study_of(sent.fields)
        if name in sent.server.rooms.names():
            raise Refused(f"name: there is already a study {name!r}", 409)
        actions.create(sent.server, name, settings)
    except (Refused, BoGrapeError) as error:
        problem = {"problems": [("", str(error))], "rules": [], "pictures": [], "note": ""}
        return sent.page("new.html", status_of(error), fields=sent.fields, check=problem)
    return back("studies", name)
