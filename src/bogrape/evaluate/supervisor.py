"""Supervisor process between this program and an evaluation, so that no orphans remain.

It waits for the evaluation it started. If the process that requested the evaluation ends first,
for any reason (``kill -9``, a closed terminal, a crash), the supervisor kills the evaluation
and all its child processes. The same happens when the supervisor receives SIGTERM.

`ProcessEvaluator` forks a supervisor for each evaluation. `CommandObjective` runs this file as a
program, ``python supervisor.py PARENT REPORT COMMAND...``; it must therefore import nothing but
the standard library, and little of that, since it starts once per evaluation.

On Linux the supervisor adopts orphans (it is a "subreaper"), so that it also finds processes that
have left its group, as ``timeout``, ``setsid`` and MPI launchers make them do. Elsewhere it kills
its process group.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_POLL = 0.5  # seconds between checks of the parent, where no signal reports its end
_ROUNDS = 200  # attempts to kill processes that start new ones meanwhile


def die_with_parent(number: int = 9) -> None:
    """Ask Linux for a signal (by default SIGKILL) when the parent ends; a no-op elsewhere."""
    _prctl(_PR_SET_PDEATHSIG, number)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends; a no-op except on Linux.

    Call it before the child is started: a command may end at once and leave a process behind.
    """
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def supervise(child: int, parent: int) -> NoReturn:
    """Wait for the child, then end as it ended; if the parent ends first, kill everything."""
    status = _watch(child, parent)
    end_all(group_only=status is not None)
    if status is None:
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        _end_like(status)
    raise AssertionError("a process that has ended cannot continue")


def _watch(child: int, parent: int) -> int | None:
    """The wait status of the child, or ``None`` if the parent ended or SIGTERM came."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    told_to_end: list[int] = []
    for number in (signal.SIGCHLD, signal.SIGCONT, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # only wakes up the loop
    signal.signal(signal.SIGTERM, lambda number, _: told_to_end.append(number))
    # The signal is sent when the *thread* that started this process ends, which need not mean that
    # the parent ended: so it only wakes this process, even if stopped, to check for the parent.
    die_with_parent(signal.SIGCONT)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if told_to_end or os.getppid() != parent:
            return None
        if select.select([reader], [], [], _POLL)[0]:
            os.read(reader, 4096)


def end_all(*, group_only: bool) -> None:
    """Kill the descendants of this process, or only those in its process group."""
    if sys.platform != "linux":
        return  # the parent kills our group; only this process is left in it
    group = os.getpgid(0)
    for _ in range(_ROUNDS):
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        left = [pid for pid, other in _descendants() if not group_only or other == group]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


def _descendants() -> list[tuple[int, int]]:
    """Process and group ids of all living descendants; Linux only."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []  # without children there are no descendants, since orphans are adopted
    children: dict[int, list[tuple[int, int]]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, parent, group = file.read().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue  # it has ended
        if state not in "ZX":
            children.setdefault(int(parent), []).append((int(name), int(group)))
    found: list[tuple[int, int]] = []
    queue = [os.getpid()]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += [pid for pid, _ in below]
    return found


def _end_like(status: int) -> NoReturn:
    """End with the exit code, or by the signal, of a wait status."""
    if os.WIFSIGNALED(status):
        import resource

        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the child has written one, if any
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(option, value)


def _exec(command: Iterable[str], report: int) -> NoReturn:
    """Replace this process by the command; a failure is reported."""
    die_with_parent()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, programs should not
        signal.signal(number, signal.SIG_DFL)
    words = list(command)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        os.write(report, (error.strerror or str(error)).encode())
    os._exit(127)


def main(arguments: list[str]) -> NoReturn:
    """Run and supervise a command; ``REPORT`` is a file descriptor for errors at its start."""
    parent, report, *command = arguments
    os.set_inheritable(int(report), False)  # exec closes it, which signals success
    adopt_orphans()
    child = os.fork()
    if child == 0:
        _exec(command, int(report))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # the command's streams must end when the command does
        os.dup2(nowhere, stream)
    os.close(int(report))
    supervise(child, int(parent))


if __name__ == "__main__":
    main(sys.argv[1:])
