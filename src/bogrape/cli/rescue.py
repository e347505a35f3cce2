"""``bogrape rescue``: saves what can be read of a damaged SQLite file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..errors import InvalidInputError, StudyError
from ..files.formats import JSON
from ..files.observations import kind_of
from ..files.trials import render, write_whole
from ..storage import RescuedStudy
from ..storage import rescue as read
from .errors import explained

_DATABASES = (".db", ".sqlite", ".sqlite3")


@click.command()
@click.argument("damaged", type=click.Path(path_type=Path))
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--name", help="Name of the study, if the file holds several.")
@explained
def rescue(damaged: Path, output: Path, name: str | None) -> None:
    """Save what can be read of DAMAGED, a SQLite file of studies, to OUTPUT.

    OUTPUT is a new database (.db), or a table of trials (.jsonl or .csv). Every trial whose
    checksum matches is saved, and lost trials are listed. DAMAGED itself is not changed.
    """
    from ..storage.sql.rescue import write_rescued  # late: it loads SQLAlchemy

    if output.exists():
        raise InvalidInputError(f"{str(output)!r} already exists; choose another name")
    found = read(damaged)
    if name is not None:
        found = [study for study in found if study.name == name]
        if not found:
            raise StudyError(f"no study {name!r} can be found in {str(damaged)!r}")
    if output.suffix.lower() in _DATABASES:
        write_rescued(found, output)
    else:
        kind = kind_of(str(output), None)
        if len(found) > 1:
            there = ", ".join(repr(study.name) for study in found)
            raise StudyError(f"choose one study with --name; the file holds {there}")
        write_whole(output, render(found[0].trials, JSON, kind))
    for study in found:
        click.echo(_words(study))
    click.echo(f"wrote {output}; {damaged} was not changed")


def _words(study: RescuedStudy) -> str:
    n = len(study.trials)
    name = "a study whose name and settings are lost" if study.name is None else study.name
    if study.is_complete:
        return f"{name}: all {n} trials, each in its latest version"
    words = [f"{name}: {n} trials"]
    if study.lost:
        words.append(f"{len(study.lost)} lost: {_numbers(study.lost)}")
    words.append("some may be saved in an earlier version")
    return "; ".join(words)


def _numbers(numbers: Sequence[int]) -> str:
    """Numbers with consecutive ones joined: 0, 4-17, 30."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)
