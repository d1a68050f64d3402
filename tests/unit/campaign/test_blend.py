"""A blend at the end of a campaign is work with its own log, score, lineage, script and refit."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from comind.campaign.closing.blend_plan import candidates, most_seconds, offers
from comind.campaign.closing.finish import plan_refit
from comind.campaign.log.campaign_events import CAMPAIGN_EVENTS, BlendJudged, SplitMade
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import Submitted
from comind.campaign.log.work_events import WORK_EVENTS
from comind.campaign.log.work_items import WorkItems
from comind.campaign.loop import read_state
from comind.campaign.reports.attempt_lineage import lineage_of, script_for
from comind.campaign.reports.campaign_graph import graph_of_campaign
from comind.campaign.reports.campaign_journal import journal_of
from comind.domain.community import CommunityView
from comind.domain.draft import Operator
from comind.domain.spend import Budget
from comind.errors import CampaignError
from comind.eventlog.log import read_log
from comind.grading.grader_port import Grader
from comind.session.packages import InstalledPackage
from comind.system.files import hash_file
from tests.unit.campaign.blending import NAMES, BlendingWorld, TableGrader, program
from tests.unit.campaign.samples import spec

pytestmark = pytest.mark.slow

_DIFFERENT = [program(seed, 0.5) for seed in range(6)]
_ATTEMPT = {"operator": Operator.DRAFT, "blend": None}
_ALIKE = [program(0, 0.5)] * 6


def _run(root: Path, programs: list[str] = _DIFFERENT, **spec: object) -> CampaignState:
    world = BlendingWorld.of(root, programs)
    campaign = world.campaign(**({"blend": True, "coders": 1, "refit": True} | spec))
    campaign.record(
        SplitMade(
            key="demo",
            public_sha256="a" * 64,
            sealed_sha256="b" * 64,
            metric="rmse",
            maximize=False,
            validation_rows=120,
        )
    )
    return world.run(campaign)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a campaign that has ended with a blend and its refit; read-only."""
    place = tmp_path_factory.mktemp("ended")
    _run(place)
    return place


@pytest.fixture
def state(root: Path) -> CampaignState:
    """The state of that campaign."""
    return read_state(BlendingWorld.of(root, []).folder)


def _folder(root: Path) -> Path:
    return root / "runs" / "demo-tiny-1"


def test_steps_with_errors_of_their_own_are_averaged(state: CampaignState) -> None:
    """The blend is work of its own with members, weights and a better score, and it is the pick."""
    blend = state.works.blend()
    assert blend is not None
    assert blend.id == "blend-000"
    assert (blend.work.role, blend.work.operator.value) == ("blend", "blend")
    assert blend.work.blend is not None
    members = blend.work.blend.members
    assert 2 <= len(members) <= 5
    assert set(blend.work.parents) == {each.attempt for each in members}
    assert blend.score is not None
    assert state.best is not None
    assert blend.score.value.better_than(state.best.score.value)
    assert state.picked is not None
    assert state.picked.work_id == "blend-000"
    assert "on rows that it was not selected on" in state.picked.reason
    assert state.chosen() == blend


def test_agents_never_see_a_blend(state: CampaignState) -> None:
    """A blend is excluded from attempts, from the best, and from the ranking that agents plan by."""
    assert state.works.blend() is not None
    assert [each.id for each in state.works.attempts()] == [f"attempt-00{n}" for n in range(3)]
    assert [each.id for each in state.works.best_first() if "blend" in each.id] == []
    assert state.best is not None
    assert state.best.work_id.startswith("attempt")


def test_one_step_has_nothing_to_be_averaged_with(tmp_path: Path) -> None:
    """With the same files at every step the grader is not called, and nothing is recorded."""
    world = BlendingWorld.of(tmp_path, _ALIKE)
    state = world.run(world.campaign(blend=True, coders=1))
    assert state.judged is None
    assert isinstance(world.grader, TableGrader)
    assert world.grader.asked == []
    assert state.works.blend() is None


def test_a_blend_can_be_left_out(tmp_path: Path) -> None:
    """Nothing is averaged if `blend` is false or missing, as in older logs."""
    assert _run(tmp_path, blend=False).judged is None


