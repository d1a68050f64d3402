"""Select what an attempt is told of others as it begins: lessons, and components of other solutions."""

from collections.abc import Sequence

from comind.agents.comind.lessons import lessons_of, reference_of
from comind.agents.comind.pool import Pool
from comind.agents.comind.shared_solutions import with_solutions
from comind.agents.comind.thoughts import CODING, CodingFacts, OtherComponent
from comind.campaign.log.campaign_state import CampaignState
from comind.campaign.log.work import Code
from comind.domain.value import Payload, one_line

_OF_EACH, _IN_ALL = 2, 5  # components
_NAME_LENGTH, _TEXT_LENGTH = 120, 200


def told(
    state: CampaignState, pool: Pool, work: Code, *, lessons: bool = True, shared: bool = True
) -> Code:
    """Return an attempt with what it is compared with and what it is told.

    That are the solutions that it mounts, those that it does not come from only if `shared`, and with
    `lessons` the lessons so far and the best components outside its lineage.
    """
    work = with_solutions(state, work, shared=shared)
    facts = CODING.facts_of(work) or CodingFacts()
    if lessons:
        found = {"lessons": lessons_of(state), "components": _components(state, pool, work.parents)}
        facts = facts.model_copy(update=found)
    reference = reference_of(state, work.parents)
    return work.model_copy(update={"facts": Payload.of(facts), "reference": reference})


def _components(state: CampaignState, pool: Pool, parents: Sequence[str]) -> tuple[OtherComponent, ...]:
    """Return the best rated components of other solutions; of equals those of the better solution."""
    inside, reports = _programs_of(state, parents), {report.item: report for report in pool.reports}
    found = []
    for each in state.works.best_first():
        if each.id in inside or each.id not in reports or each.rejected:
            continue
        rated = sorted(reports[each.id].components, key=lambda part: -part.effectiveness)
        for part in rated[:_OF_EACH]:
            component = OtherComponent(
                of=each.id,
                result=one_line(each.result, _TEXT_LENGTH),
                name=one_line(part.name, _NAME_LENGTH),
                takes=one_line(part.takes, _TEXT_LENGTH),
                gives=one_line(part.gives, _TEXT_LENGTH),
                effectiveness=part.effectiveness,
            )
            found.append(component)
    return tuple(sorted(found, key=lambda each: -each.effectiveness)[:_IN_ALL])


def _programs_of(state: CampaignState, parents: Sequence[str]) -> set[str]:
    """Return attempts and all whose programs they were made from.

    The graph's lineage follows ideas, too, which come without a program.
    """
    works = {each.id: each.work for each in state.works.attempts()}
    found, following = set[str](), [each for each in parents if each in works]
    while following:
        found.add(name := following.pop())
        following += [each for each in works[name].parents if each in works and each not in found]
    return found
