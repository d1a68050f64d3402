"""A small competition of the simulated Kaggle."""

from datetime import UTC, datetime

from comind.kaggle.port import (
    CommentFacts,
    CompetitionFacts,
    DatasetFacts,
    LeaderboardRow,
    NotebookFacts,
    Page,
    TopicFacts,
)
from tests.doubles.kaggle import KaggleWorld

SLUG = "tiny-houses"


def day(number: int) -> datetime:
    return datetime(2023, 12, number, tzinfo=UTC)


def tiny_world() -> KaggleWorld:
    """Return a competition on prices of houses with its community."""
    train = "Id,rooms,Price\n" + "".join(f"{n},{n % 4},{n * 10}\n" for n in range(1, 9))
    test = "Id,rooms\n9,1\n10,2\n"
    return KaggleWorld(
        facts=CompetitionFacts(
            slug=SLUG,
            title="Tiny houses",
            url=f"https://www.kaggle.com/competitions/{SLUG}",
            metric="Root Mean Squared Error",
            deadline=datetime(2024, 6, 1, tzinfo=UTC),
            daily_submissions=5,
            teams=2,
            entered=True,
        ),
        pages=(
            Page(name="description", content="Guess the price of a house."),
            Page(name="rules", content="Be nice."),
            Page(name="evaluation", content="Submissions are scored by RMSE."),
            Page(name="data-description", content="One row a house."),
        ),
        files={
            "train.csv": train.encode(),
            "test.csv": test.encode(),
            "sampleSubmission.csv": b"Id,Price\n9,0\n10,0\n",
            "extra/notes.txt": b"hello",
        },
        leaderboard=(
            LeaderboardRow(team="first", score="0.1", submitted=day(1)),
            LeaderboardRow(team="second", score="0.2", submitted=day(2)),
        ),
        notebooks=(
            NotebookFacts(
                ref="ann/best",
                title="Best",
                author="Ann",
                version=3,
                votes=1,
                last_run=day(3),
                language="python",
                datasets=("bob/more",),
                competitions=(SLUG,),
                source="print(1)\n",
            ),
            NotebookFacts(
                ref="bob/liked",
                title="Liked",
                author="Bob",
                version=1,
                votes=50,
                last_run=day(2),
                language="python",
                source="print(2)\n",
            ),
        ),
        topics=(
            TopicFacts(
                id=7,
                title="Why?",
                author="Cy",
                votes=4,
                comments=2,
                posted=day(1),
                last_comment=day(4),
                body="Why houses?",
            ),
        ),
        comments={
            7: (
                CommentFacts(id=71, author="Ann", body="Because.", votes=2, posted=day(2)),
                CommentFacts(id=72, author="Cy", body="Ah.", parent=71, posted=day(4)),
            )
        },
        datasets=(DatasetFacts(ref="bob/more", title="More houses", version=2, updated=day(1)),),
    )
