"""The HTML page of a campaign: all parts, inert text, one copy of each message, readable colours."""

import base64
import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comind.campaign.log.campaign_events import CampaignOpened, WorkPlanned
from comind.campaign.log.campaign_folders import CampaignFolder
from comind.campaign.loop import Campaign
from comind.campaign.reports.page import campaign_page as page_module
from comind.campaign.reports.page.long_texts import LongText, LongTexts, fair_limit, visible
from comind.campaign.reports.page.score_chart import ChartPoint, score_chart
from comind.llm.settings import ModelSettings
from tests.unit.campaign.hostile_text import HOSTILE
from tests.unit.campaign.page_campaign import page_of, write_campaign
from tests.unit.campaign.samples import code, score, spec


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text inside of them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def values(self, name: str) -> Iterator[str]:
        """Yield the values of an attribute."""
        for _, attributes in self.found:
            if name in attributes:
                yield attributes[name] or ""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a campaign that has ended."""
    return page_of(write_campaign(tmp_path_factory.mktemp("runs") / "demo-tiny-1"))


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    return Elements(page)


def test_the_page_has_all_parts(page: str) -> None:
    """Header, chart, attempts, ideas, community, thinking, failures and spend are on the page."""
    for heading in ("Scores", "Attempts", "Ideas", "Community", "Thinking", "Failures", "Spend by role"):
        assert re.search(f"<h2[^>]*>{heading}</h2>", page), heading
    for shown in ("accuracy, higher is better", "warning", "reason", "0.70300", "3 of 4 scored"):
        assert shown in page


def test_details_of_an_attempt_are_in_its_element(page: str) -> None:
    """An attempt has its draft, sources, report, prompts, replies, cells, script, cost and failure."""
    inside = page.split('id="attempt-002"')[1].split('id="attempt-003"', maxsplit=1)[0]
    for shown in ("method 2", "report 2", "prompt attempt-002 2", "reply attempt-002 1", "$0.0100"):
        assert shown in inside
    for shown in ("code attempt-002 1", "output attempt-002 2", "ValueError: error", "2 s", "busy"):
        assert shown in inside
    assert '<a href="#origin-3">idea-000</a>' in inside
    assert "code: failure" in page.split('id="attempt-001"')[1]


def test_a_script_is_compared_with_its_parents(page: str) -> None:
    """The unified diff names added and removed lines."""
    inside = page.split('id="attempt-003"')[1]
    assert "Changes to the script of attempt-000" in inside
    assert "1 lines added, 1 removed" in inside
    assert '<span class="del">-print(&#39;attempt-000&#39;)' in inside


def test_an_idea_shows_where_it_came_from_and_led(page: str) -> None:
    """An idea has its whole text, its sources, its attempts with scores, and the best of them."""
    row = page.split('<tr id="origin-3">')[1].split("</tr>", maxsplit=1)[0]
    assert "idea in full" in row
    assert "notebook</a>" in row
    assert "discussion</a>" in row
    assert '<a href="#attempt-002">attempt-002</a> <span class="muted">0.70200' in row
    assert "0.70300 (attempt-003)" in row
    assert "1 item that nothing came from" in page


def test_failures_and_spend_are_counted(page: str) -> None:
    """Exceptions, rejected submissions, failed requests and failed attempts are counted by kind."""
    failures = page.split(">Failures</h2>")[1].split(">Spend by role</h2>", maxsplit=1)[0]
    counted = re.findall(r"<tr><td>(.*?)</td>.*?>(.*?)</td>.*?>(\d+)</td>", failures)
    assert ("cell", "ValueError", "5") in counted
    assert ("work without a result", "code", "1") in counted
    assert ("request, tried again", "busy", "5") in counted
    assert "$0.0450" in page.split(">Spend by role</h2>")[1]


def test_each_message_is_in_the_page_once(page: str) -> None:
    """A message that many works sent is shown in the first one, and referred to in the others."""
    assert page.count("system prompt") == 1
    assert page.count("as in attempt-000") == 4
    assert page.count("prompt attempt-003 1<") == 1
    assert page.count("reply attempt-003 1<") == 1
    assert "3 messages of the conversation so far" in page


def test_links_lead_to_elements(elements: Elements) -> None:
    """Each link leads to an element of the page, and ids are unique."""
    ids = list(elements.values("id"))
    assert len(ids) == len({*ids})
    links = list(elements.values("href"))
    assert {"#attempt-003", "#think-000"} <= {*links}
    assert {*links} <= {f"#{each}" for each in ids}
    assert {*elements.values("data-message")} <= {*ids}


def test_only_its_own_style_and_script_may_run(page: str, elements: Elements) -> None:
    """The policy allows one style and one script by hash, and nothing from the network."""
    policy = next(elements.values("content"))
    names = [tag for tag, _ in elements.found]
    for kind in ("style", "script"):
        text = page.split(f"<{kind}>")[1].split(f"</{kind}>", maxsplit=1)[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
        assert names.count(kind) == 1
    assert policy.startswith("default-src 'none'; ")
    assert not [value for name in ("src", "style") for value in elements.values(name)]


def _elements_with(words: str, root: Path) -> Elements:
    """Return the elements of a page with these words in every text."""

    def text(place: str) -> str:
        return f"{words} {place}"

    folder = write_campaign(root / "demo-tiny-1", attempts=3, steps=1, text=text)
    return Elements(page_of(folder, text))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Elements:
    return _elements_with("plain", tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize("hostile", [HOSTILE[at::8] for at in range(8)], ids=range(8))
def test_text_is_inert(hostile: list[str], plain: Elements, tmp_path: Path) -> None:
    """Hostile text in every place gives the same elements and attributes as plain text."""
    found = _elements_with(" ".join(hostile), tmp_path)
    titles = {"aria-label": ""}
    assert [(tag, each | titles) for tag, each in found.found] == [
        (tag, each | titles) for tag, each in plain.found
    ]
    assert not found.comments
    shown = "".join(found.text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)


def test_text_is_shown_as_it_was_written(tmp_path: Path) -> None:
    """Markup, entities and braces in an output can be read on the page."""
    odd = "&lt;b&gt; <b> {{ 7 * 7 }} {% x %} </script> 'quoted'"
    folder = write_campaign(tmp_path / "demo-tiny-1", steps=1, text=lambda place: f"{odd} {place}")
    shown = "".join(Elements(page_of(folder)).text)
    assert f"{odd} output attempt-000 1" in shown


def test_no_label_and_no_key_is_on_the_page(tmp_path: Path) -> None:
    """Submitted files, folders, addresses of endpoints and names of keys are not shown."""
    folder = write_campaign(tmp_path / "demo-tiny-1")
    for file in (folder.submission, folder.work("attempt-000").validation_submission(2)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("id,label\n1,canary\n")
    secret = ModelSettings(name="m", base_url="https://canary:canary@x.test", key_variable="CANARY_KEY")
    other = CampaignFolder(tmp_path / "other")
    with Campaign(other) as campaign:
        places = {"competition_folder": "/canary/demo", "community": "/canary/community"}
        campaign.record(CampaignOpened(spec=spec(models={"default": secret}, **places)))
    assert "canary" not in (page_of(folder) + page_of(other)).lower()


def test_a_campaign_that_has_just_begun_has_a_page(tmp_path: Path) -> None:
    """Without a split, a score or an end, the page shows what there is."""
    folder = CampaignFolder(tmp_path / "demo-tiny-1")
    with Campaign(folder) as campaign:
        campaign.record(CampaignOpened(spec=spec()))
        assert "None yet." in page_of(folder)
        campaign.record(WorkPlanned(id="attempt-000", work=code()))
    page = page_of(folder)
    assert 'class="tag">running' in page
    assert "not ended" in page


def test_a_damaged_log_of_an_attempt_is_named(tmp_path: Path) -> None:
    """The other attempts are shown in full."""
    folder = write_campaign(tmp_path / "demo-tiny-1")
    log = folder.work("attempt-000").log
    log.write_bytes(log.read_bytes().replace(b"code attempt-000", b"code attempt-999"))
    page = page_of(folder)
    assert "attempt-000: its log cannot be read" in page
    assert "output attempt-002 1" in page


def test_long_texts_of_a_page_are_truncated_to_its_limit(tmp_path: Path) -> None:
    """Long texts are truncated until the page fits, and say how much is left out."""
    folder = write_campaign(tmp_path / "demo-tiny-1", text=lambda place: f"{place} " + "<'&'> " * 700)
    page = page_of(folder, page_bytes=120_000)
    assert len(page.encode()) <= 120_000
    assert re.search(r"[\d,]+ of 4,2\d\d characters left out here", page)


@given(st.lists(st.integers(0, 1_000)), st.integers(0, 5_000))
def test_the_limit_of_texts_is_fair(sizes: list[int], total: int) -> None:
    """All texts fit; short ones stay whole, and no room is wasted on any that is truncated."""
    limit = fair_limit(sizes, total)
    used = sum(min(size, limit) for size in sizes)
    assert used <= total
    assert max(sizes, default=0) <= limit or total - used < len(sizes)


@given(st.text(), st.integers(0, 60))
def test_a_truncated_text_keeps_beginning_and_end(text: str, most: int) -> None:
    """Beginning and end are shown, and their sum with what is left out is the whole."""
    long = LongText(text)
    long.truncate(most)
    assert long.whole.startswith(long.head)
    assert long.whole.endswith(long.tail)
    assert long.left_out + len(long.head) + len(long.tail) == long.characters


def test_equal_texts_are_truncated_together() -> None:
    """A text that occurs twice takes room once."""
    texts = LongTexts()
    one, other = texts.add("a" * 90), texts.add("a" * 90)
    texts.settle(90)
    assert one is other
    assert not one.left_out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u202eabc", "\\u202eabc"),
        ("a\u2028b", "a\\u2028b"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud83d", "\ufffd"),
        ("\x1b[31mred\x1b[0m\x07", "red"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("👩‍🔬 été", "👩‍🔬 été"),
    ],
)
def test_characters_that_hide_or_reorder_text_are_escaped(text: str, shown: str) -> None:
    """Control codes vanish, bidirectional and invisible characters become escapes, others stay."""
    assert visible(text) == shown


def test_a_chart_shows_the_best_so_far() -> None:
    """The line steps at each new best, and ends at the campaign's time."""
    scores = (0.5, 0.7, 0.6)
    points = [ChartPoint(f"a-{n}", "t", 60.0 * n, score(value)) for n, value in enumerate(scores)]
    chart = score_chart(points, 600.0, 960, 320)
    corners = [tuple(map(float, each.split(","))) for each in chart.best.split()]
    heights = [dot.y for dot in chart.dots]
    assert [y for _, y in corners] == [heights[0], heights[0], heights[1], heights[1]]
    assert corners[-1][0] == chart.right
    assert chart.columns[-1][1] == "10 min"


