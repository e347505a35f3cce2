"""Wrong input for every public entry point, seeded: each entry is one call with odd arguments."""

from __future__ import annotations

import json
import math
import random
import string
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from click.testing import CliRunner

from bogrape import EI, LCB, Graph, GraphGP, GraphSpace, Study, propose
from bogrape.cli.config import read_study_file
from bogrape.cli.main import main as command
from bogrape.constraints import RULES, rule_from_dict
from bogrape.storage import open_storage, rescue
from bogrape.study import StudySettings

SPACE = GraphSpace(4, labels=2)
PATH = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, -1, 7, 10**6, 10**9, 10**30, -(10**400), 10**400),
    *(0.5, -0.0, 1e300, math.nan, math.inf, -math.inf, 1j, Decimal("1.5"), Fraction(1, 3)),
    *(
        "",
        "x",
        "0",
        "sp",
        "fit",
        "exact",
        "\0",
        "é\ud800",
        "a" * 5000,
        "../x",
        b"x",
        bytearray(b""),
    ),
    *([], [1], [1, 1], [[]], [[0, 1], [1, 0]], [None], ["C", "C"], ["C", "O"], (), (1, 2), (3, 1)),
    *({}, {"a": 1}, {1: 2}, {(0, 1): 2.5}, {"rule": "x"}, set(), {1, 2}, frozenset({"x"})),
    *(object(), int, len, iter([1, 2]), range(3), np.array([1, 2]), np.array(3), np.eye(3)),
    *(np.float64(2), np.int64(3), np.bool_(True), np.array(["a"]), np.nan, PATH, SPACE, [PATH]),
    *([(PATH, 1.0)], [(PATH, "x")], nx.path_graph(3), LCB(), "lcb", "minimize", 3, 4, 5, 6),
)


def odd(rng: random.Random) -> Any:
    return rng.choice(ODD)


def some(rng: random.Random, names: Sequence[str], sound: dict[str, Any] | None = None) -> Any:
    """Arguments of which one to three are odd."""
    out = dict(sound or {})
    for name in rng.sample(list(names), min(len(names), rng.choice((1, 1, 1, 2, 3)))):
        out[name] = odd(rng)
    return out


def plain(rng: random.Random, depth: int = 2) -> Any:
    """A value that JSON or TOML can hold."""
    if depth and rng.random() < 0.3:
        items = [plain(rng, depth - 1) for _ in range(rng.randrange(4))]
        if rng.random() < 0.5:
            return items
        return {rng.choice(["a", "rule", "minimum", "edges", "0"]): item for item in items}
    return rng.choice(
        (*(0, 1, 2, 5, -1, 3.5, 10**9, 10**30, 1e300, True, False, "", "x", "exact", "\0", "C"),)
    )


