"""The path of one ``study.ask()`` through the files of the package: traced, drawn, written down.

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
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

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
    starts = code.co_qualname == "Popen.__init__"
    if not starts and not code.co_filename.startswith(PACKAGE):
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

_ASK = """
import os
os.environ["ASK_PATH_PARENT"] = str(os.getpid())
import ask_path_tracer as tracer
from bogrape import GraphSpace, Study

settings = dict(kernel="ssp", noise=1e-6, acquisition="lcb", time_limit=300.0)
study = Study(GraphSpace(8, labels=2), n_initial=12, seed=0, **settings)
for _ in range(12):  # the initial design
    trial = study.ask(progress=False)
    study.tell(trial, float(trial.graph.n_edges % 7) - trial.graph.labels.mean())
tracer.start()
study.ask(progress=False)
tracer.stop()
print(os.getpid())
"""

_SITE = "import os\nif 'ASK_PATH_PARENT' in os.environ:\n    import ask_path_tracer\n"


@dataclass(frozen=True, kw_only=True)
class Call:
    """The first call from one file of the package into another."""

    caller: str  # the file, as the package sees it; empty for the user's own
    callee: str
    function: str
    reason: str
    in_worker: bool
    upward: bool  # whether the called file imports the one that calls it: it was handed down


def traced(source: Path) -> list[Call]:
    """The first call from each file into each other one, in order of time."""
    package = source.resolve() / "bogrape"
    with tempfile.TemporaryDirectory() as folder:
        home, out = Path(folder) / "path", Path(folder) / "out"
        home.mkdir()
        out.mkdir()
        (home / "ask_path_tracer.py").write_text(_TRACER, encoding="utf-8")
        (home / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(home), str(source.resolve())]),
            "ASK_PATH_OUT": str(out),
            "ASK_PATH_PACKAGE": str(package) + os.sep,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        asking = subprocess.run(
            [sys.executable, "-c", _ASK],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        rows = [
            (*ast.literal_eval(line), path.stem != asking.stdout.strip())
            for path in out.iterdir()
            for line in path.read_text(encoding="utf-8").splitlines()
        ]
    calls: dict[tuple[str, str], Call] = {}
    below, starter = _all_imports(package), ""
    for _, whence, where, line, function, in_worker in sorted(rows):
        if function == "Popen.__init__":  # what runs in the process is called from here
            starter = whence
            continue
        whence = whence or (starter if in_worker else "")
        if whence == where:
            continue
        caller, callee = (name.removeprefix(str(package) + os.sep) for name in (whence, where))
        call = Call(
            caller=caller,
            callee=callee,
            function=function.replace(".<locals>", ""),
            reason=_reason(Path(where), line, function),
            in_worker=in_worker,
            upward=caller in below[callee] and callee not in below[caller],
        )
        calls.setdefault((call.caller, call.callee), call)
    return list(calls.values())


def _all_imports(package: Path) -> dict[str, set[str]]:
    """For each file, the files that it imports, directly or not."""
    files = {path: str(path.relative_to(package)) for path in package.rglob("*.py")}
    direct = {name: {files[p] for p in _imports(path, files)} for path, name in files.items()}
    out: dict[str, set[str]] = {}
    for name in direct:
        found, waiting = set[str](), [name]
        while waiting:
            new = direct[waiting.pop()] - found
            found |= new
            waiting += new
        out[name] = found
    return out


def _imports(path: Path, files: Mapping[Path, str]) -> Iterable[Path]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for alias in node.names:  # a module of its own, or a name in one
                for module in (home / alias.name, home):
                    found = [module.with_suffix(".py"), module / "__init__.py"]
                    found = [one for one in found if one in files]
                    if found:
                        yield found[0]
                        break


def _reason(path: Path, line: int, function: str) -> str:
    """First line of the docstring of a function, of its class, or of its file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, kinds)
        and min([node.lineno, *(d.lineno for d in node.decorator_list)]) <= line
        and line <= (node.end_lineno or line)
        and (node.name in function.split("."))
    ]
    for node in [*sorted(around, key=lambda node: -node.lineno), tree]:
        words = ast.get_docstring(node)
        if words:
            first = re.split(r"\.\s+(?=[A-Z])", " ".join(words.split("\n\n")[0].split()))[0]
            return re.sub(r":math:|`", "", first).rstrip(".")
    return ""


# -- what the calls say -------------------------------------------------------------------------


def hops(calls: Sequence[Call]) -> dict[str, Call]:
    """Each file with the call that reached it first."""
    out: dict[str, Call] = {}
    for call in calls:
        out.setdefault(call.callee, call)
    return out


def room(file: str) -> str:
    """The folder that a file lies in."""
    return str(Path("bogrape", file).parent)


def rooms(calls: Sequence[Call]) -> dict[str, int]:
    """How many files of each folder are passed through."""
    return dict(Counter(map(room, hops(calls))))


# -- the picture --------------------------------------------------------------------------------

_ROW, _STEP, _LEFT = 21, 22, 14
_PALETTE = ("#1b6ca8", "#2f855a", "#b7791f", "#9b2c2c", "#6b46c1", "#2c7a7b", "#975a16", "#4a5568")


