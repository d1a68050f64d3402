"""Record the lineage of an attempt: hashes of everything needed to reproduce it."""

import hashlib
from collections.abc import Iterable

from pydantic import AwareDatetime, Field, JsonValue

from comind.campaign.log.campaign_events import CommunityRead, Proof, ScriptProved
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.outcome import CodeOutcome, Submitted
from comind.campaign.log.work_events import WORK_EVENTS, WorkEvent
from comind.campaign.log.work_state import WORK_LOG
from comind.campaign.script.cells import cells_of
from comind.campaign.script.derive import Script, ScriptOrigin, all_cells, derive
from comind.domain.draft import Blend, Draft
from comind.domain.environment import Environment
from comind.domain.value import Value
from comind.eventlog.log import Record, read_log
from comind.session.notebook import notebook_of
from comind.session.packages import InstalledPackage, read_installed


class SplitLineage(Value):
    """The split that scores refer to."""

    key: str
    public_sha256: str
    sealed_sha256: str


class CommunityLineage(Value):
    """The community snapshot visible to the attempt."""

    key: str
    sha256: str
    as_of: AwareDatetime | None
    closed_at: AwareDatetime | None = None
    """The competition's deadline, where it had passed when the campaign was opened."""


class ParentLineage(Value):
    """An attempt that this one is based on."""

    attempt: str
    test_sha256: str = ""
    """Of its submission; empty if it has none."""


class ScriptLineage(Value):
    """The standalone script."""

    file: str
    origin: str = Field(alias="kind")
    sha256: str
    proof: Proof = "unproved"
    reason: str = "nobody has run it"


class AttemptLineage(Value):
    """`lineage.json` of an attempt, computed from logs, installed packages and the DVC pointer."""

    campaign: str
    attempt: str
    operator: str
    parameters: dict[str, JsonValue]
    """The campaign's configuration: agent, model, seeds, limits."""
    environment_sha256: str
    revision: str
    diff_sha256: str
    prompts_sha256: str
    sandbox_image: str
    store: dict[str, str] = {}
    """Hashes of the user's mounted models and datasets, by path."""
    toolbox: str = ""
    """Hash of the toolbox's lock file; empty for CoMind's own environment."""
    installed: tuple[InstalledPackage, ...] = ()
    """Packages that its cells installed, besides those of the environment."""
    split: SplitLineage
    community: CommunityLineage | None
    draft_sha256: str
    sources: tuple[str, ...]
    parents: tuple[ParentLineage, ...]
    inputs: tuple[str, ...]
    blend: Blend | None = None
    """Steps and weights of the parents; only of a blend and its refit."""
    fold: int = Field(default=0, exclude_if=lambda number: number == 0)
    """Number of the fold; written for fold runs only, as in older campaigns."""
    replies: int
    replies_sha256: str
    """Hash of the recorded replies, in order."""
    notebook_sha256: str
    threads: int
    sealed: bool | None
    script: ScriptLineage | None
    submitted: Submitted | None
    score: float | None
    solution_md5: str = ""
    """DVC's hash of the published code, report, submissions and checkpoints."""


def lineage_of(
    state: CampaignState, folder: CampaignFolder, work_id: str, solution_md5: str = ""
) -> AttemptLineage:
    """Return the lineage of a finished attempt.

    Raises:
        LogError: the attempt's log was changed.
    """
    attempt = state.works.attempt(work_id)
    work = attempt.work
    assert state.split is not None
    records = read_log(folder.work(work_id).log, WORK_EVENTS)
    environment = state.environment_of(work_id) or Environment()
    known = state.known_to(work_id)
    ran = WORK_LOG.fold(records)
    replies = [call.reply for call in ran.calls if call.reply is not None]
    script = script_for(state, records, work_id)
    notebook = notebook_of(work.draft.title, ran.cells)
    return AttemptLineage(
        campaign=folder.name,
        attempt=work_id,
        operator=work.operator.value,
        parameters=_parameters(state),
        environment_sha256=environment.sha256,
        revision=environment.revision,
        diff_sha256=environment.diff_sha256,
        prompts_sha256=environment.prompts_sha256,
        sandbox_image=environment.image,
        store={each.path: each.sha256 for each in (*environment.models, *environment.datasets)},
        toolbox=environment.toolbox,
        installed=read_installed(folder.work(work_id).installed),
        split=SplitLineage.model_validate(state.split, from_attributes=True),
        community=_community_lineage(state, known[0]) if known else None,
        draft_sha256=_sha256(_written(work.draft)),
        sources=work.draft.sources,
        parents=tuple(_parent_lineage(state, each) for each in work.parents),
        inputs=work.inputs,
        blend=work.blend,
        fold=work.fold,
        replies=len(replies),
        replies_sha256=_sha256("\0".join(reply.model_dump_json() for reply in replies)),
        notebook_sha256=_sha256(notebook),
        threads=ran.threads,
        sealed=ran.sealed,
        script=_script_lineage(script, state.proofs.get(work_id)) if script else None,
        submitted=attempt.submitted,
        score=attempt.score.value.value if attempt.score else None,
        solution_md5=solution_md5,
    )


def _parameters(state: CampaignState) -> dict[str, JsonValue]:
    return state.spec.model_dump(mode="json", exclude={"id"})


def _written(draft: Draft) -> str:
    """Serialize a draft without unused newer fields, so that older hashes stay valid."""
    newer = ("notebook", "members", "preparation", "needs")
    plain = Draft(title="-", method="")
    unused = {name for name in newer if getattr(draft, name) == getattr(plain, name)}
    return draft.model_dump_json(exclude=unused)


def script_for(
    state: CampaignState, records: Iterable[Record[WorkEvent]], work_id: str
) -> Script | None:
    """Return the script of an attempt, of the kind that was proved; None without a submission."""
    submitted = state.works.attempt(work_id).submitted
    if submitted is None:
        return None
    cells = cells_of(WORK_LOG.fold(records).cells, submitted.step)
    proved = state.proofs.get(work_id)
    whole = proved is not None and proved.origin == ScriptOrigin.CELLS
    return all_cells(cells) if whole else derive(cells)


def _script_lineage(script: Script, proved: ScriptProved | None) -> ScriptLineage:
    known = ScriptLineage(file=script.file_name, origin=script.origin.value, sha256=script.sha256)
    if proved is None or proved.script_sha256 != script.sha256:
        return known
    return known.model_copy(update={"proof": proved.proof, "reason": proved.reason})


def _community_lineage(state: CampaignState, read: CommunityRead) -> CommunityLineage:
    found = CommunityLineage.model_validate(read, from_attributes=True)
    return found.model_copy(update={"closed_at": state.spec.closed_at})


def _parent_lineage(state: CampaignState, work_id: str) -> ParentLineage:
    outcome = state.works[work_id].outcome
    submitted = outcome.submitted if isinstance(outcome, CodeOutcome) else None
    return ParentLineage(attempt=work_id, test_sha256=submitted.test_sha256 if submitted else "")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
