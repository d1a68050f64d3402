"""Building a knowledge base costs what it may: its own budget, and the project's limit."""

import json
from pathlib import Path

import pytest

from comind.app.knowledge_building import BuildResult, build_base
from comind.campaign.log.campaign_folders import ProjectFolder
from comind.campaign.work.project_budget import ProjectBudget
from comind.errors import UsageError
from comind.knowledge.extraction import Source
from comind.llm.model_ports import ModelReply, ModelRequest, Usage
from comind.testing import ScriptedModel

_PRICED = "solve: {models: {default: {name: a, price: {prompt: 1, completion: 1}}}}\n"
_SOURCES = [Source("paper", f"{number}.txt", f"Title {number}", "Text.", None) for number in range(3)]


class _Priced(ScriptedModel):
    """Has a use for no source, at a dollar a request; the bound is two dollars."""

    def __init__(self) -> None:
        super().__init__(lambda request: json.dumps({"useful": False}), usage=Usage(usd=1.0))

    def bound(self, request: ModelRequest) -> Usage:
        del request
        return Usage(usd=2.0)


class _Killed(_Priced):
    """Its process is interrupted while a request is in flight."""

    def complete(self, request: ModelRequest) -> ModelReply:
        del request
        raise KeyboardInterrupt


def _build(project: Path, model: ScriptedModel, max_usd: float | None = None) -> BuildResult:
    return build_base(project, project.parent / "base", _SOURCES, "a", max_usd, lambda *_: model)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a model whose price is known."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "params.yaml").write_text(_PRICED)
    return folder


def test_its_cost_counts_towards_the_projects_limit(project: Path) -> None:
    """It stops before the limit, and a build after the limit was raised reads the rest."""
    with (project / "params.yaml").open("a") as params:
        params.write("limits: {project_usd: 3}\n")
    done = _build(project, _Priced())
    assert (done.read, done.usd) == (2, 2.0)
    assert "the project's limit of $3.00 is spent (knowledge build $2.00;" in done.failed[0]
    (project / "params.yaml").write_text(_PRICED + "limits: {project_usd: 4}\n")
    done = _build(project, _Priced())
    assert (done.read, done.known, done.failed) == (1, 2, ())
    assert ProjectBudget(ProjectFolder(project)).costs().settled == 3.0


def test_a_request_that_was_cut_off_counts_at_its_bound(project: Path) -> None:
    """There is no log of a build that could show that it was not sent."""
    with pytest.raises(KeyboardInterrupt):
        _build(project, _Killed())
    _build(project, _Priced())
    assert ProjectBudget(ProjectFolder(project)).costs().total == 2.0 + 3.0


def test_its_own_budget_ends_it(project: Path) -> None:
    """What was read is kept; the next build continues."""
    done = _build(project, _Priced(), max_usd=2.5)
    assert (done.read, len(done.failed)) == (1, 1)
    assert _build(project, _Priced()).known == 1


@pytest.mark.parametrize(
    ("limit", "max_usd", "setting"),
    [("limits: {project_usd: 3}\n", None, "limits.project_usd"), ("", 1.0, "--max-usd")],
)
def test_a_limit_needs_a_price(project: Path, limit: str, max_usd: float | None, setting: str) -> None:
    """A model without a known price is refused before a request."""
    (project / "params.yaml").write_text(limit)
    with pytest.raises(UsageError, match=f"{setting}: the price of a is not known"):
        _build(project, _Priced(), max_usd)