class Entries:
    """Calls with odd arguments, on studies and files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder}/study.db"
        self.study = Study(SPACE, self.url, n_initial=3, method="sample", time_limit=2.0)
        for _ in range(3):
            trial = self.study.ask()
            self.study.tell(trial, float(trial.graph.n_edges))
        graphs = SPACE.sample(5, seed=1)
        self.gp = GraphGP(n_labels=2).fit(graphs, [float(g.n_edges) for g in graphs])
        self.all: dict[str, Callable[[random.Random], object]] = {
            name.removeprefix("call_"): getattr(self, name)
            for name in sorted(dir(self))
            if name.startswith("call_")
        }

    # -- graphs, spaces, rules ----------------------------------------------------------------

    def call_graph(self, rng: random.Random) -> object:
        names = ("adjacency", "labels", "features", "directed", "edge_labels", "label_names")
        return Graph(**some(rng, names, {"adjacency": [[0, 1], [1, 0]]}))

    def call_graph_methods(self, rng: random.Random) -> object:
        call = rng.choice((PATH.permuted, Graph.from_networkx, Graph.from_json, PATH.__eq__))
        return call(odd(rng))

    def call_graph_from_json(self, rng: random.Random) -> object:
        data = json.loads(PATH.to_json())
        data[rng.choice(["n_nodes", "edges", "labels", "features", "directed", "x"])] = plain(rng)
        return Graph.from_json(json.dumps(data))

    def call_space(self, rng: random.Random) -> object:
        names = ("n_nodes", "labels", "features", "directed", "connected", "rules", "edge_labels")
        return GraphSpace(**some(rng, (*names, "acyclic", "nodes"), {"n_nodes": 4}))

    def call_space_from_json(self, rng: random.Random) -> object:
        data = json.loads(SPACE.to_json())
        data[rng.choice([*data, "nodes"])] = plain(rng)
        return GraphSpace.from_json(rng.choice((json.dumps(data), odd(rng))))

    def call_space_methods(self, rng: random.Random) -> object:
        call = rng.choice(
            (
                *(SPACE.check, SPACE.contains, SPACE.violations, SPACE.identity, SPACE.oddities),
                *(SPACE.with_rules, SPACE.from_networkx, SPACE.to_networkx),
            )
        )
        return call(odd(rng))

    def call_sample(self, rng: random.Random) -> object:
        given = some(rng, ("k", "seed", "distinct", "n_nodes", "exclude"), {"k": 2})
        if isinstance(given["k"], int):
            given["k"] = min(given["k"], 1000)  # a large number of graphs is only slow
        return SPACE.sample(**given)

    def call_rule(self, rng: random.Random) -> object:
        kind = rng.choice(list(RULES.values()))
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        needed = {f.name: odd(rng) for f in fields(kind) if f.default is MISSING}  # type: ignore[arg-type]
        rule = kind(**some(rng, names, needed)) if names else kind()
        labels = rng.choice((None, 2, ("C", "O")))
        space = GraphSpace(4, labels=labels, directed=rng.random() < 0.3, rules=[rule])
        return space.violations(PATH), rule.to_dict(), repr(rule)

    def call_rule_from_dict(self, rng: random.Random) -> object:
        kind = rng.choice(list(RULES))
        names = [*(field.name for field in fields(RULES[kind])), "x"]  # type: ignore[arg-type]
        data = {name: plain(rng) for name in rng.sample(names, min(len(names), 2))}
        rule = rule_from_dict(rng.choice(({"rule": kind, **data}, plain(rng), odd(rng))))
        return GraphSpace(4, rules=[rule])

    # -- models -------------------------------------------------------------------------------

    def call_gp(self, rng: random.Random) -> object:
        names = ("kernel", "noise", "n_labels", "restarts", "seed", "alpha", "beta", "clip", "cap")
        given = some(rng, names)
        if isinstance(given.get("restarts"), int):
            given["restarts"] = min(given["restarts"], 3)
        if isinstance(given.get("n_labels"), int):
            given["n_labels"] = min(given["n_labels"], 10)
        graphs = SPACE.sample(3, seed=0)
        return GraphGP(**given).fit(graphs, [1.0, 2.0, 4.0]).predict(graphs)

    def call_gp_data(self, rng: random.Random) -> object:
        graphs: Any = SPACE.sample(3, seed=0)
        return GraphGP().fit(*rng.choice(((odd(rng), [1, 2, 3]), (graphs, odd(rng)))))

    def call_gp_predict(self, rng: random.Random) -> object:
        return self.gp.predict(odd(rng))

    def call_acquisition(self, rng: random.Random) -> object:
        return rng.choice((LCB, EI, LCB.growing))(odd(rng))

    def call_propose(self, rng: random.Random) -> object:
        names = ("space", "gp", "acquisition", "method", "exclude", "pending", "n", "seed")
        sound = {"space": SPACE, "gp": self.gp, "method": "sample", "time_limit": 1.0}
        given = some(rng, (*names, "time_limit"), sound)
        if isinstance(given.get("n"), int):
            given["n"] = min(given["n"], 2)
        if isinstance(given.get("acquisition"), (type, type(len))):
            del given["acquisition"]  # errors in functions of the caller are not ours
        return propose(**given)

    # -- studies ------------------------------------------------------------------------------

    def call_study(self, rng: random.Random) -> object:
        names = ("space", "name", "kernel", "noise", "acquisition", "method", "time_limit")
        given = some(rng, (*names, "n_initial", "seed", "direction", "retries"), {"space": SPACE})
        return Study(**given).trials

    def call_storage(self, rng: random.Random) -> object:
        place = rng.choice((odd(rng), self._url(rng)))
        return rng.choice((lambda: Study.load(place), lambda: Study(SPACE, place)))()

    def call_open_storage(self, rng: random.Random) -> object:
        return open_storage(self._url(rng), create=False)

    def _url(self, rng: random.Random) -> str:
        noise = "".join(rng.choices(string.printable + "\0é", k=rng.choice((1, 3, 300, 20_000))))
        heads = (
            "sqlite:///",
            "sqlite://",
            "",
            "mysql://",
            "file:",
            f"{self.url}?",
            "sqlite:////x/",
        )
        return rng.choice(heads) + noise

    def call_ask(self, rng: random.Random) -> object:
        given = some(rng, ("n", "worker", "time_limit", "most", "progress", "stop"), {"n": 1})
        if isinstance(given["n"], int):
            given["n"] = min(given["n"], 2)
        if callable(given.get("stop")):
            del given["stop"]  # errors in functions of the caller are not ours
        study = Study(SPACE, n_initial=2, method="sample")
        return study.ask(**given)

    def call_study_methods(self, rng: random.Random) -> object:
        study, trial = self.study, rng.choice((0, 1, odd(rng)))
        return rng.choice(
            (
                lambda: study.tell(trial, odd(rng), seconds=rng.choice((None, odd(rng)))),
                lambda: study.correct(trial, odd(rng), reason=odd(rng)),
                lambda: study.fail(trial, odd(rng)),
                lambda: study.release(trial, reason=odd(rng)),
                lambda: study.retry(trial),
                lambda: study.add(odd(rng), odd(rng)),
                lambda: study.add(PATH, 1.0, outside=odd(rng)),
                lambda: study.add_all(odd(rng)),
                lambda: study.enqueue(odd(rng)),
                lambda: study.predict(odd(rng)),
                lambda: Study.open(odd(rng), "study", odd(rng)),
                lambda: Study.load(self.url, odd(rng)),
            )
        )()

    def call_change(self, rng: random.Random) -> object:
        names = ("kernel", "noise", "acquisition", "method", "time_limit", "n_initial", "retries")
        study = Study(SPACE, n_initial=2)
        study.change(**some(rng, (*names, "add_rules", "space", "x")))
        return study.adopt(odd(rng))

    def call_settings(self, rng: random.Random) -> object:
        data = StudySettings(space=SPACE).to_dict()
        data[rng.choice(list(data))] = rng.choice((plain(rng), odd(rng)))
        return StudySettings.from_dict(rng.choice((data, data, data, odd(rng))))

    # -- files and the command line -----------------------------------------------------------

    def call_study_file(self, rng: random.Random) -> object:
        return read_study_file(self._study_file(rng))

    def _study_file(self, rng: random.Random) -> Path:
        tables: dict[str, dict[str, Any]] = {
            "": {"name": "study", "storage": "sqlite:///other.db", "direction": "minimize"},
            "space": {"n_nodes": 4, "labels": 2},
            "search": {"n_initial": 3, "n_iterations": 1, "method": "sample"},
            "objective": {"command": "true"},
            "evaluation": {"executor": "process", "n_parallel": 1},
        }
        more = ("features", "edge_labels", "nodes", "rules", "connected", "kernel", "noise", "seed")
        more += ("time_limit", "acquisition", "kappa", "xi", "retries", "format", "memory_limit")
        table = rng.choice(list(tables))
        key = rng.choice([*tables[table], *more])
        tables[table][key] = plain(rng)
        path = self.folder / "fuzz.toml"
        text = "".join(
            (f"[{name}]\n" if name else "") + "".join(f"{k} = {toml(v)}\n" for k, v in body.items())
            for name, body in tables.items()
        )
        if rng.random() < 0.1:
            cut = rng.randrange(len(text))
            text = text[:cut] + rng.choice(["", "\0", '"', "[[", "1" * 5000]) + text[cut:]
        path.write_text(text, encoding="utf-8")
        return path

    def call_command_line(self, rng: random.Random) -> object:
        words = ["status", "tell", "fail", "release", "export", "import", "correct", "change"]
        words += ["ask", "init", "report", "rescue", "nothing"]
        path = rng.choice((self.folder / "study.toml", self._study_file(rng), "no", "a" * 5000))
        more = ["0", "-1", "x", "1e400", "--json", "-n", "", "é", "99999999999999999999", "-"]
        arguments = [rng.choice(words), str(path), *rng.choices(more, k=rng.randrange(4))]
        result = CliRunner().invoke(command, arguments, catch_exceptions=True)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    def call_import(self, rng: random.Random) -> object:
        good = {"graph": json.loads(SPACE.sample(1)[0].to_json()), "value": 1.0}
        line = json.dumps(rng.choice(({**good, rng.choice(list(good)): plain(rng)}, plain(rng))))
        source = self.folder / f"rows.{rng.choice(('jsonl', 'csv'))}"
        noise = rng.choice(("", "\0", '"' * 3, "{" * 2000, "graph,value\n", "﻿"))
        source.write_text(noise + line, encoding="utf-8")
        arguments = ["import", str(self.folder / "study.toml"), str(source), "--preview"]
        result = CliRunner().invoke(command, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    def call_rescue(self, rng: random.Random) -> object:
        path = self.folder / "noise.db"
        content = bytearray((self.folder / "study.db").read_bytes())
        for _ in range(rng.choice((1, 100, 5000))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        path.write_bytes(content)
        return rescue(rng.choice((path, path, path, self.folder, "\0", "no")))


def toml(value: Any) -> str:
    """The value in TOML, or a text that is not TOML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value).replace("+", "")
