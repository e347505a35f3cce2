"""The ``bogrape`` command, and its subcommands that show or change one trial or study."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from ..errors import InvalidInputError
from ..study import Study, Trial
from ..trial import package_version
from .bench import bench
from .config import read_study_file
from .errors import explained
from .options import (
    json_option,
    noise_option,
    preset_option,
    set_option,
    study_argument,
    trial_argument,
    with_preset,
)
from .output import print_json, print_status, print_trial
from .report import report
from .rescue import rescue
from .run import run
from .serve import serve
from .tables import export, import_
from .under import near_graph, rule_of_text

_EXIT_CODES = """\b
Exit codes:
  0    done
  1    any other error, for instance a model that cannot be fitted
  2    invalid usage, study file or input, or not possible now
  3    the database cannot be read or written
  4    no graph left to propose, or none satisfies the rules
  5    most evaluations failed, so the study stopped
  6    evaluations could not be started
  130  interrupted (143 by SIGTERM); run again to continue
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EXIT_CODES)
@click.version_option(package_version(), prog_name="bogrape")
def main() -> None:
    """Bayesian optimisation over graphs.

    A study is described by a TOML file; 'bogrape init' writes one with comments.
    """


@main.command()
@click.argument("path", default="study.toml", type=click.Path(path_type=Path))
@explained
def init(path: Path) -> None:
    """Write a study file with comments, ready to be adapted."""
    text = files("bogrape.cli").joinpath("example.toml").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InvalidInputError(f"{str(path)!r} already exists; choose another name") from None
    except OSError as error:
        raise InvalidInputError(f"cannot write {str(path)!r}: {error}") from None
    click.echo(f"wrote {path}; adapt it, then start the study with: bogrape run {path}")


@main.command()
@study_argument
@click.option("-n", "n", type=click.IntRange(1), default=1, help="How many graphs.")
@click.option(
    "--worker", help="Your name; after a restart, your unfinished trials are returned first."
)
@click.option(
    "--time-limit",
    type=click.FloatRange(0, min_open=True),
    help="Seconds for all graphs together; by default the limit in the study file.",
)
@click.option(
    "--near",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Only graphs near the one in this file, JSON or in the format of the study file.",
)
@click.option(
    "--near-trial", metavar="TRIAL", type=click.IntRange(0), help="Only graphs near this trial."
)
@click.option(
    "--edits", type=click.IntRange(0), help="Maximum number of edits, with --near or --near-trial."
)
@click.option(
    "--rule",
    "rules",
    metavar="JSON",
    multiple=True,
    help='A rule for these graphs only, e.g. \'{"rule": "NumberOfEdges", "maximum": 8}\'.',
)
@click.option("--quiet", is_flag=True, help="Show no progress.")
@set_option
@preset_option
@json_option
@explained
def ask(
    study_file: Path,
    n: int,
    worker: str | None,
    time_limit: float | None,
    near: Path | None,
    near_trial: int | None,
    edits: int | None,
    rules: tuple[str, ...],
    quiet: bool,
    instead: tuple[str, ...],
    preset: str | None,
    as_json: bool,
) -> None:
    """Print the next graph to evaluate, its trial number and the model's prediction.

    Ctrl-C stops a proof that takes too long and prints the best graph found so far.
    """
    file = read_study_file(study_file, with_preset(instead, preset))
    made = [rule_of_text(text) for text in rules]
    study = file.open()
    asked = study.ask(
        n,
        worker=worker,
        time_limit=time_limit,
        progress=not quiet,
        rules=made,
        near=near_graph(study, file.format, near, near_trial),
        edits=edits,
    )
    for trial in [asked] if isinstance(asked, Trial) else asked:
        print_trial(trial, file.format, as_json)


@main.command(context_settings={"ignore_unknown_options": True})  # values may be negative
@study_argument
@trial_argument
@click.argument("value", nargs=-1, required=True)
@noise_option
@json_option
@explained
def tell(
    study_file: Path, trial: int, value: tuple[str, ...], noise: tuple[str, ...], as_json: bool
) -> None:
    """Record the VALUE of a TRIAL. Repeating the command changes nothing.

    Give several properties by name, as in qed=0.8 sa=2.1; the others may be told later. Give their
    noise in the same way: --noise qed=0.01.
    """
    file = read_study_file(study_file)
    study = file.load()
    found, variances = _given(study, value, noise)
    if found is None:
        raise InvalidInputError("VALUE must be a number, got 'none'; try bogrape fail")
    print_trial(study.tell(trial, found, noise=variances), file.format, as_json)


