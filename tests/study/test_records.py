"""Records of studies, storages and evaluations are made by name."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from types import ModuleType

import pytest

import bogrape.evaluate
import bogrape.storage
import bogrape.study


@pytest.mark.parametrize("package", [bogrape.evaluate, bogrape.storage, bogrape.study])
def test_frozen_records_of_more_than_four_fields_are_made_by_name(package: ModuleType) -> None:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    modules = [importlib.import_module(entry.name) for entry in found]
    records = {
        thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type)
        and dataclasses.is_dataclass(thing)
        and thing.__module__ == module.__name__
        and thing.__dataclass_params__.frozen
    }
    assert records
    for record in records:
        fields = dataclasses.fields(record)
        assert len(fields) <= 4 or all(field.kw_only for field in fields), record
