"""Combinations of parameters, of which an even part runs every time and the rest in deep runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def crossed(*values: Sequence[Any], one_in: int) -> list[Any]:
    """All combinations as parameters of a test; one in a few is no deep test.

    These are spread as in a Latin square: each value of each list is among them, and so are most
    pairs of values.
    """
    out = []
    for place in product(*(range(len(some)) for some in values)):
        chosen = [some[i] for some, i in zip(values, place, strict=True)]
        marks = [pytest.mark.deep] if sum(place) % one_in else []
        out.append(pytest.param(*chosen, marks=marks, id="-".join(map(str, chosen))))
    return out