def drawn(calls: Sequence[Call], title: str) -> str:
    """The tree of first calls as a picture: who called whom, in which room, what for."""
    found = hops(calls)
    order = list(_in_order("", found, 0))
    known = list(dict.fromkeys(room(file) for file, _ in order))
    colours = {name: _PALETTE[i % len(_PALETTE)] for i, name in enumerate(known)}
    place = {file: i for i, (file, _) in enumerate(order)}
    height = 50 + _ROW * len(order)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="1180" height="{height}" '
        f'viewBox="0 0 1180 {height}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<rect width="1180" height="{height}" fill="white"/>',
        f'<text x="{_LEFT}" y="24" font-size="16" font-weight="bold">{html.escape(title)}</text>',
    ]
    for file, depth in order:
        call, y = found[file], 46 + _ROW * place[file]
        x, colour = _LEFT + _STEP * depth, colours[room(file)]
        if call.caller in place:
            top = 46 + _ROW * place[call.caller] + 5
            parts.append(
                f'<path d="M{x - _STEP + 5} {top} V{y - 4} H{x - 2}" fill="none" stroke="#a0aec0"/>'
            )
        dash = ' stroke="#1a202c" stroke-dasharray="2 2"' if call.in_worker else ""
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"{dash}/>')
        parts.append(
            f'<text x="{x + 15}" y="{y}"><tspan fill="{colour}" font-weight="bold">'
            f'{html.escape(file)}</tspan><tspan fill="#4a5568">  '
            f"{html.escape(_short(f'{call.function}: {call.reason}', 150 - 4 * depth - len(file)))}"
            "</tspan></text>"
        )
    return "\n".join([*parts, "</svg>", ""])


def _in_order(caller: str, found: Mapping[str, Call], depth: int) -> Iterable[tuple[str, int]]:
    for file, call in found.items():
        if call.caller == caller:
            yield file, depth
            yield from _in_order(file, found, depth + 1)


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else words[: most - 1] + "…"


# -- the page -----------------------------------------------------------------------------------

_INTRODUCTION = """\
# The path of one `ask()`

This page traces `study.ask()` with the kernel SSP and LCB, as in the paper, in a space of graphs
with eight nodes and two labels. It lists every file of the package in which a function is called,
in the order of the first call, in the process that asks and in its workers.
`python docs/ask_path.py` writes this page and its pictures; the reason for a call is the first line
of the docstring of the called function.

Imports go in one direction (`lint-imports`). A call goes *up* if the called file imports
the calling one. Such calls go through objects that were passed down: a callback, or an object
behind a protocol or a base class.
"""


def page(before: Sequence[Call], after: Sequence[Call]) -> str:
    """The text of docs/ask-path.md."""
    parts = [_INTRODUCTION, "| files passed through | before | after |", "|---|---:|---:|"]
    counts = [_sizes(calls) for calls in (before, after)]
    for name in counts[0]:
        parts.append(f"| {name} | {counts[0][name]} | {counts[1][name]} |")
    parts += ["", "## After", "", "![the path of one ask](ask-path.svg)", ""]
    parts += _table(after)
    parts += ["", "Files by folder: " + _listed(rooms(after)) + ".", ""]
    parts += ["Calls upward: " + (_upward(after) or "none") + ".", ""]
    parts += ["## Before", "", "![the path of one ask, before](ask-path-before.svg)", ""]
    parts += ["Files by folder: " + _listed(rooms(before)) + ".", ""]
    parts += ["Calls upward: " + (_upward(before) or "none") + ".", ""]
    return "\n".join(parts)


def _sizes(calls: Sequence[Call]) -> dict[str, int]:
    found = hops(calls)
    n_worker = sum(call.in_worker for call in found.values())
    return {
        "in the process that asks": len(found) - n_worker,
        "in workers only": n_worker,
        "**in all**": len(found),
        "calls from one file into another": len(calls),
        "of them upward": sum(call.upward for call in calls),
    }


def _table(calls: Sequence[Call]) -> list[str]:
    lines = ["| # | from | to | calls | what for |", "|---:|---|---|---|---|"]
    for i, (file, call) in enumerate(hops(calls).items(), 1):
        whence = f"`{call.caller}`" if call.caller else "you"
        reason = call.reason.replace("|", "\\|")
        lines.append(f"| {i} | {whence} | `{file}` | `{call.function}` | {reason} |")
    return lines


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"`{name}` {number}" for name, number in sorted(numbers.items()))


def _upward(calls: Sequence[Call]) -> str:
    return ", ".join(
        f"`{call.caller}` to `{call.callee}` (`{call.function}`)" for call in calls if call.upward
    )


def main() -> None:
    """Trace, and write the page and its pictures."""
    parser = argparse.ArgumentParser(description="Trace one study.ask() through the package.")
    parser.add_argument("--before", type=Path, help="src folder of a checkout from before")
    options = parser.parse_args()
    saved = json.loads(TRACES.read_text(encoding="utf-8")) if TRACES.exists() else {}
    traces = {side: [Call(**call) for call in calls] for side, calls in saved.items()}
    if options.before is not None:
        traces["before"] = traced(options.before)
    traces["after"] = traced(SOURCE)
    if "before" not in traces:
        parser.error(f"there is no trace of before in {TRACES.name}: give --before")
    lines = {side: [json.dumps(asdict(call)) for call in calls] for side, calls in traces.items()}
    body = ",\n".join(f'"{side}": [\n' + ",\n".join(rows) + "\n]" for side, rows in lines.items())
    TRACES.write_text("{\n" + body + "\n}\n", encoding="utf-8")
    PAGE.write_text(page(traces["before"], traces["after"]), encoding="utf-8")
    for side, name in (("before", "ask-path-before.svg"), ("after", "ask-path.svg")):
        n = len(hops(traces[side]))
        title = f"One ask() with SSP, {side}: {n} files, each with the call that reached it first"
        title += " (dashed: in a worker)"
        (HERE / name).write_text(drawn(traces[side], title), encoding="utf-8")
        print(f"{side}: {_sizes(traces[side])}")


if __name__ == "__main__":
    main()
