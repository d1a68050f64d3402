"""The estimate before the start is one line, from the calls that the agent expects to make."""

from comind.agents.comind import CoMind
from comind.campaign.log.campaign_spec import CampaignSpec
from comind.campaign.reports.call_costs import Expected, ExpectedCalls
from comind.domain.spend import Budget
from comind.llm.costs import price_of
from comind.llm.model_ports import Usage
from tests.unit.campaign.samples import spec


def _line(campaign: CampaignSpec, price: float | None) -> str:
    expected = CoMind.estimate(campaign)
    return expected.summary(expected.estimate(lambda role, usage: price), campaign.budget)


def test_the_estimate_follows_from_the_plan() -> None:
    """Twice the coders take twice the attempts' tokens; cached tokens are priced as such."""
    small = spec(iterations=1, coders=2, steps=10, notebooks=10)
    large = small.model_copy(update={"coders": 4})
    expected = [CoMind.estimate(each) for each in (small, large)]
    assert [each.calls[-1].times for each in expected] == [2, 4]
    one, other = (each.estimate(lambda role, usage: 0.0).usage for each in expected)
    assert one.prompt_tokens < other.prompt_tokens < 2 * one.prompt_tokens
    assert 0 < one.cached_tokens < one.prompt_tokens


def test_filtering_takes_a_call_more() -> None:
    """Without filtering the ideas of a round take the brainstorm alone."""
    expected = [
        CoMind.estimate(spec(iterations=1, parameters={"filtering": on})) for on in (True, False)
    ]
    filtered, plain = ([each for each in one.calls if each.role == "idea_proposer"] for one in expected)
    assert filtered[0].usage.prompt_tokens > 2 * plain[0].usage.prompt_tokens
    assert filtered[0].usage.cached_tokens > plain[0].usage.cached_tokens


def test_what_is_read_follows_from_the_parameters() -> None:
    """Without a community only solutions are read; with one, each round reads what it samples."""
    none = spec(iterations=3, coders=2, parameters={"notebooks_per_round": 4, "one_call_minutes": 0})
    there = none.model_copy(update={"community": "folder"})
    assert [CoMind.estimate(each).calls[0].times for each in (none, there)] == [4, 4 + 3 * (4 + 3)]


def test_without_rounds_nothing_is_expected() -> None:
    """`--iterations 0` runs the baseline alone, with and without a community."""
    for community in ("none", "folder"):
        expected = CoMind.estimate(spec(iterations=0).model_copy(update={"community": community}))
        assert {each.times for each in expected.calls} == {0}


def test_rounds_in_one_call_are_expected_where_time_is_short() -> None:
    """Within `one_call_minutes` a round has no call for ideas; in a longer campaign half of them do."""
    for minutes, most, ideas in ((60, 60, 0), (60, 0, 4), (120, 60, 2)):
        values = {"iterations": 4, "parameters": {"one_call_minutes": most}}
        expected = CoMind.estimate(spec(**values, budget=Budget(seconds=60.0 * minutes)))
        times = {each.role: each.times for each in expected.calls}
        assert (times["idea_proposer"], times["coordinator"]) == (ideas, 4)


def test_it_is_told_in_one_line() -> None:
    """The line has rounds, attempts, tokens, dollars and the limits."""
    campaign = spec(iterations=2, coders=2, steps=10, budget=Budget(seconds=3600, usd=5.0))
    expected = CoMind.estimate(campaign)
    priced = expected.estimate(lambda role, usage: price_of("gpt-5-mini", usage, None))
    line = expected.summary(priced, campaign.budget)
    assert line.startswith("2 rounds of 2 attempts, 10 steps: ")
    assert line.endswith(", never more than $5")
    assert "about $0." in line
    assert "\n" not in line


def test_what_is_not_known_is_said() -> None:
    """An unknown price and an estimated number of rounds are named as such."""
    line = _line(spec(iterations=None, steps=10), None)
    assert "price unknown" in line
    assert "a guess from the time" in line


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    """The total is known only if every role's price is known."""
    usage = Usage(prompt_tokens=10)
    expected = Expected("two", (ExpectedCalls("a", usage, 1), ExpectedCalls("b", usage, 2)))
    assert expected.estimate(lambda role, usage: 1.0).usd == 3.0
    assert expected.estimate(lambda role, usage: 1.0 if role == "a" else None).usd is None
