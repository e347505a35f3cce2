"""The program itself: rows by name, checks without a solver, files."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bogrape import GraphSpace
from bogrape.errors import InvalidInputError, UnsupportedError
from bogrape.propose.mip import gurobi, scip
from bogrape.propose.mip.build import AcquisitionProgram
from bogrape.propose.mip.export import plain_names, write_program
from bogrape.propose.mip.linear import Linear, total
from bogrape.propose.mip.options import MipOptions
from bogrape.propose.mip.program import Program
from bogrape.propose.mip.solution import Limits

from mip_cases import instance


def small() -> Program:
    program = Program()
    x, y = program.binary("x[0,1]"), program.integer("y", -3, 3)
    z = program.continuous("z", 0, 2)
    program.row("sum", x + y + z, "<=", 3)
    program.row("ball", Linear(), "<=", 2.5, [(1.0, y, y), (1.0, z, z), (0.5, y, z)])
    program.row("either", x, ">=", 1 - z)
    program.minimise(2 * x - y - 1.5 * z + 4)
    return program


def test_linear_terms_add_up_and_cancel() -> None:
    program = Program()
    x, y = program.binary("x"), program.binary("y")
    both = 2 * (x - 3 * y) + 1 - (2 * x - 4)
    assert both.terms == {1: -6.0}
    assert both.constant == 5.0
    assert total([1, x, -x]).is_constant
    with pytest.raises(ValueError, match="single variable"):
        (x + y).index  # noqa: B018


def test_violations_name_rows_bounds_and_integrality() -> None:
    program = small()
    good = {"x[0,1]": 1.0, "y": 1.0, "z": 1.0}
    assert program.violations(good) == []
    bad = {"x[0,1]": 0.5, "y": 3.0, "z": -1.0}
    assert [v.row for v in program.violations(bad)] == ["x[0,1]", "z", "ball", "either"]
    assert program.violations({**good, "z": math.nan})[0].row == "z"
    with pytest.raises(InvalidInputError, match="none for z"):
        program.violations({"x[0,1]": 1, "y": 1})


def test_exponential_rows_are_checked_and_computed() -> None:
    program = Program()
    x = program.continuous("x", 0, 1)
    program.exponential("e", "e = exp(x)", x, 1, 3)
    assert program.violations(program.completed({"x": 0.5})) == []
    assert program.violations({"x": 0.5, "e": 1.6}) == [("e = exp(x)", pytest.approx(0.0487, 1e-2))]


def test_names_must_differ_and_false_rows_are_kept() -> None:
    program = small()
    with pytest.raises(InvalidInputError, match="'sum' twice"):
        program.row("sum", program.binary("w"), "<=", 1)
    program.row("true", Linear(), "<=", 1)
    program.row("never", Linear(), ">=", 1)
    assert program.contradictions() == ["never"]
    assert scip.solve(program, Limits()).status == "infeasible"


def test_plain_names_are_different_and_legal() -> None:
    names = plain_names(["a[0,1]", "a[0]1", "0", "e1", "one", "", "a_0_1"])
    assert len(set(names)) == 7
    assert all(name.replace("_", "").isalnum() and name[0].isalpha() for name in names)


@pytest.mark.parametrize("ending", ["lp", "cip"])
def test_written_files_are_read_back_with_the_same_optimum(tmp_path: Path, ending: str) -> None:
    pyscipopt = pytest.importorskip("pyscipopt")
    objective = instance(GraphSpace(3, labels=2), "ssp", 0)
    acquisition = AcquisitionProgram(objective, MipOptions()).program
    for i, program in enumerate((small(), acquisition)):
        path = tmp_path / f"{i}.{ending}"
        write_program(program, path)
        model = pyscipopt.Model()
        model.hideOutput()
        model.readProblem(str(path))
        model.optimize()
        assert model.getObjVal() == pytest.approx(scip.solve(program, Limits()).bound, abs=1e-3)


def test_gurobi_reads_what_is_written(tmp_path: Path) -> None:
    grb = pytest.importorskip("gurobipy")
    write_program(small(), tmp_path / "small.lp")
    with grb.Env(params={"OutputFlag": 0}) as env:
        model = grb.read(str(tmp_path / "small.lp"), env)
        model.optimize()
        assert model.ObjVal == pytest.approx(gurobi.solve(small(), Limits()).bound, abs=1e-5)


def test_exponential_rows_go_to_cip_only(tmp_path: Path) -> None:
    program = AcquisitionProgram(instance(GraphSpace(3), "essp", 0), MipOptions()).program
    with pytest.raises(UnsupportedError, match=r"\.cip"):
        write_program(program, tmp_path / "a.lp")
    write_program(program, tmp_path / "a.cip")
    assert "exp(" in (tmp_path / "a.cip").read_text()
    with pytest.raises(InvalidInputError, match=r"\.lp or \.cip"):
        write_program(program, tmp_path / "a.mps")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"form": "dual"}, "expected form"),
        ({"gap": -1}, "expected gap"),
        ({"gaps": 1}, "unknown option 'gaps'"),
        ({"tolerance": 1e-12}, "expected tolerance"),
        ({"symmetry": 1}, "expected symmetry"),
        ({"pool": 0}, "expected pool"),
        ({"memory": 0}, "expected memory"),
        ("form", "expected options"),
    ],
)
def test_options_are_checked(given: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        MipOptions.of(given)  # type: ignore[arg-type]
