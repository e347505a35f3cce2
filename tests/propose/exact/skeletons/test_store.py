"""Files of skeletons are read if intact, and rebuilt otherwise."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from bogrape.propose.exact.skeletons import store
from bogrape.propose.exact.skeletons.store import Skeletons, cache_folder, skeletons_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BOGRAPE_CACHE", str(tmp_path / "new" / "cache"))
    monkeypatch.setattr(store, "_kept", {})
    monkeypatch.setattr(store, "_LEAST_KEPT", 50)
    return tmp_path / "new" / "cache"


def assert_same(one: Skeletons, other: Skeletons) -> None:
    assert np.array_equal(one.codes, other.codes)
    assert np.array_equal(one.histograms, other.histograms)
    assert np.array_equal(one.degrees, other.degrees)


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("*7-nodes-3-cycles*")
    return path


def test_a_stored_list_is_read_and_not_generated_again(folder, monkeypatch):
    first = skeletons_of(7, 4, range(3, 4))
    monkeypatch.setattr(store, "_kept", {})
    monkeypatch.setattr(store, "skeletons", None)  # generating would fail
    assert_same(skeletons_of(7, 4, range(3, 4)), first)
    assert [path.suffix for path in folder.iterdir()] == [".bin"] * len(list(folder.iterdir()))


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other version", "longer"])
def test_a_damaged_file_is_noticed_and_rebuilt(folder, monkeypatch, caplog, damage):
    first = skeletons_of(7, 4, range(3, 4))
    path = only_file(folder)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(
        {
            "cut": whole[:middle],
            "changed": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "empty": b"",
            "other version": b"bogrape skeletons 0\n" + whole[20:],
            "longer": whole + b"\0" * 22,
        }[damage]
    )
    monkeypatch.setattr(store, "_kept", {})
    with caplog.at_level(logging.WARNING, logger=store.__name__):
        assert_same(skeletons_of(7, 4, range(3, 4)), first)
    assert "rebuilt" in caplog.text
    assert path.read_bytes() == whole


def test_lists_are_generated_if_the_folder_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("BOGRAPE_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(store, "_kept", {})
    monkeypatch.setattr(store, "_LEAST_KEPT", 0)
    assert len(skeletons_of(5, 4, range(3))) == 3 + 5 + 5


def test_the_folder_is_that_of_the_user_unless_a_variable_names_it(monkeypatch, tmp_path):
    monkeypatch.delenv("BOGRAPE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert cache_folder() == tmp_path / "bogrape"
    monkeypatch.setenv("BOGRAPE_CACHE", str(tmp_path / "mine"))
    assert cache_folder() == tmp_path / "mine"