def test_a_blend_that_is_rejected_is_told_of(tmp_path: Path) -> None:
    """If one step has no error, no blend is better; the reason is in the log, and the pick stays."""
    state = _run(tmp_path, [program(0, 0.0), *_DIFFERENT[1:]])
    assert state.judged is not None
    assert state.judged.blend is None
    assert "is better than the best of them" in state.judged.reason
    assert state.works.blend() is None
    assert state.picked is not None
    assert state.picked.work_id == "attempt-000"


def test_a_campaign_killed_at_any_event_of_the_end_makes_the_same_blend(
    tmp_path: Path, root: Path, state: CampaignState
) -> None:
    """Killed after any event, the campaign resumes to the same members with the same weights."""
    lines = (_folder(root) / "log.jsonl").read_bytes().splitlines(keepends=True)
    closing = next(n for n, line in enumerate(lines) if b'"blend-judged"' in line)
    for cut in range(closing, len(lines)):
        world = BlendingWorld.of(tmp_path / f"cut-{cut}", _DIFFERENT)
        _copy_logs(root, world.root)
        world.folder.log.write_bytes(b"".join(lines[:cut]))
        campaign = world.campaign()
        campaign.resume()
        again = world.run(campaign)
        assert again.works == state.works
        assert again.judged == state.judged
        assert again.picked == state.picked
        assert world.model.requests == []


def test_a_blend_killed_at_any_event_of_its_own_ends_the_same(
    tmp_path: Path, root: Path, state: CampaignState
) -> None:
    """A blend resumes from its own log to the same submissions, byte for byte."""
    folder = _folder(root)
    own = (folder / "blend-000" / "log.jsonl").read_bytes().splitlines(keepends=True)
    lines = (folder / "log.jsonl").read_bytes().splitlines(keepends=True)
    planned = next(n for n, line in enumerate(lines) if b'"id":"blend-000"' in line)
    for cut in range(len(own)):
        world = BlendingWorld.of(tmp_path / f"cut-{cut}", _DIFFERENT)
        _copy_logs(root, world.root)
        (_folder(world.root) / "blend-000" / "log.jsonl").write_bytes(b"".join(own[:cut]))
        world.folder.log.write_bytes(b"".join(lines[: planned + 1]))
        campaign = world.campaign()
        campaign.resume()
        again = world.run(campaign)
        assert _handed_in(again) == _handed_in(state)


def _handed_in(state: CampaignState) -> Submitted | None:
    blend = state.works.blend()
    return blend.submitted if blend is not None else None


def _copy_logs(source: Path, target: Path) -> None:
    """Copy a finished campaign without the files of its sessions."""
    for path in sorted(_folder(source).rglob("*")):
        relative = path.relative_to(source)
        if path.is_file() and "workspace" not in relative.parts:
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            (target / relative).write_bytes(path.read_bytes())


def test_a_resumed_campaign_blends_again_only_after_another_attempt(tmp_path: Path, root: Path) -> None:
    """A campaign resumed after its end keeps its blend; one more attempt allows one more blend."""
    world = BlendingWorld.of(tmp_path, [])
    _copy_logs(root, tmp_path)
    campaign = world.campaign()
    campaign.resume()
    assert campaign.state.picked is None
    state = world.run(campaign)
    assert isinstance(world.grader, TableGrader)
    assert world.grader.asked == []
    assert state.picked is not None
    assert state.picked.work_id == "blend-000"
    blended = state.works.blend()
    assert blended is not None
    more = state.works.planned("attempt-003", blended.work.model_copy(update=_ATTEMPT))
    assert more.blend() is None


def test_the_script_runs_its_members_and_gives_the_same(
    tmp_path: Path, root: Path, state: CampaignState
) -> None:
    """The script, run without its members' submissions, writes the graded files byte for byte."""
    records = read_log(_folder(root) / "blend-000" / "log.jsonl", WORK_EVENTS)
    script = script_for(state, records, "blend-000")
    assert script is not None
    place = tmp_path / "alone"
    (place / "input").mkdir(parents=True)
    (place / "input" / "demo").symlink_to(root / "data", target_is_directory=True)
    (place / "script.py").write_text(script.text)
    subprocess.run([sys.executable, "-P", "script.py"], cwd=place, check=True)
    submitted = _handed_in(state)
    assert submitted is not None
    hashes = [hash_file(place / name) for name in NAMES]
    assert hashes == [submitted.validation_sha256, submitted.test_sha256]


