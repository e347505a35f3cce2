"""Long records and long calls use keyword arguments."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import benchmarks
import bogrape
from bogrape.batch import Batch
from bogrape.constraints.rows import Row, Shape
from bogrape.constraints.rule import Rule
from bogrape.counts import Counts
from bogrape.errors import MissingExtraError
from bogrape.space.graph_space import GraphSpace
from bogrape.surrogate import FittedSurrogate

MANY_FIELDS = 5
MOST_FIELDS_BY_POSITION = 2
MOST_ARGUMENTS_BY_POSITION = 7

#: Records that may be made with positional arguments nevertheless, with the reason.
BY_POSITION = {
    GraphSpace: "public: GraphSpace(6, 2) reads like the call of a function",
    Shape: "public, for authors of rules: the first arguments of GraphSpace",
    Row: "public: Row(name, terms, low, high) is the inequality as it is written",
    Rule: "public, with all subclasses: their arguments are the words of a sentence",
    Batch: "arrays in the order of the arguments of Graph",
    FittedSurrogate: "public: a model and what it was fitted to, as in fit(graphs, y)",
    Counts: "public, for authors of kernels, and made in inner loops",
}
# Columns of a table have no names for keyword arguments.
MANY_OF_A_KIND = {"Table"}


def records(package: ModuleType) -> set[type]:
    """The frozen dataclasses of a package."""
    return {
        thing
        for module in modules(package)
        for thing in vars(module).values()
        if isinstance(thing, type)
        and dataclasses.is_dataclass(thing)
        and thing.__module__ == module.__name__
        and thing.__dataclass_params__.frozen  # type: ignore[attr-defined]
    }


def modules(package: ModuleType) -> Iterator[ModuleType]:
    """The package and its modules, except those that need an extra which is not installed."""
    yield package
    prefix = f"{package.__name__}."
    for entry in pkgutil.walk_packages(package.__path__, prefix, onerror=lambda _: None):
        with contextlib.suppress(MissingExtraError):
            yield importlib.import_module(entry.name)


def too_long_by_position(record: type) -> bool:
    fields = dataclasses.fields(record)  # type: ignore[arg-type]
    n_by_position = sum(field.init and not field.kw_only for field in fields)
    return len(fields) >= MANY_FIELDS and n_by_position > MOST_FIELDS_BY_POSITION


def long_calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and callee of each call with too many positional arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and len(node.args) > MOST_ARGUMENTS_BY_POSITION:
            callee = ast.unparse(node.func)
            if callee not in MANY_OF_A_KIND:
                yield node.lineno, callee


@pytest.mark.parametrize("package", [bogrape, benchmarks])
def test_frozen_records_of_more_than_four_fields_take_keywords(package: ModuleType) -> None:
    found = records(package)
    assert found
    long = {record for record in found if too_long_by_position(record)}
    assert {record for record in long if not issubclass(record, tuple(BY_POSITION))} == set()


@pytest.mark.parametrize("exception", BY_POSITION)
def test_every_exception_is_still_needed(exception: type) -> None:
    assert any(too_long_by_position(r) for r in records(bogrape) if issubclass(r, exception))


@pytest.mark.parametrize("package", [bogrape, benchmarks])
def test_no_call_has_eight_or_more_positional_arguments(package: ModuleType) -> None:
    (folder,) = package.__path__
    files = sorted(Path(folder).rglob("*.py"))
    assert files
    found = {
        f"{file.relative_to(folder)}:{line} {callee}"
        for file in files
        for line, callee in long_calls(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert found == set()


def test_violations_are_noticed() -> None:
    @dataclasses.dataclass(frozen=True)
    class Five:
        a: int
        b: int
        c: int
        d: int
        e: int

    @dataclasses.dataclass(frozen=True)
    class TwoAndThree:
        a: int
        b: int
        _: dataclasses.KW_ONLY
        c: int
        d: int
        e: int

    assert too_long_by_position(Five)
    assert not too_long_by_position(TwoAndThree)
    seven, eight = ", ".join("1234567"), ", ".join("12345678")
    code = f"f({seven})\nf({seven}, x=8)\na.f({eight})\nTable({eight})"
    assert list(long_calls(ast.parse(code))) == [(3, "a.f")]
