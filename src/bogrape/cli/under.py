"""Options of ``bogrape ask`` for one suggestion: rules as JSON, and the graph to stay near."""

from __future__ import annotations

import json
from pathlib import Path

from ..constraints import Rule, rule_from_dict
from ..errors import InvalidInputError
from ..files.formats import Format
from ..graph import Graph
from ..study import Study


def rule_of_text(text: str) -> Rule:
    """A rule from JSON, with the same keys as in a study file."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InvalidInputError(
            f"expected --rule to be JSON, got {text!r:.100}: {error}; "
            """try --rule '{"rule": "NumberOfEdges", "maximum": 8}'"""
        ) from None
    return rule_from_dict(data)


def near_graph(study: Study, format: Format, path: Path | None, trial: int | None) -> Graph | None:
    """The graph of a file or of a trial, if one is given."""
    if path is not None and trial is not None:
        raise InvalidInputError("expected --near or --near-trial, got both; leave one of them out")
    if trial is not None:
        trials = study.trials
        if trial >= len(trials):
            raise InvalidInputError(
                f"there is no trial {trial}; the study has {len(trials)}, numbered from 0"
            )
        return trials[trial].graph
    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise InvalidInputError(f"cannot read {str(path)!r}: {error}") from None
    if text.startswith("{"):  # no other format begins like this
        return Graph.from_json(text)
    return format.decode(text)
