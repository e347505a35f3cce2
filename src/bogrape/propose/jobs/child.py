"""How Python processes are started that run a part of this package.

``python -m`` looks for modules in the current directory first: a file ``random.py`` there would be
executed in place of the real one. So a child is started with ``-P`` and ``-s``, without the current
directory and the user's site. What else the parent can import comes last on the child's path, so
that it is found but stands in for nothing: rules of your own, next to a script, or packages in the
user's site. ``PYTHONPATH`` is heeded as always. The package itself is the one the parent runs,
wherever it lies.

A child ends when its standard input closes, however its parent ends. One that somebody has stopped
(``kill -STOP``) would not notice: on Linux it is woken up then.
"""

from __future__ import annotations

import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PACKAGE = __name__.partition(".")[0]
# SIGCONT does no harm to a process that runs: Linux sends it when the *thread* that started this
# process ends, which need not be the end of the parent.
_START = f"""
import sys
if sys.platform == "linux":
    import ctypes, signal
    ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, signal.SIGCONT)
import importlib.util
module, package, *path = sys.argv[1:]
sys.path += [entry for entry in path if entry not in sys.path]
spec = importlib.util.spec_from_file_location({_PACKAGE!r}, package)
sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[spec.name])
importlib.import_module(module).main()
"""


def command(module: str) -> list[str]:
    """The command that runs ``main()`` of a module of this package in a process of its own."""
    package = sys.modules[_PACKAGE].__file__
    assert package is not None
    heedless = ["-E"] if sys.flags.ignore_environment else []
    path = [str(Path(entry).absolute()) for entry in sys.path]  # "" is the current directory
    return [sys.executable, "-P", "-s", *heedless, "-c", _START, module, package, *path]
