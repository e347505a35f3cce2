"""``python -m benchmarks``: the paper's experiments, from running them to tables and figures."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bogrape.cli.errors import explained, stop
from bogrape.errors import InvalidInputError

if TYPE_CHECKING:
    from .experiments import Experiment, Plan

out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("bench-results"),
    show_default=True,
    help="Folder of the results.",
)
jobs_option = click.option(
    "--jobs", type=click.IntRange(1), default=2, show_default=True, help="Tasks run in parallel."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run the paper's experiments; make their tables and figures.

    Results are JSON lines, one per replication. A run can be stopped at any time: the same command
    continues it.
    """


@main.command("list")
@explained
def list_() -> None:
    """List the experiments and their budgets."""
    from .experiments import experiment_names, get_experiment

    for name in experiment_names():
        experiment = get_experiment(name)
        plan = experiment.plan
        click.echo(f"{name}: {experiment.title}")
        click.echo(f"  paper     {experiment.source}")
        click.echo(f"  problems  {', '.join(plan.problems)}")
        click.echo(f"  methods   {', '.join(plan.methods)}")
        click.echo(
            f"  protocol  {plan.replications} replications; with --short {_size(experiment.short)}"
        )


def _size(plan: Plan) -> str:
    return (
        f"{plan.replications} on {len(plan.problems)} problems, "
        f"{plan.n_iterations} iterations, {plan.time_limit:g} s per proposal"
    )


@main.command()
@click.argument("experiment")
@click.option("--short", is_flag=True, help="A few minutes or hours instead of days.")
@click.option("--problems", metavar="A,B", help="Only these problems.")
@click.option("--optimisers", "--methods", "methods", metavar="A,B", help="Only these methods.")
@click.option("--replications", type=click.IntRange(1), help="Number of seeds 0, 1, ...")
@click.option("--initial", type=click.IntRange(1), help="Graphs of the initial design.")
@click.option("--iterations", type=click.IntRange(0), help="Proposals after the initial design.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds per proposal.")
@click.option(
    "--search",
    type=click.Choice(["weak", "local", "thorough", "exact"]),
    help="How BoGrape looks for a proposal: a local search with 2,500, 50,000 or 150,000 "
    "evaluations, whatever the load, or a proof within the time limit (the default).",
)
@jobs_option
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False), help="Folder of QM7 and QM9."
)
@click.option("--dask", metavar="HOST:PORT", help="Run on the Dask cluster of this scheduler.")
@out_option
@explained
def run(
    experiment: str,
    short: bool,
    problems: str | None,
    methods: str | None,
    replications: int | None,
    initial: int | None,
    iterations: int | None,
    time_limit: float | None,
    search: str | None,
    jobs: int,
    data: str | None,
    dask: str | None,
    out: Path,
) -> None:
    """Run the missing replications of EXPERIMENT, by default with the paper's protocol.

    All replications of one seed run before the next seed begins, so that the results are balanced
    at any time. Each runs in a process of its own, with its share of the cores.
    """
    from .experiments import get_experiment
    from .experiments._qm_files import FOLDER

    found = get_experiment(experiment)
    if data is not None:
        os.environ[FOLDER] = data
    chosen = {
        "problems": _names(problems),
        "methods": _names(methods),
        "replications": replications,
        "n_initial": initial,
        "n_iterations": iterations,
        "time_limit": time_limit,
        "search": search,
    }
    changes: Any = {name: value for name, value in chosen.items() if value is not None}
    plan = replace(found.short if short else found.plan, **changes)
    failures = run_missing(found, plan, out, jobs, dask)
    if failures:
        raise stop(f"{failures} replications failed; run the same command to try them again", 1)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(filter(None, (part.strip() for part in text.split(","))))


def run_missing(
    experiment: Experiment, plan: Plan, out: Path, jobs: int, dask: str | None = None
) -> int:
    """Run the missing replications and print progress; returns the number of failures."""
    from .parallel import Failure, do_all
    from .records import appending, conflicts, key

    failures = 0
    with appending(out / f"{experiment.name}.jsonl") as file:
        done = {key(record) for record in file.records}
        tasks = experiment.tasks(plan)
        for task in tasks:
            differing = conflicts(file.records, task.key, task.settings)
            if differing:
                raise InvalidInputError(
                    f"{out} has results of {task.problem}, {task.method}, seed {task.seed} with "
                    f"another {', '.join(differing)}; ask for the same, or give another --out"
                )
        missing = [task for task in tasks if task.key not in done]
        click.echo(f"{experiment.name}: {len(tasks) - len(missing)} of {len(tasks)} are done")
        start = time.monotonic()
        for number, result in enumerate(do_all(missing, jobs, dask), 1):
            if isinstance(result, Failure):
                failures += 1
                if result.refused and failures == number:  # the others would be refused, too
                    raise InvalidInputError(result.reason)
                head, text = result.task.record, f"failed: {result.reason}"
            else:
                file.append(result)
                head, text = result, _ended(result)
            click.echo(
                f"[{number}/{len(missing)}, {time.monotonic() - start:.0f} s] "
                f"{head['problem']} {head['method']} seed {head['seed']}: {text}"
            )
    return failures


