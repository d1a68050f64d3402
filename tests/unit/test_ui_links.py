"""`comind ui` links campaigns, and the runs of each competition sorted by the delivered score."""

from comind.cli.ui import _links


def test_runs_are_listed_once_for_each_competition_best_first() -> None:
    """Of two campaigns of one competition there is one list; a loss is sorted upwards."""
    pages = ["#/experiments/1/runs/a", "#/experiments/1/runs/b", "#/experiments/2/runs/c"]
    found = list(_links([(page[-1], page, page[-1] != "c") for page in pages]))
    about = [f"{page[-1]}; its page: campaign.html" for page in pages]
    assert found[:3] == [("Campaign", page, each) for page, each in zip(pages, about, strict=True)]
    sort = "workflowType=machine_learning&orderByKey=metrics.%60validation_score%60&orderByAsc"
    assert found[3:] == [
        ("Runs", f"#/experiments/1/runs?{sort}=false", "of its competition, by score"),
        ("Runs", f"#/experiments/2/runs?{sort}=true", "of its competition, by score"),
    ]
