"""Follow competitions of a live server for a day, with campaigns that end at once.

Fetching, decisions, submissions, alerts, reports, MLflow, DVC and git are real; a campaign is a file
with the number of its slices. As a program, one day is a process of its own, which can be
killed: takes the project's folder and the competition.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from comind.app.campaign_slices import DaySteps, FollowingParams, ProjectSlices
from comind.app.followed_day import end_of_day, follow_for_a_day
from comind.app.inputs import import_and_version
from comind.app.open_days import open_day_of
from comind.app.paths import open_project
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.domain.community import ItemOutcome
from comind.domain.metric import Interval, MetricValue, Paired, ValidationScore
from comind.following.day import CampaignStatus, DayPlan
from comind.following.events import Candidate
from comind.system.files import hash_file

_LABEL = {"demo-tumours": "benign", "demo-diabetes": "progression"}
_ERROR = 0.002
_SECONDS, _USD = 600.0, 0.5  # of a slice


@dataclass(frozen=True)
class _QuickCampaigns(ProjectSlices):
    """Campaigns that improve on each fifth slice, also of those before, and see fetched notebooks."""

    @property
    def _folder_of_campaigns(self) -> Path:
        return self.project / "quick" / self.slug

    def open(self, competition: Path, seconds: float, usd: float | None) -> str:
        del competition, seconds, usd
        folder = self._folder_of_campaigns
        folder.mkdir(parents=True, exist_ok=True)
        before = sorted(folder.glob("*.json"))
        name = f"campaign-{len(before)}"
        (folder / f"{name}.json").write_text(before[-1].read_text() if before else "0")
        return name

    def extend(self, campaign: str, seconds: float, usd: float | None) -> None:
        pass

    def run(self, campaign: str) -> None:
        slices = self._slices_of(campaign) + 1
        (self._folder_of_campaigns / f"{campaign}.json").write_text(str(slices))

    def status(self, campaign: str) -> CampaignStatus:
        slices = self._slices_of(campaign)
        return CampaignStatus(
            seconds=slices * _SECONDS,
            usd=slices * _USD,
            attempts=slices,
            candidate=self._candidate(campaign, slices) if slices else None,
        )

    def items(self, campaign: str) -> Sequence[ItemOutcome]:
        del campaign
        listed = ProjectFolder(self.project).kaggle / self.slug / "community" / "notebooks.jsonl"
        text = listed.read_text() if listed.is_file() else ""
        notebooks = [json.loads(line) for line in text.splitlines()]
        return tuple(
            ItemOutcome(item_type="notebook", name=each["ref"], title=each["title"], summary="A model.")
            for each in notebooks
        )

    def compare(self, one: Candidate, other: Candidate) -> Paired | None:
        if one.campaign != other.campaign:
            return None
        gain = one.validation.value.signed - other.validation.value.signed
        around = Interval(low=gain - 2 * _ERROR, high=gain + 2 * _ERROR)
        return Paired(difference=gain, standard_error=_ERROR, interval=around)

    def correlations(self, one: Candidate, others: Sequence[Candidate]) -> list[float | None]:
        del one
        return [None for _ in others]

    def submission_file(self, candidate: Candidate) -> Path:
        """Return a submission with as many wrong rows as its candidate's score states."""
        answers = pd.read_csv(self._private / "answers.csv")
        label = _LABEL[self.slug]
        wrong = int(len(answers) * self._error(candidate.attempt))
        if label == "benign":
            answers.loc[: wrong - 1, label] = 1 - answers.loc[: wrong - 1, label]
        else:
            answers[label] += 1000 * self._error(candidate.attempt) * np.resize((1, -1), len(answers))
        columns = pd.read_csv(self._private.parent / "public" / "sample_submission.csv", nrows=0).columns
        file = self._folder_of_campaigns / f"{candidate.campaign}-{candidate.attempt}.csv"
        answers[list(columns)].to_csv(file, index=False)
        return file

    @property
    def _private(self) -> Path:
        return Path(os.environ["SIMULATED_COMPETITIONS"]) / self.slug / "private"

    def _slices_of(self, campaign: str) -> int:
        return int((self._folder_of_campaigns / f"{campaign}.json").read_text())

    def _error(self, attempt: str) -> float:
        return 0.3 / (1 + int(attempt.removeprefix("attempt-")))

    def _candidate(self, campaign: str, slices: int) -> Candidate:
        attempt = f"attempt-{slices // 5}"
        maximize = _LABEL[self.slug] == "benign"
        error = self._error(attempt)
        value = MetricValue(value=1 - error if maximize else 1000 * error, maximize=maximize)
        around = Interval(low=value.value - _ERROR, high=value.value + _ERROR)
        score = ValidationScore(
            metric="accuracy" if maximize else "rmse", value=value, interval=around, rows=100
        )
        found = Candidate(campaign=campaign, attempt=attempt, sha256="", validation=score)
        return found.model_copy(update={"sha256": hash_file(self.submission_file(found))})


def make_project(project: Path, url: str, hook: str) -> None:
    """Create a project with the parameters for a server and a webhook."""
    open_project(str(project))
    rate_limit = {"pause_seconds": 0, "back_off_seconds": 0.01}
    shared = {"minutes": 60, "submissions": 2, "priorities": {"demo-tumours": 2}}
    params = {
        "kaggle": {"endpoint": url, "rate_limit": rate_limit},
        "alerts": {"urls": [hook]},
        "following": shared,
    }
    (project / "params.yaml").write_text(yaml.safe_dump(params))


def functions_of_a_day() -> DaySteps:
    """Return the functions that tasks call, as no Prefect server runs."""
    return DaySteps(
        fetch=lambda project, slug: open_day_of(project, slug).fetch(project, slug),
        import_community=import_and_version,
        run_campaign=lambda _project, _campaign: None,
        run_step=lambda project, slug, *step: open_day_of(project, slug).day.perform(*step),
        show_report=lambda _slug, _report: None,
        notify=lambda _line: None,
    )


def follow(project: Path, slug: str, submit: str = "auto") -> str:
    """Run a day, as `comind track --once` does; returns the name of its end."""
    plan = DayPlan.model_validate({"submit": submit, "minutes": 60, "score_every_seconds": 0.05})
    params = FollowingParams(plan=plan)
    steps = functions_of_a_day()
    state = follow_for_a_day(project, slug, params, steps, slices_of=_QuickCampaigns)
    return end_of_day(state)[0] or ""


if __name__ == "__main__":
    follow(Path(sys.argv[1]), sys.argv[2])