@main.command(context_settings={"ignore_unknown_options": True})  # values may be negative
@study_argument
@trial_argument
@click.argument("value", nargs=-1, required=True)
@noise_option
@click.option("--reason", help="Reason, for the record.")
@json_option
@explained
def correct(
    study_file: Path,
    trial: int,
    value: tuple[str, ...],
    noise: tuple[str, ...],
    reason: str | None,
    as_json: bool,
) -> None:
    """Replace the value of a finished TRIAL; the old one is kept in its history.

    VALUE is a number, or 'none' to withdraw the old value. With several properties, name those to
    replace, as in qed=0.8 sa=none; the others are kept.
    """
    file = read_study_file(study_file)
    study = file.load()
    found, variances = _given(study, value, noise)
    changed = study.correct(trial, found, noise=variances, reason=reason)
    print_trial(changed, file.format, as_json)


@main.command()
@study_argument
@set_option
@preset_option
@json_option
@explained
def change(study_file: Path, instead: tuple[str, ...], preset: str | None, as_json: bool) -> None:
    """Continue with the settings of the edited study file, or with those of --set.

    All settings of [search] except the seed may be changed, and rules may be added. Existing
    trials are kept, and the change is recorded.
    """
    file = read_study_file(study_file, with_preset(instead, preset))
    study = file.load()
    before = len(study.changes)
    file.change(study)
    made = study.changes[before:]
    if as_json:
        print_json(made)
    elif not made:
        click.echo("nothing to change: the study has the settings of the file")
    for entry in [] if as_json else made:
        click.echo(f"from trial {entry['from_trial']} on: {', '.join(entry['changed'])} changed")


@main.command()
@study_argument
@trial_argument
@click.argument("reason")
@click.option(
    "--not-the-graph",
    is_flag=True,
    help="The failure says nothing about the graph: a machine failed, for instance.",
)
@json_option
@explained
def fail(study_file: Path, trial: int, reason: str, not_the_graph: bool, as_json: bool) -> None:
    """Record that a TRIAL failed, with the REASON. The study learns which graphs fail."""
    file = read_study_file(study_file)
    failed = file.load().fail(trial, reason, about_graph=not not_the_graph)
    print_trial(failed, file.format, as_json)


@main.command()
@study_argument
@trial_argument
@json_option
@explained
def release(study_file: Path, trial: int, as_json: bool) -> None:
    """Return a pending TRIAL to the queue, e.g. if its worker is gone; 'ask' hands it out again."""
    file = read_study_file(study_file)
    print_trial(file.load().release(trial), file.format, as_json)


@main.command()
@study_argument
@json_option
@explained
def status(study_file: Path, as_json: bool) -> None:
    """Show the progress of the study and its best graph."""
    file = read_study_file(study_file)
    print_status(file.load(), file, as_json)


@main.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("demo.png"),
    show_default=True,
    help="The picture to write.",
)
@click.option("--seed", type=click.IntRange(0), default=2, show_default=True)
@click.option("--iterations", type=click.IntRange(0), default=20, show_default=True)
@explained
def demo(output: Path, seed: int, iterations: int) -> None:
    """Find a good graph and draw it (under a minute)."""
    from .demo import run as run_demo

    run_demo(output, seed, iterations, echo=click.echo)


def _given(study: Study, values: tuple[str, ...], noise: tuple[str, ...]) -> tuple[Any, Any]:
    """A value and its noise, or those of several properties by name, from the command line."""
    if study.settings.goals is not None:
        if values == ("none",):
            return None, None
        return _by_name("VALUE", values), _by_name("--noise", noise) if noise else None
    for what, texts in (("VALUE", values), ("--noise", noise)):
        if len(texts) > 1:
            raise InvalidInputError(f"expected one {what}, got {' '.join(texts)!r:.100}")
    return _number("VALUE", values[0]), _number("--noise", noise[0]) if noise else None


def _by_name(what: str, texts: tuple[str, ...]) -> dict[str, float | None]:
    out: dict[str, float | None] = {}
    for text in texts:
        name, equals, number = text.partition("=")
        if not equals or not name or name in out:
            raise InvalidInputError(
                f"{what} must be NAME=NUMBER for each of several properties, as in qed=0.8 "
                f"sa=2.1; got {text!r:.60}"
            )
        out[name] = _number(f"{what} {name}", number)
    return out


def _number(what: str, text: str) -> float | None:
    """A number, or ``None`` for 'none'."""
    try:
        return None if text.lower() == "none" else float(text)
    except ValueError:
        raise InvalidInputError(f"{what} must be a number or 'none', got {text!r:.60}") from None


for command in (run, export, import_, report, rescue, bench, serve):
    main.add_command(command)
