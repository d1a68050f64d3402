"""A small community and its view, for the tests of roles."""

from datetime import UTC, datetime

from comind.domain.community import Comment, CommunityView, Dataset, Discussion, Notebook

WHEN = datetime(2024, 5, 1, tzinfo=UTC)


def notebook(ref: str, source: str = "model.fit(x, y)", **values: object) -> Notebook:
    given = {"version": 1, "title": f"About {ref}", "author": "ada", "created_at": WHEN}
    return Notebook.model_validate(given | {"ref": ref, "source": source} | values)


def discussion(number: str, body: str = "Scale the columns.", **values: object) -> Discussion:
    given = {"title": f"Thread {number}", "author": "ben", "posted_at": WHEN}
    return Discussion.model_validate(given | {"id": number, "body": body} | values)


VIEW = CommunityView(
    notebooks=(
        notebook("ada/straight-line", public_score=0.91),
        notebook("ben/forest", "forest = ExtraTreesClassifier()"),
    ),
    discussions=(
        discussion(
            "1",
            comments=(Comment(id="1-1", author="cy", posted_at=WHEN, body="Logarithms helped me."),),
        ),
    ),
    datasets=(
        Dataset(ref="ada/extra-rows", version=1, title="Extra rows", published_at=WHEN, files=True),
    ),
)
