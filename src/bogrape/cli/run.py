"""``bogrape run``: evaluates graphs until the budget is spent or a signal ends it."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ..optimize import run as run_study
from .config import read_study_file
from .errors import explained, stop
from .objective import make_file_evaluator
from .options import json_option, preset_option, set_option, study_argument, with_preset
from .output import print_status


@click.command()
@study_argument
@click.option("--worker", default="main", show_default=True, help="Name of this runner.")
@click.option(
    "--evaluations",
    type=click.IntRange(0),
    help="Stop after this many evaluations; run again to continue.",
)
@click.option(
    "--stop-below",
    type=click.FloatRange(0),
    metavar="REGRET",
    help="Stop once the model and a proof show that no graph beats the best by more than this.",
)
@click.option(
    "--retry-failed", is_flag=True, help="Evaluate failed trials again before any others."
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@set_option
@preset_option
@json_option
@explained
def run(
    study_file: Path,
    worker: str,
    evaluations: int | None,
    stop_below: float | None,
    retry_failed: bool,
    quiet: bool,
    instead: tuple[str, ...],
    preset: str | None,
    as_json: bool,
) -> None:
    """Evaluate graphs until the budget of the study is spent.

    Stop it with Ctrl-C at any time; run it again to continue. Several runners may work on one
    study, on one machine or many, if each has its own --worker name.
    """
    file = read_study_file(study_file, with_preset(instead, preset))
    evaluator = make_file_evaluator(file)
    study = file.open()
    if retry_failed:
        for trial in study.trials:
            if trial.state == "failed":
                study.retry(trial)
    previous = signal.signal(signal.SIGTERM, _terminated)
    try:
        with _logging_to_stderr(quiet):
            run_study(
                study,
                evaluator,
                file.n_trials,
                progress=not quiet,
                worker=worker,
                n_evaluations=evaluations,
                stop_when=stop_below,
            )
    except KeyboardInterrupt as reason:
        code = 143 if isinstance(reason, _Terminated) else 130
        kept = f"all {len(study.trials)} trials are kept"
        raise stop(f"interrupted; {kept}. Run the same command to continue", code) from None
    finally:
        signal.signal(signal.SIGTERM, previous)
        evaluator.close()
    print_status(study, file, as_json)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def _terminated(number: int, frame: Any) -> None:  # noqa: ARG001
    raise _Terminated


@contextmanager
def _logging_to_stderr(quiet: bool) -> Iterator[None]:
    """Log warnings to standard error, and progress unless ``quiet`` or shown as a bar."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("bogrape")
    level, bar = logger.level, sys.stderr.isatty()
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING if quiet or bar else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
