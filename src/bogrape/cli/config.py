"""Study files: TOML read into checked, frozen values. Unknown keys are errors."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from ..acquisition import EI, LCB
from ..checks import positive, whole
from ..constraints import Rule, rule_from_dict
from ..errors import InvalidInputError, SettingsDiffer, StudyError
from ..files.formats import Format, get_format
from ..space import GraphSpace
from ..storage.protocol import check_name
from ..study import Study, StudySettings
from ..study.settings import SETTING_NAMES, for_new_study, unknown_name
from .import_folder import import_from

_MAX_BYTES = 1_000_000
_SQLITE = "sqlite:///"
_UNITS = {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_TOP = (
    *("name", "storage", "direction", "properties", "space", "search", "objective"),
    "evaluation",
)
_SPACE = (
    *("n_nodes", "labels", "features", "directed", "connected", "edge_labels", "acyclic"),
    *("nodes", "domain", "rules"),
)
_MOLECULES = ("molecules", "n_atoms", "bounds", "aromatic", "scaffold", "keep_rings", "rules")
_SEARCH = (
    *(name for name in SETTING_NAMES if name not in ("direction", "properties")),
    *("n_iterations", "kappa", "xi", "preset"),
)
_NONE = "none"  # how a study file turns a setting off: TOML has no null
_OBJECTIVE = ("command", "function", "format")
_EVALUATION = ("executor", "n_parallel", "time_limit", "memory_limit", "slurm", "slurm_folder")


@final
@dataclass(frozen=True, kw_only=True)
class StudyFile:
    """Contents of a study file."""

    path: Path
    name: str
    storage: str
    settings: StudySettings
    given: frozenset[str]  # settings that it names; the others have their defaults
    n_iterations: int
    command: str | tuple[str, ...] | None
    function: str | None
    format: Format
    executor: str
    n_parallel: int
    time_limit: float | None
    memory_limit: float | None
    slurm: Mapping[str, Any]
    slurm_folder: str

    @property
    def n_trials(self) -> int:
        """Total number of evaluations."""
        return self.settings.n_initial + self.n_iterations

    def open(self) -> Study:
        """The study, created if it does not exist yet."""
        try:
            return Study.open(self.storage, self.name, self.settings, given=self.given)
        except SettingsDiffer as error:
            raise StudyError(
                f"{self.path}: the study was created with other settings "
                f"({', '.join(error.names)}); run 'bogrape change {self.path}' to continue with "
                "those of the file, or give the study another name"
            ) from None

    def change(self, study: Study) -> None:
        """Continue a study with the settings of the file; it keeps those the file does not name."""
        study.adopt(self.settings.as_made(study.settings, self.given))

    def load(self) -> Study:
        """The existing study; an error if there is none yet."""
        database = self.storage.removeprefix(_SQLITE).partition("?")[0]
        if self.storage.startswith(_SQLITE) and not os.path.lexists(database):
            raise StudyError(f"{self.path}: the study has not been started; try 'bogrape run'")
        return Study.load(self.storage, self.name)


def read_study_file(path: Path, instead: Sequence[str] = ()) -> StudyFile:
    """Read and check a study file; ``instead`` are settings given elsewhere as ``name=value``."""
    try:
        size = path.stat().st_size
        data = tomllib.loads(path.read_text(encoding="utf-8")) if size <= _MAX_BYTES else None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInputError(f"{str(path)!r} is not TOML: {str(error)[:300]}") from None
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or a path with a null character
        raise InvalidInputError(
            f"the study file {str(path)!r} cannot be read: {error}; 'bogrape init' writes one"
        ) from None
    if data is None:
        raise InvalidInputError(f"{str(path)!r} is too long for a study file")
    try:
        if instead:
            data["search"] = {**_table(data, "search", _SEARCH), **_given(instead)}
        return _study_file(path, data)
    except InvalidInputError as error:
        raise type(error)(f"{path}: {error}") from None


def _study_file(path: Path, data: dict[str, Any]) -> StudyFile:
    _known(data, _TOP, "the study file")
    search = _table(data, "search", _SEARCH)
    objective = _table(data, "objective", _OBJECTIVE)
    evaluation = _table(data, "evaluation", _EVALUATION)
    settings: dict[str, Any] = {
        name: None if value == _NONE else value
        for name, value in search.items()
        if name in SETTING_NAMES and name != "acquisition"
    }
    settings |= _acquisition(search)
    if "preset" in search:
        settings["preset"] = search["preset"]
    settings = for_new_study(settings)
    if "direction" in data:
        settings["direction"] = data["direction"]
    if "properties" in data:
        if "direction" in data:
            raise InvalidInputError(
                "expected a direction or [properties] in the study file, got both; each property "
                "has its own direction or goal"
            )
        settings["properties"] = data["properties"]
    command, function = objective.get("command"), objective.get("function")
    if command is not None and function is not None:
        raise InvalidInputError("[objective] must have a command or a function, got both")
    if function is not None and not re.fullmatch(r"[\w.]+:[\w.]+", str(function)):
        raise InvalidInputError(
            f"[objective] function must be 'module:function', got {function!r:.100}"
        )
    if command is not None and not isinstance(command, (str, list)):
        raise InvalidInputError(
            f"[objective] command must be a string or a list, got {command!r:.100}"
        )
    import_from(path.parent)  # for a domain defined in the same folder
    space = _space(data, path)
    slurm = evaluation.get("slurm", {})
    if not isinstance(slurm, dict):
        raise InvalidInputError("[evaluation.slurm] must be a table of parameters")
    return StudyFile(
        path=path,
        name=check_name(data.get("name", "study")),
        storage=_storage(data.get("storage", "sqlite:///study.db"), path),
        settings=StudySettings(space=space, **settings),
        given=frozenset(settings),
        n_iterations=whole(search.get("n_iterations", 50), "[search] n_iterations", 0),
        command=tuple(command) if isinstance(command, list) else command,
        function=function,
        format=get_format(objective.get("format", "json"), space),
        executor=_text(evaluation.get("executor", "process"), "[evaluation] executor"),
        n_parallel=whole(evaluation.get("n_parallel", 1), "[evaluation] n_parallel", 1),
        time_limit=_limit(evaluation.get("time_limit"), "[evaluation] time_limit"),
        memory_limit=_bytes(evaluation.get("memory_limit")),
        slurm=slurm,
        slurm_folder=_text(evaluation.get("slurm_folder", "slurm-jobs"), "slurm_folder"),
    )


def _given(instead: Sequence[str]) -> dict[str, Any]:
    """Settings of the command line, each ``name=value``; a value that is not TOML is a string."""
    out: dict[str, Any] = {}
    for text in instead:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value or not re.fullmatch(r"\w+", name):
            raise InvalidInputError(
                f"--set must be NAME=VALUE, e.g. --set noise=fit, got {text!r:.100}"
            )
        try:
            out[name] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            out[name] = value
    return out


def _space(data: dict[str, Any], path: Path) -> GraphSpace:
    if "space" not in data:
        raise InvalidInputError("a study file needs a table [space]; see 'bogrape init'")
    molecular = isinstance(data["space"], dict) and "molecules" in data["space"]
    space = _table(data, "space", _MOLECULES if molecular else _SPACE)
    rules = space.pop("rules", [])
    if not isinstance(rules, list):
        raise InvalidInputError("rules must be written as [[space.rules]] tables")
    folder = str(path.parent.resolve())
    own = any(isinstance(rule, dict) and ":" in str(rule.get("rule")) for rule in rules)
    if own and folder not in sys.path:
        sys.path.append(folder)  # finds modules beside the file, shadows no others
    made = tuple(map(rule_from_dict, rules))
    if molecular:
        return _molecules(space, made)
    if "n_nodes" not in space and "nodes" not in space:
        raise InvalidInputError(
            "[space] needs n_nodes, e.g. n_nodes = 8 or n_nodes = [6, 10], or the names of nodes, "
            "e.g. nodes = ['core-1', 'core-2']"
        )
    return GraphSpace(**space, rules=made)


def _molecules(space: dict[str, Any], rules: tuple[Rule, ...]) -> GraphSpace:
    """``molecule_space(...)`` with ``rules=[scaffold(...), ...]``, as in Python."""
    from .. import molecules  # late: needs an extra, and raises an error that names it

    if "scaffold" in space:
        smiles = _text(space["scaffold"], "[space] scaffold")
        fixed = molecules.scaffold(smiles, keep_rings=space.get("keep_rings", False))
        rules = (fixed, *rules)
    elif "keep_rings" in space:
        raise InvalidInputError(
            "[space] keep_rings applies to a scaffold only; add one, as in scaffold = '*c1ccccc1'"
        )
    n_atoms = space.get("n_atoms", 10)
    size = tuple(n_atoms) if isinstance(n_atoms, list) else n_atoms
    return molecules.molecule_space(
        space["molecules"],
        size,
        rules,
        space.get("bounds", True),
        aromatic=space.get("aromatic", False),
    )


def _acquisition(search: dict[str, Any]) -> dict[str, Any]:
    """The acquisition, if given: by name, or implied by ``kappa`` or ``xi``."""
    for key, owner in (("kappa", "lcb"), ("xi", "ei")):
        if key in search and search.get("acquisition", owner) != owner:
            raise InvalidInputError(f"[search] {key} applies to acquisition = '{owner}' only")
    if "kappa" in search and "xi" in search:
        raise InvalidInputError("expected kappa (for lcb) or xi (for ei) in [search], got both")
    if "kappa" in search:
        return {"acquisition": LCB(search["kappa"])}
    if "xi" in search:
        return {"acquisition": EI(search["xi"])}
    return {"acquisition": search["acquisition"]} if "acquisition" in search else {}


def _storage(url: Any, path: Path) -> str:
    """The URL, with the path of a SQLite file resolved relative to the study file."""
    text = _text(url, "storage")
    if not text.startswith(_SQLITE):
        return text
    return _SQLITE + str(path.parent.resolve() / text.removeprefix(_SQLITE))


# -- checks -----------------------------------------------------------------------------------


def _known(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    unknown = sorted(set(data) - set(known))
    if unknown:
        raise InvalidInputError(f"{where} has an {unknown_name(unknown[0], known, 'key')}")


def _table(data: dict[str, Any], name: str, known: tuple[str, ...]) -> dict[str, Any]:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise InvalidInputError(f"{name} must be a table, written as [{name}]")
    _known(table, known, f"[{name}]")
    return dict(table)


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidInputError(f"{what} must be a string, got {value!r:.100}")
    return value


def _limit(value: Any, what: str) -> float | None:
    return None if value is None else positive(value, what, finite=False)


def _bytes(value: Any) -> float | None:
    """A number of bytes, or a text such as ``4 GB``."""
    if not isinstance(value, str):
        return _limit(value, "[evaluation] memory_limit")
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?B)\s*", value, re.IGNORECASE)
    if match is None:
        raise InvalidInputError(
            "[evaluation] memory_limit must be a number of bytes or a string such as '4 GB', got "
            f"{value!r:.60}"
        )
    return _limit(float(match[1]) * _UNITS[match[2].upper()], "[evaluation] memory_limit")