def test_a_refit_of_a_blend_is_one_of_its_members(root: Path, state: CampaignState) -> None:
    """The members' scripts run on all labelled rows, with unchanged weights."""
    refit = state.refit()
    assert refit is not None
    assert refit.work.parents == ("blend-000",)
    blend = state.works.blend()
    assert blend is not None
    assert refit.work.blend == blend.work.blend
    workspace = _folder(root) / refit.id / "workspace"
    assert blend.work.blend is not None
    ran = sorted(path.name for path in (workspace / "members").iterdir())
    assert ran == [str(number) for number in range(len(blend.work.blend.members))]


def test_a_refit_that_would_take_too_long_is_told(state: CampaignState) -> None:
    """The members' running time decides whether a refit fits; else the blend is delivered as scored."""
    blend = state.works.blend()
    assert blend is not None
    assert blend.work.blend is not None
    members = blend.work.blend
    assert members.seconds == 7.0 * len(members.members)
    planned = WorkItems()
    for record in state.works:
        if record.work != blend.work and not record.id.startswith("refit"):
            planned = planned.planned(record.id, record.work)
    planned = planned.planned(blend.id, blend.work)
    assert blend.outcome is not None
    planned = planned.finished(blend.id, blend.outcome, state.spend.seconds)
    short = Budget(seconds=state.spend.seconds + 8.0)
    found = plan_refit(replace(state, works=planned, budget=short))
    assert isinstance(found, str)
    assert found.startswith("it takes about ")


def test_lineage_graph_and_journal_name_the_members(root: Path, state: CampaignState) -> None:
    """Lineage holds steps, weights and parents; the graph has edges from the members to the blend."""
    folder = BlendingWorld.of(root, []).folder
    lineage = lineage_of(state, folder, "blend-000")
    blend = state.works.blend()
    assert blend is not None
    assert lineage.operator == "blend"
    assert lineage.blend == blend.work.blend
    assert lineage.parameters["blend"] is True
    assert tuple(each.attempt for each in lineage.parents) == blend.work.parents
    assert lineage.script is not None
    graph = graph_of_campaign(state, CommunityView(as_of=None))
    drawn = {node.name for node in graph.ancestors("solution:blend-000")}
    assert set(blend.work.parents) <= drawn
    assert "blend-000: blend of" in journal_of(state)
    assert lineage_of(state, folder, "attempt-000").blend is None


def test_the_lineage_of_an_older_campaign_stays_as_it_was(root: Path, state: CampaignState) -> None:
    """Fields that are newer than a log are left out of a draft's hash."""
    older = replace(state, opened=spec(blend=False, pick="simplest"))
    lineage = lineage_of(older, BlendingWorld.of(root, []).folder, "attempt-000")
    assert "fold" not in json.loads(lineage.model_dump_json())
    names = ["title", "method", "codebase", "codebase_seconds", "codebase_result", "kind", "sources"]
    draft = state.works.attempt("attempt-000").work.draft.model_dump(mode="json")
    text = json.dumps({name: draft[name] for name in (*names, "inputs")}, separators=(",", ":"))
    assert lineage.draft_sha256 == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("name", ["validation_submission", "test_submission"])
def test_a_file_that_was_changed_is_not_averaged(name: str, tmp_path: Path) -> None:
    """A candidate whose files were changed after grading is refused."""
    world = BlendingWorld.of(tmp_path, [*_DIFFERENT[:4], _DIFFERENT[0], "words"])
    state = world.run(world.campaign(blend=True, coders=1))
    getattr(world.folder.work("attempt-000"), name)(1).write_text("id,y\n1,2\n")
    with pytest.raises(CampaignError, match="was changed after it was graded"):
        candidates(state, world.folder)


def test_candidates_are_the_scored_steps_that_differ(tmp_path: Path) -> None:
    """Candidates are best first and without duplicates; none installed packages or has changed files."""
    world = BlendingWorld.of(tmp_path, [*_DIFFERENT[:4], _DIFFERENT[0], "words"])
    state = world.run(world.campaign(blend=True, coders=1))
    found = candidates(state, world.folder)
    assert sorted((each.attempt.id, each.submitted.step) for each in found) == [
        ("attempt-000", 1),
        ("attempt-000", 2),
        ("attempt-001", 1),
        ("attempt-001", 2),
    ]
    installed = world.folder.work("attempt-001").installed
    package = InstalledPackage(name="x", version="1", sha256="a" * 64)
    installed.write_text(f"[{package.model_dump_json()}]")
    assert {each.attempt.id for each in candidates(state, world.folder)} == {"attempt-000"}
    values = [each.value for each in found]
    assert values == sorted(values, reverse=True)


