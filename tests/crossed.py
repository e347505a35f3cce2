"""Combinations of parameters, of which an even part always runs, the rest only in deep runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def crossed(*values: Sequence[Any], one_in: int) -> list[Any]:
    """All combinations as parameters of a test; all but one in ``one_in`` are deep tests.

    The others are spread as in a Latin square: they contain each value of each list, and most
    pairs of values.
    """
    out = []
    for place in product(*(range(len(some)) for some in values)):
        chosen = [some[i] for some, i in zip(values, place, strict=True)]
        marks = [pytest.mark.deep] if sum(place) % one_in else []
        out.append(pytest.param(*chosen, marks=marks, id="-".join(map(str, chosen))))
    return out
