"""A gap counts standard deviations of the observed values, wherever it is shown."""

from __future__ import annotations

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


@pytest.fixture(scope="module")
def study() -> Study:
    """A study whose proposals have a gap of 0.31."""
    out = Study(SPACE, kernel="ssp", n_initial=10)
    done = study_of(SPACE, 14).trials
    out._ledger.append([replace(t, certificate=CERTIFICATE, origin="proposal") for t in done])
    return out


def test_a_running_study_says_so(study: Study) -> None:
    assert "gap 0.31 sd" in in_words(study, study.trials[-1])


def test_a_report_says_so(study: Study) -> None:
    pytest.importorskip("matplotlib")
    page = report_html(study)
    assert "the largest gap is 0.31 standard deviations" in page
    assert "Gap (sd)" in page
    assert "31%" not in page
    assert "31 %" not in page


def test_a_notebook_says_so() -> None:
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