def _ended(record: dict[str, Any]) -> str:
    if "values" not in record:
        return f"{record.get('status', 'done')}"
    seconds: Sequence[float] = record["seconds"]
    return f"best {min(record['values']):.5g}, {sum(seconds):.0f} s"


@main.command()
@click.argument("experiment")
@out_option
@click.option("--figure", type=click.Path(path_type=Path), help="Also draw the figure here.")
@explained
def show(experiment: str, out: Path, figure: Path | None) -> None:
    """Print the tables of EXPERIMENT as Markdown."""
    from .experiments import get_experiment

    found = get_experiment(experiment)
    click.echo(tables_of(found, out))
    if figure is not None and not _draw(found, out, figure):
        raise InvalidInputError(f"{experiment} has tables but no figure; omit --figure")


@main.command()
@click.argument("document", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@out_option
@explained
def fill(document: Path, out: Path) -> None:
    """Update the tables between the marks of a Markdown DOCUMENT, and draw its figures.

    A pair of marks is <!-- bench NAME --> and <!-- end -->, each on a line of its own; everything
    between them is replaced. NAME is that of an experiment, or of a table of
    `benchmarks.plain_tables`. Figures are written into the folder of the results, as PNG.
    """
    from .experiments import get_experiment
    from .fill_document import filled
    from .plain_tables import NO_RESULTS, PLAIN_TABLES

    def section(name: str) -> str:
        if name in PLAIN_TABLES:
            click.echo(name)
            return PLAIN_TABLES[name](out)
        found = get_experiment(name)
        if not _records(name, out):
            click.echo(f"{name}: no results")
            return NO_RESULTS
        picture = out / f"{name}.png"
        text = tables_of(found, out)
        if _draw(found, out, picture):
            place = os.path.relpath(picture, document.parent)
            text = f"![{found.title}]({place})\n\n{text}"
        click.echo(f"{name}: {len(_records(name, out))} replications")
        return text

    document.write_text(filled(document.read_text(encoding="utf-8"), section), encoding="utf-8")


@main.command()
@jobs_option
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Keep results here.")
@explained
def quick(jobs: int, out: Path | None) -> None:
    """Run every experiment in a tiny form, tables and figures included (three minutes at most).

    This only shows that everything works; the numbers are meaningless.
    """
    from .experiments import experiment_names, get_experiment

    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        failures = 0
        for name in experiment_names():
            experiment = get_experiment(name)
            lacking = missing_extra(experiment.quick)
            if lacking is not None:
                click.echo(f"{name}: skipped: {lacking}")
                continue
            failures += run_missing(experiment, experiment.quick, folder, jobs)
            if not failures:
                tables_of(experiment, folder)
                _draw(experiment, folder, folder / f"{name}.png")
    if failures:
        raise stop(f"{failures} replications failed", 1)
    click.echo("all experiments work here")


def missing_extra(plan: Plan) -> str | None:
    """Message that names the extra a plan's problems lack; None if nothing is missing."""
    from bogrape.errors import MissingExtraError
    from bogrape.problems import get_problem, problem_names

    for problem in plan.problems:
        if problem in problem_names():
            try:
                get_problem(problem)
            except MissingExtraError as error:
                return str(error)
    return None


def _records(name: str, out: Path) -> list[dict[str, Any]]:
    from .records import read

    return read(out / f"{name}.jsonl")


def _references(out: Path) -> list[dict[str, Any]]:
    from .statistics import joined

    return joined(_records("reference", out), _records("random-sampling", out))


def tables_of(experiment: Experiment, out: Path) -> str:
    """The tables of an experiment as Markdown, made from the results in a folder."""
    records = _records(experiment.name, out)
    if not records:
        raise InvalidInputError(
            f"{out} has no results of {experiment.name}; "
            f"try: python -m benchmarks run {experiment.name}"
        )
    return experiment.tables(records, _references(out))


def _draw(experiment: Experiment, out: Path, path: Path) -> bool:
    """Draw the figure, if the experiment has one."""
    if experiment.figure is None:
        return False
    from bogrape.report.draw import save

    figure = experiment.figure(_records(experiment.name, out), _references(out))
    save(figure, path)
    return True
