"""``bogrape report``: a study as one HTML file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from ..errors import InvalidInputError, StudyError
from ..storage import open_storage
from ..study import Study
from .config import read_study_file
from .errors import explained
from .import_folder import import_from


@click.command()
@click.argument("study", metavar="STUDY")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The HTML file to write.",
)
@click.option("--name", help="Name of the study, if the database holds several.")
@click.option(
    "--watch",
    "every",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=10,
    metavar="SECONDS",
    help="Check for changes every SECONDS (default 10) and rewrite the report, until Ctrl-C.",
)
@explained
def report(study: str, output: Path, name: str | None, every: int | None) -> None:
    """Write a report of STUDY as one self-contained HTML file.

    STUDY is a study file (.toml), a SQLite file or the URL of a database. With --watch, the page
    also reloads itself in the browser.
    """
    from ..report.html import write_report
    from ..report.watch import watch

    if output.is_dir() or not output.parent.is_dir():
        raise InvalidInputError(f"cannot write {str(output)!r}: give a file in an existing folder")
    found, source, done = _open(study, name)
    if every is None:
        write_report(found, output, source=source)
        click.echo(f"wrote {output}")
        return
    click.echo(f"watching; open {output} in a browser, stop with Ctrl-C")
    watch(
        found,
        output,
        every,
        source=source,
        done=done,
        written=lambda n: click.echo(f"wrote {output} ({n} trials)"),
    )


def _open(study: str, name: str | None) -> tuple[Study, str, Callable[[Study], bool]]:
    """The study, its location without private details, and a test of whether it is done."""
    if study.endswith(".toml"):
        file = read_study_file(Path(study))
        if name is not None and name != file.name:
            raise InvalidInputError(f"the study file describes {file.name!r}, not {name!r}")

        def spent(found: Study) -> bool:
            own = (trial for trial in found.trials if trial.origin != "added")
            return sum(trial.is_finished for trial in own) >= file.n_trials

        return file.load(), _public(file.storage), spent
    url = study if "://" in study else f"sqlite:///{study}"
    import_from(Path.cwd())  # for a domain defined there
    if url.startswith("sqlite:///") and not os.path.isfile(url[10:].partition("?")[0]):
        raise InvalidInputError(f"there is no file {study!r}; give a study file or a database")
    return Study.load(url, name or _only(url)), _public(url), lambda found: False  # noqa: ARG005


def _only(url: str) -> str:
    """The name of the only study of a database."""
    names = open_storage(url, create=False).names()
    if len(names) != 1:
        there = ", ".join(map(repr, names[:10])) or "none"
        raise StudyError(f"choose one study with --name; the database holds {there}")
    return names[0]


def _public(url: str) -> str:
    """The URL without folders, users, passwords and hosts, for readers of the report."""
    if url.startswith("sqlite:///"):
        return f"sqlite:///{Path(url[10:].partition('?')[0]).name}"
    return f"{url.partition('://')[0].partition('+')[0]}://…"
