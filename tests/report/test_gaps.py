"""Gaps are shown in standard deviations of the observed values or, for EI, as a factor."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from bogrape import GraphSpace, Study
from bogrape.progress import in_words
from bogrape.propose import Proposal
from bogrape.report import report_html
from bogrape.report.notebook import notebook_html

from report_cases import study_of

SPACE = GraphSpace(5, labels=2)
CERTIFICATE = {
    **{"value": -1.0, "bound": -1.31, "gap": 0.31, "status": "time_limit"},
    **{"seconds": 1.0, "mean": 0.5, "std": 0.1},
}


OF_EI = {**CERTIFICATE, "value": -0.0, "bound": -0.0, "log_value": -808.3, "log_bound": -807.99}


def study_with(certificate: dict[str, object]) -> Study:
    """A study whose proposals have this certificate."""
    acquisition = "ei" if "log_value" in certificate else "lcb"
    out = Study(SPACE, kernel="ssp", n_initial=10, acquisition=acquisition)
    done = study_of(SPACE, 14).trials
    out._ledger.append([replace(t, certificate=certificate, origin="proposal") for t in done])
    return out


@pytest.fixture(scope="module")
def study() -> Study:
    """A study whose proposals have a gap of 0.31."""
    return study_with(CERTIFICATE)


@pytest.fixture(scope="module")
def of_ei() -> Study:
    """A study whose EI underflows."""
    return study_with(OF_EI)


def test_a_running_study_shows_the_gap_of_ei_as_a_factor(of_ei: Study) -> None:
    assert "gap ×1.4" in in_words(of_ei, of_ei.trials[-1])


def test_a_report_shows_the_logarithm_of_values_that_underflow(of_ei: Study) -> None:
    pytest.importorskip("matplotlib")
    page = report_html(of_ei)
    assert "the largest gap is a factor of 1.4" in page
    assert ">×1.4<" in page
    assert ">log EI −808.3<" in page
    assert "within a factor of 1.4." in page


def test_a_notebook_shows_it_too(of_ei: Study) -> None:
    table = re.sub(r"<[^>]*>", " ", notebook_html(of_ei.trials[-1]))
    assert re.search(r"acquisition\s+log EI −808\.3", table)
    proposal = Proposal(
        graph=SPACE.sample(1)[0],
        value=-0.0,
        bound=-0.0,
        status="time_limit",
        seconds=1.0,
        method="search+cp-sat",
        standard_gap=0.31,
        log_value=-808.3,
        log_bound=-807.99,
    )
    shown = notebook_html(proposal)
    assert "×1.36" in shown
    assert "log EI −808.3" in shown
    assert "log EI −807.99" in shown


def test_a_running_study_shows_the_gap(study: Study) -> None:
    assert "gap 0.31 sd" in in_words(study, study.trials[-1])


def test_a_report_shows_the_gap(study: Study) -> None:
    pytest.importorskip("matplotlib")
    page = report_html(study)
    assert "the largest gap is 0.31 standard deviations" in page
    assert ">0.31 sd<" in page
    assert "31%" not in page
    assert "31 %" not in page


def test_a_notebook_shows_the_gap() -> None:
    proposal = Proposal(
        graph=SPACE.sample(1)[0],
        value=-1.0,
        bound=-1.31,
        status="time_limit",
        seconds=1.0,
        method="search+cp-sat",
        n_evaluations=1,
    )
    assert proposal.gap == pytest.approx(0.31)
    assert "0.31 sd" in notebook_html(proposal)
