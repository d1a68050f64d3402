"""How much of an attempt's prompts a server has in its cache: 30 steps, as they go over the wire.

The model is scripted but the rest is real: the Coding Agent, the client, HTTP. Programs and outputs are
as long as those of real attempts (a recipe of ours in parts, the log of a cross-validated training).
What counts is the beginning that a request shares with the one before, by tokens, as servers keep it;
the server's own count, of whole messages that it has seen before, stands beside it.
"""

import tempfile
from itertools import pairwise, takewhile
from pathlib import Path

from comind.baseline.bundle import RECIPES
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.work.metering import BudgetLedger
from comind.campaign.worker import Dependencies, execute
from comind.competitions.competition_folder import load_competition
from comind.demos.make import make_demo
from comind.domain.problem import Problem
from comind.domain.spend import Budget, Spend
from comind.llm.openai_model import OpenAIModel
from comind.llm.settings import ModelSettings
from comind.llm.tokens import count_tokens
from comind.profile.problem_description import describe_problem
from comind.splits.split_files import make_split
from comind.testing import ColumnGrader, ScriptedSession
from tests.doubles.endpoint import Endpoint, EndpointRequest
from tests.unit.agents.samples import agent_for
from tests.unit.campaign.samples import code

STEPS = 30
FOLDS = "\n".join(
    f"fold {fold}, round {number:4d}: train loss {0.9 / number:.5f}, held out {1.1 / number:.5f}"
    for fold in range(5)
    for number in (100, 200, 300, 400, 500)
)


def _programs() -> list[str]:
    """Return 30 cells of 20 to 40 lines, no two the same."""
    lines = [
        line
        for name in ("answers", "table", "text", "images", "panel")
        for line in (RECIPES / f"{name}.py").read_text("utf-8").splitlines()
        if line.strip()
    ]
    sizes = [20 + 7 * number % 21 for number in range(STEPS)]
    starts = [11 * number % (len(lines) - 41) for number in range(STEPS)]
    cells = zip(starts, sizes, strict=True)
    return [
        "\n".join(
            ["if False:", *(f"    # {line}" for line in lines[a : a + n]), "    pass", f"step = {k}"]
        )
        for k, (a, n) in enumerate(cells)
    ]


def share(problem: Problem, context_tokens: int) -> tuple[float, float, int]:
    """Return the shares of an attempt's prompt tokens in an identical prefix, and how many there were.

    The first is by tokens, as servers keep them; the second counts whole messages alone.
    """
    programs = _programs()
    said = iter(programs)

    def answer(asked: EndpointRequest) -> str:
        if asked.wanted:
            return '{"summary": "Thirty steps.", "improvements": []}'
        return f"```python\n# goal: Try another part of the recipe.\n{next(said)}\n```"

    def cell(number: int) -> object:
        def run(workspace: Path) -> str:
            (workspace / "validation_submission.csv").write_text(f"0.{700 + number}")
            (workspace / "submission.csv").write_text("rows")
            return f"{FOLDS}\nmean of folds: 0.{700 + number}\n"

        return run

    cells = {program: cell(number) for number, program in enumerate(programs)}
    folder = CampaignFolder(Path(tempfile.mkdtemp(prefix="b-")) / "campaign").work("attempt-000")
    with Endpoint(answer) as server:
        settings = ModelSettings(context_tokens=context_tokens)
        model = OpenAIModel("test-model", base_url=server.url, api_key=None, settings=settings)
        dependencies = Dependencies(
            lambda role: model,
            BudgetLedger(Budget(), Spend()),
            ColumnGrader(),
            lambda work, where, notify: ScriptedSession(where.workspace, cells),  # type: ignore[arg-type]
        )
        outcome = execute(agent_for(problem), code(steps=STEPS), folder, dependencies)
        assert outcome.failure is None, outcome.failure
        counted = server.counted
        shares = _in_prefix([asked.messages for asked in server.requests])
    return shares, counted.cached_tokens / counted.prompt_tokens, counted.prompt_tokens


def _in_prefix(requests: list[list[dict[str, str]]]) -> float:
    """Return the share of tokens that lie in a beginning that the request before had, too."""
    texts = ["\n".join(f"{each['role']}: {each['content']}" for each in asked) for asked in requests]
    shared = 0
    for before, after in pairwise(texts):
        same = takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
        shared += count_tokens(after[: sum(1 for _ in same)])
    return shared / sum(count_tokens(text) for text in texts)


def main() -> None:
    """Print the figures."""
    root = Path(tempfile.mkdtemp(prefix="b-"))
    competition = load_competition(make_demo("demo-tumours", root))
    problem = describe_problem(make_split(competition, root / "splits", seed=0), count_tokens)
    for context_tokens, target in ((128_000, " (target 85 %)"), (32_768, ""), (16_384, ""), (8_192, "")):
        found, whole, tokens = share(problem, context_tokens)
        print(
            f"prefix of a {STEPS}-step attempt with a context of {context_tokens} tokens: "
            f"{found:.1%} of {tokens} prompt tokens{target}; {whole:.1%} in whole messages"
        )


if __name__ == "__main__":
    main()