def test_an_outlier_does_not_flatten_a_chart() -> None:
    """A score far outside is drawn at the edge; the others keep their distances."""
    values = (0.5, 0.6, 0.7, 0.8, -1e12)
    points = [ChartPoint(f"a-{n}", "t", float(n), score(value)) for n, value in enumerate(values)]
    chart = score_chart(points, 5.0, 960, 320)
    assert chart.dots[0].y - chart.dots[3].y > 100
    assert chart.dots[4].y == chart.bottom


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8), st.floats(0, 1e7))
def test_a_chart_keeps_inside_its_edges(values: list[float], seconds: float) -> None:
    """Any scores at any time give points, lines and few labels inside of the picture."""
    points = [ChartPoint(f"a-{n}", "t", 7.0 * n, score(value)) for n, value in enumerate(values)]
    chart = score_chart(points, seconds, 360, 280)
    assert all(0 <= dot.x <= 360 and 0 <= dot.y <= 280 for dot in chart.dots)
    assert 2 <= len(chart.rows) <= 12
    assert len(chart.columns) <= 8


def _luminance(colour: str) -> float:
    """Return the relative luminance of #rrggbb (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_contrast(theme: int) -> None:
    """Text has a contrast of at least 4.5 : 1 on every background it is on."""
    css = Path(page_module.__file__).with_suffix(".css").read_text()
    colours = dict(re.findall(r"--(\w+): (#\w{6})", css.split(":root {")[1 + theme].split("}")[0]))
    texts = dict.fromkeys(("muted", "accent", "good", "bad", "warn"), ("page", "panel"))
    texts |= {"text": ("page", "panel", "mark", "added", "removed"), "muted": ("page", "panel", "mark")}
    texts |= {"accent": ("page", "panel", "mark")}
    for name, grounds in texts.items():
        for ground in grounds:
            light, dark = sorted((_luminance(colours[name]), _luminance(colours[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground)
