"""Live pages of a project's campaigns are served on the loopback, and rendered when logs change."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from comind.app.campaign_pages import CampaignPages
from comind.campaign.log.campaign_folders import CampaignFolder
from tests.unit.campaign.page_campaign import write_campaign


class _Rendered:
    """Renders a campaign as the number of times it was rendered."""

    times = 0

    def __call__(self, _folder: CampaignFolder) -> str:
        self.times += 1
        return f"<p>rendered {self.times}</p>"


@pytest.fixture
def rendered() -> _Rendered:
    return _Rendered()


@pytest.fixture
def server(tmp_path: Path, rendered: _Rendered) -> Iterator[CampaignPages]:
    """The pages of a project with one campaign."""
    write_campaign(tmp_path / "runs" / "demo-tiny-1", attempts=2, steps=1)
    with CampaignPages(tmp_path, rendered) as running:
        yield running


def _get(server: CampaignPages, path: str, **headers: str) -> tuple[int, str, str]:
    """Return status, text and ETag of a page."""
    request = urllib.request.Request(server.url + path, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as page:
            return page.status, page.read().decode(), page.headers.get("ETag", "")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers.get("ETag", "")


def test_campaigns_are_listed_with_links(server: CampaignPages) -> None:
    """Agent, state, best score, attempts, time and cost of each are in the list."""
    status, page, _ = _get(server, "/")
    assert status == 200
    assert '<a href="/campaigns/demo-tiny-1">' in page
    assert "<td>ended</td><td>accuracy 0.7" in page


def test_a_page_is_rendered_when_its_logs_have_changed(
    server: CampaignPages, rendered: _Rendered, tmp_path: Path
) -> None:
    """Until then a browser that has it is answered 304, another one with the same page."""
    status, page, version = _get(server, "/campaigns/demo-tiny-1")
    assert (status, page) == (200, "<p>rendered 1</p>")
    assert _get(server, "/campaigns/demo-tiny-1", **{"If-None-Match": version})[:2] == (304, "")
    assert _get(server, "/campaigns/demo-tiny-1")[1] == page
    with (tmp_path / "runs" / "demo-tiny-1" / "attempt-000" / "log.jsonl").open("a") as log:
        log.write("\n")
    status, page, later = _get(server, "/campaigns/demo-tiny-1", **{"If-None-Match": version})
    assert (status, page, rendered.times) == (200, "<p>rendered 2</p>", 2)
    assert later != version


@pytest.mark.parametrize(
    "path",
    ["/campaigns/nothing", "/campaigns/..%2Fdemo-tiny-1", "/campaigns/../../x", "/benches/x", "/x"],
)
def test_nothing_else_is_served(path: str, server: CampaignPages, rendered: _Rendered) -> None:
    """Names that are no campaign or bench are not found, whatever path they make."""
    assert _get(server, path)[0] == 404
    assert rendered.times == 0


def test_another_host_is_refused(server: CampaignPages) -> None:
    """A site whose name leads to this machine cannot read the pages."""
    assert _get(server, "/", Host="evil.example")[0] == 400


def test_texts_of_models_are_escaped(tmp_path: Path, rendered: _Rendered) -> None:
    """Names in the list are text, whatever they hold."""
    write_campaign(tmp_path / "runs" / "c1", attempts=1, steps=1, text=lambda _: "<script>x</script>")
    with CampaignPages(tmp_path, rendered) as server:
        page = _get(server, "/")[1]
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_a_damaged_log_is_a_line_in_the_list(server: CampaignPages, tmp_path: Path) -> None:
    """The other campaigns are listed nevertheless."""
    damaged = write_campaign(tmp_path / "runs" / "demo-tiny-2", attempts=1, steps=1)
    damaged.log.write_text("nonsense\n" * 3)
    page = _get(server, "/")[1]
    assert '<a href="/campaigns/demo-tiny-1">' in page
    assert "demo-tiny-2" in page


def test_reports_of_benches_are_served(server: CampaignPages, tmp_path: Path) -> None:
    """Each is linked from the list."""
    report = tmp_path / "benches" / "small" / "report.html"
    report.parent.mkdir(parents=True)
    report.write_text("<p>report</p>")
    assert '<a href="/benches/small">' in _get(server, "/")[1]
    assert _get(server, "/benches/small")[:2] == (200, "<p>report</p>")


def test_an_empty_project_says_what_to_do(tmp_path: Path, rendered: _Rendered) -> None:
    """The list names the command that starts a campaign."""
    with CampaignPages(tmp_path, rendered) as server:
        assert "comind solve COMPETITION" in _get(server, "/")[1]
