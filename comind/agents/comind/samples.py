"""Replies of a model in the sample campaigns of `comind prompts`."""

from typing import Any

from comind.campaign.agent import Samples


def _draft(title: str, start_from: str = "", combine: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"title": title, "start_from": start_from, "combine": combine}


SAMPLES = Samples(
    contexts=(131_072, 8_192),
    replies={
        "drafts": [
            [],
            [_draft("Plain trees, adapted", "ada/plain-trees"), _draft("Ratios of columns")],
            [_draft("Deeper trees", "attempt-000"), _draft("Regression on ranks")],
            [_draft("Stack of trees and ranks", combine=("attempt-000", "attempt-001"))],
        ],
        "CodingStep.code": [None, None, "# Nothing is left to do.", None],
        "ProgramStep.code": [None, None, "# Nothing is left to do.", None],
    },
)