@pytest.fixture(scope="module")
def stacked(tmp_path_factory: pytest.TempPathFactory) -> CampaignState:
    """The state of a campaign whose six steps have out-of-fold predictions."""
    return _run(tmp_path_factory.mktemp("stacked"), [program(seed, 0.5, 0.5) for seed in range(6)])


def test_a_stack_has_more_members_and_an_offset(stacked: CampaignState) -> None:
    """Where attempts have out-of-fold predictions, weights are learned on these, of all six steps."""
    blend = stacked.works.blend()
    assert blend is not None
    assert blend.work.blend is not None
    assert blend.work.blend.stacked
    assert blend.work.blend.out_of_fold_rows == 120
    assert len(blend.work.blend.members) == 6
    assert len(blend.work.blend.offsets) == 1
    assert ", learned on out-of-fold predictions" in str(blend.work.blend)
    assert blend.score is not None
    assert stacked.best is not None
    assert blend.score.value.better_than(stacked.best.score.value)
    assert stacked.picked is not None
    assert stacked.picked.work_id == blend.id
    refit = stacked.refit()
    assert refit is not None
    assert refit.work.blend == blend.work.blend


def test_members_of_a_stack_can_be_refitted_in_time(tmp_path: Path) -> None:
    """A stack has no more members than there is time to refit; each takes seven seconds."""
    world = BlendingWorld.of(tmp_path, [program(seed, 0.5, 0.5) for seed in range(6)])
    state = world.run(world.campaign(blend=True, coders=1, refit=True))
    short = replace(state, budget=Budget(seconds=state.spend.seconds + 45.0), works=_attempts(state))
    [offered] = offers(short, world.folder)
    assert len(offered.asked) == 6
    report = world.grader.blend(offered.asked, (), most_seconds(offered.asked, short))
    assert report.stacked
    assert 2 <= len(report.members) <= 3


def _attempts(state: CampaignState) -> WorkItems:
    """Return the attempts of a campaign, without its blend and refit."""
    works = WorkItems()
    for attempt in state.works.attempts():
        works = works.planned(attempt.id, attempt.work)
        assert attempt.outcome is not None
        works = works.finished(attempt.id, attempt.outcome, state.spend.seconds)
    return works


def test_predictions_that_are_not_out_of_fold_are_left_out(tmp_path: Path) -> None:
    """An attempt whose predictions of train.csv are far better than its score is not stacked."""
    learned = [program(seed, 0.5, 0.01) for seed in (4, 5)]
    world = BlendingWorld.of(tmp_path, [*(program(seed, 0.5, 0.5) for seed in range(4)), *learned])
    state = world.run(world.campaign(blend=False, coders=1))
    [offered] = offers(state, world.folder)
    stacked = {
        each.attempt.id
        for each, asked in zip(offered.steps, offered.asked, strict=True)
        if asked.out_of_fold
    }
    assert stacked == {"attempt-000", "attempt-001"}


def test_one_attempt_with_out_of_fold_predictions_makes_no_stack(tmp_path: Path) -> None:
    """Steps of a single attempt are averaged as those of others are."""
    world = BlendingWorld.of(tmp_path, [program(0, 0.5, 0.5), program(1, 0.5, 0.5), *_DIFFERENT[2:]])
    state = world.run(world.campaign(blend=False, coders=1))
    [offered] = offers(state, world.folder)
    assert not any(each.out_of_fold for each in offered.asked)


def test_what_is_recorded_is_a_bounded_aggregate(root: Path, state: CampaignState) -> None:
    """A blend's event reveals a few small integer weights and three numbers of three digits."""
    assert state.judged is not None
    assert state.judged.blend is not None
    members, gain = state.judged.blend.members, state.judged.blend.gain
    assert len(members) <= 5
    assert sum(weight for each in members for weight in each.weights) <= 20
    for value in (gain.difference, gain.standard_error, gain.interval.low, gain.interval.high):
        assert float(f"{value:.3g}") == value
    records = read_log(_folder(root) / "log.jsonl", CAMPAIGN_EVENTS)
    assert sum(isinstance(record.event, BlendJudged) for record in records) == 1
    assert not hasattr(Grader, "blend"), "what attempts are given"
