"""The way of one ``study.ask()`` through the files of the package: traced, drawn, written down.

    python docs/ask_path.py                      # trace this checkout; rewrite the page
    python docs/ask_path.py --before OLD/src     # trace another checkout as "before", too

A file counts when a function defined in it is called between the start and the end of the call, in
this process or in one that it started; what runs while modules are imported does not count. The
reason given for a hop is the first line of the docstring of the function that is called there, so
it is as true as the docstring. The page is ``docs/ask-path.md``, with a picture of each side.
"""

from __future__ import annotations

import argparse
import ast
import html
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "src"
PAGE = HERE / "ask-path.md"
TRACES = HERE / "results" / "ask-path.json"  # both sides, so that "before" need not be kept

# -- tracing: runs in every process of the call -------------------------------------------------

_TRACER = '''
import os, sys, threading, time

FOLDER, PACKAGE = os.environ["ASK_PATH_OUT"], os.environ["ASK_PATH_PACKAGE"]
seen = set()
out = open(os.path.join(FOLDER, f"{os.getpid()}.jsonl"), "a", buffering=1)
here = threading.local()


def note(frame, event, argument):
    """Write down the first call from one file of the package into another."""
    code = frame.f_code
    if event in ("call", "return") and code.co_name == "<module>" and code.co_filename[0] != "<":
        step = 1 if event == "call" else -1
        here.imports = max(0, getattr(here, "imports", 0) + step)
    if event != "call" or getattr(here, "imports", 0):
        return
    if not code.co_filename.startswith(PACKAGE):
        return
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
        caller = caller.f_back
    whence = "" if caller is None else caller.f_code.co_filename
    if whence == code.co_filename or (whence, code.co_filename) in seen:
        return
    seen.add((whence, code.co_filename))
    row = (time.monotonic(), whence, code.co_filename, code.co_firstlineno, code.co_qualname)
    out.write(repr(row) + chr(10))


def start():
    threading.setprofile(note)
    sys.setprofile(note)


def stop():
    sys.setprofile(None)
    threading.setprofile(None)


if os.getpid() != int(os.environ["ASK_PATH_PARENT"]):  # a process that the call started
    start()
'''

_ASK = '''
import os
os.environ["ASK_PATH_PARENT"] = str(os.getpid())
import ask_path_tracer as tracer
from bogrape import GraphSpace, Study

study = Study(GraphSpace(10, labels=3), kernel="ssp", n_initial=12, seed=0, time_limit=30.0)
for _ in range(12):  # the initial design
    trial = study.ask(progress=False)
    study.tell(trial, float(trial.graph.n_edges % 7) - trial.graph.labels.mean())
tracer.start()
study.ask(progress=False)
tracer.stop()
'''


def traced(source: Path) -> list[dict[str, Any]]:
    """First calls between files, in order of time: whence, where to, which function."""
    with tempfile.TemporaryDirectory() as folder:
        home, out = Path(folder) / "path", Path(folder) / "out"
        home.mkdir()
        out.mkdir()
        (home / "ask_path_tracer.py").write_text(_TRACER, encoding="utf-8")
        (home / "sitecustomize.py").write_text(
            "import os\nif 'ASK_PATH_PARENT' in os.environ:\n    import ask_path_tracer\n",
            encoding="utf-8",
        )
        package = source.resolve() / "bogrape"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(home), str(source.resolve())]),
            "ASK_PATH_OUT": str(out),
            "ASK_PATH_PACKAGE": str(package) + os.sep,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        subprocess.run([sys.executable, "-c", _ASK], env=environment, check=True)
        rows = [
            ast.literal_eval(line)
            for path in out.iterdir()
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
    return rows
