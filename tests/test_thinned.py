"""Of tests marked ``thinned``, the instances that are left out have evenly spread parameters."""

from __future__ import annotations

import pytest

from crossed import crossed


def _is_deep(request: pytest.FixtureRequest) -> bool:
    return request.node.get_closest_marker("deep") is not None


@pytest.mark.thinned(2)
@pytest.mark.parametrize("left", [0, 1, 2, 3])
@pytest.mark.parametrize("right", "ab")
def test_parameters_are_spread_as_in_a_latin_square(
    request: pytest.FixtureRequest, left: int, right: str
) -> None:
    assert _is_deep(request) == bool((left + "ab".index(right)) % 2)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("k", range(6))
def test_one_in_k_values_of_one_parameter_is_left(request: pytest.FixtureRequest, k: int) -> None:
    assert _is_deep(request) == bool(k % 3)


@pytest.mark.thinned(2)
@pytest.mark.parametrize(("left", "right"), crossed([0, 1], [0, 1, 2, 3], one_in=2))
def test_instances_that_are_deep_already_do_not_count(
    request: pytest.FixtureRequest, left: int, right: int
) -> None:
    assert _is_deep(request) == ((left, right) not in [(0, 0), (1, 1)])
