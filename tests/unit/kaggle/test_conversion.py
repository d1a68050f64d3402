"""Objects of the client are converted to values of the port."""

from datetime import UTC, datetime
from typing import Any

import pytest
from kagglesdk.competitions.types import competition_api_service as competitions
from kagglesdk.competitions.types.submission_status import SubmissionStatus
from kagglesdk.datasets.types.dataset_api_service import ApiDataset
from kagglesdk.discussions.types.discussions_api_service import ApiDiscussionComment
from kagglesdk.kernels.types.kernels_api_service import ApiKernelMetadata

from comind.kaggle import conversion


def made(kind: Any, **fields: Any) -> Any:
    given = kind()
    for name, value in fields.items():
        setattr(given, name, value)
    return given


@pytest.mark.parametrize(
    "ref", ["titanic", "https://www.kaggle.com/competitions/titanic", "/c/titanic/"]
)
def test_a_competition_by_name_or_address(ref: str) -> None:
    """The slug is the last part of the reference, and times are in UTC."""
    given = made(competitions.ApiCompetition, ref=ref, deadline=datetime(2030, 1, 1))  # noqa: DTZ001
    facts = conversion.competition_of(given)
    assert facts.slug == facts.title == "titanic"
    assert facts.deadline == datetime(2030, 1, 1, tzinfo=UTC)
    assert not facts.entered
    assert facts.rules_url.endswith("/competitions/titanic/rules")


def test_answers_with_nothing_in_them() -> None:
    """A missing attribute becomes an empty value."""
    assert conversion.page_of(competitions.ApiCompetitionPage()).content == ""
    assert conversion.row_of(competitions.ApiLeaderboardSubmission()).submitted is None
    assert conversion.limits_of(competitions.ApiSubmissionLimits()).allowed_now == 0
    assert conversion.submission_of(competitions.ApiSubmission()).status == "pending"
    assert conversion.topic_of(competitions.ApiCompetitionTopic()).body is None
    assert conversion.notebook_of(made(ApiKernelMetadata, ref="ann/one")).version is None


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (SubmissionStatus.PENDING, "pending"),
        (SubmissionStatus.COMPLETE, "complete"),
        (SubmissionStatus.ERROR, "error"),
    ],
)
def test_states_of_submissions(status: SubmissionStatus, told: str) -> None:
    """Each status of Kaggle is mapped to one of ours."""
    given = made(competitions.ApiSubmission, ref=7, status=status, public_score="0.5")
    facts = conversion.submission_of(given)
    assert (facts.ref, facts.status, facts.public_score) == ("7", told, "0.5")


def test_references_are_owner_and_name() -> None:
    """References may be URLs."""
    assert conversion.notebook_of(made(ApiKernelMetadata, ref="/code/ann/one")).ref == "ann/one"
    address = "https://www.kaggle.com/datasets/bob/more"
    assert conversion.dataset_of(made(ApiDataset, ref=address)).ref == "bob/more"


def test_a_tree_of_comments_is_flat() -> None:
    """Replies follow their parent and name it."""
    deep = made(ApiDiscussionComment, id=3, content="c")
    middle = made(ApiDiscussionComment, id=2, content="b", replies=[deep])
    top = made(ApiDiscussionComment, id=1, content="a", replies=[middle])
    found = list(conversion.comments_of([top, made(ApiDiscussionComment, id=4, content="d")]))
    assert [(each.id, each.parent) for each in found] == [(1, None), (2, 1), (3, 2), (4, None)]


def test_halves_of_characters_are_replaced() -> None:
    """A title that was cut within an emoji does not hide the other items of its page."""
    page = conversion.page_of(made(competitions.ApiCompetitionPage, name="rules", content="a\ud83d"))
    assert page.content == "a\ufffd"
    [comment] = conversion.comments_of([made(ApiDiscussionComment, id=1, content="\ude00b")])
    assert comment.body == "\ufffdb"
