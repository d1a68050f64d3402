"""The page of a campaign in Chromium: keyboard, fragments, narrow screens, hostile text, size."""

import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from comind.app.campaign_pages import CampaignPages
from tests.e2e.browser import CHROMIUM, Tab, open_tab
from tests.unit.campaign.hostile_text import HOSTILE
from tests.unit.campaign.page_campaign import page_of, write_campaign

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium")

_OPEN = "[...document.querySelectorAll('details.work[open]')].map(each => each.id)"
_PLAIN = {"role", "model", "kind"}  # names of ours
_MOST_SECONDS, _MOST_BYTES = 2.0, 10_000_000


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    """One page of one browser for all tests."""
    with open_tab() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of a small campaign."""
    folder = tmp_path_factory.mktemp("runs")
    file = folder / "page.html"
    file.write_text(page_of(write_campaign(folder / "demo-tiny-1")), encoding="utf-8")
    return file.as_uri()


def test_a_fragment_opens_an_attempt(tab: Tab, page: str) -> None:
    """`#attempt-3` opens the details of attempt-003 and focuses its row."""
    tab.open(f"{page}#attempt-3")
    tab.until(_OPEN, ["attempt-003"])
    tab.until("document.activeElement.parentElement.id", "attempt-003")


def test_a_served_page_updates_and_keeps_what_is_open(tab: Tab, tmp_path: Path) -> None:
    """New attempts appear without a reload; rows and steps stay open, and the page where it was."""
    folder = write_campaign(tmp_path / "runs" / "demo-tiny-1", attempts=2, ended=False)
    later = write_campaign(tmp_path / "later" / "demo-tiny-1", attempts=4)
    with CampaignPages(tmp_path, partial(page_of, live=True)) as server:
        tab.open(f"{server.url}/campaigns/demo-tiny-1")
        tab.value("document.getElementById('attempt-000').open = true")
        tab.value("document.querySelector('#attempt-000 details.step').open = true")
        assert tab.value("document.getElementById('attempt-003')") is None
        assert ", not ended" in tab.value("document.querySelector('header').textContent")
        shutil.copytree(later.root, folder.root, dirs_exist_ok=True)
        tab.until("document.getElementById('attempt-003') !== null")
        assert ", ended: " in tab.value("document.querySelector('header').textContent")
        assert tab.value(_OPEN) == ["attempt-000"]
        assert tab.value("document.querySelector('#attempt-000 details.step').open")
        tab.send("Page.navigate", url="about:blank")  # it asks the server no more


def test_the_keyboard_suffices(tab: Tab, page: str) -> None:
    """Tab reaches a point of the chart, Enter opens its attempt, arrows move on, Enter closes it."""
    tab.resize(1024, 768)
    tab.open(page)
    for _ in range(30):
        tab.press("Tab", 9)
        if tab.value("document.activeElement.closest('svg') !== null"):
            break
    label = tab.value("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("attempt-000, title 0: accuracy 0.7 [0.65, 0.75], after ")
    tab.press("Enter", 13)
    tab.until(_OPEN, ["attempt-000"])
    tab.until("document.activeElement.tagName", "SUMMARY")
    tab.press("ArrowDown", 40)
    tab.press("Enter", 13)
    tab.until(_OPEN, ["attempt-000", "attempt-002"])
    tab.until("location.hash", "#attempt-002")
    tab.press("Enter", 13)
    tab.until(_OPEN, ["attempt-000"])


def test_a_message_shown_elsewhere_can_be_read_in_place(tab: Tab, page: str) -> None:
    """Opening a reference copies the text of the message that the page holds once."""
    tab.open(page)
    script = "document.querySelector('#attempt-002 [data-message]')"
    tab.value(f"{script}.open = true")
    tab.until(f"{script}.lastChild.textContent == 'system prompt'")


def test_details_open_without_scripts(tab: Tab, page: str) -> None:
    """Rows are native details elements, so that a click opens them where scripts are off."""
    tab.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        tab.open(page)
        tab.value("document.querySelector('#attempt-002 > summary').click()")
        assert tab.value(_OPEN) == ["attempt-002"]
    finally:
        tab.send("Emulation.setScriptExecutionDisabled", value=False)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_fits_on_a_phone(dark: bool, tab: Tab, page: str) -> None:
    """At 360 pixels nothing overflows, even with all details open; both themes apply."""
    tab.resize(360, 740, dark=dark)
    tab.open(page)
    tab.value("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    assert tab.value("document.documentElement.scrollWidth") == 360
    colour = tab.value("getComputedStyle(document.body).backgroundColor")
    assert (colour != "rgb(255, 255, 255)") is dark


def test_hostile_text_does_nothing(tab: Tab, tmp_path: Path) -> None:
    """No text runs a script, violates the policy, or requests anything."""
    numbers = iter(range(1_000_000))

    def text(_place: str) -> str:
        first = next(numbers)
        return " ".join(HOSTILE[(first + more) % len(HOSTILE)] for more in range(3))

    file = tmp_path / "page.html"
    folder = write_campaign(tmp_path / "demo-tiny-1", attempts=6, text=text)
    file.write_text(page_of(folder, lambda place: f"{HOSTILE[0]} {place}"), encoding="utf-8")
    tab.events.clear()
    tab.open(file.as_uri())
    tab.value("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    tab.until(
        "[...document.querySelectorAll('[data-message]')].every(each => each.querySelector('pre'))"
    )
    assert tab.value("[typeof window.hit, document.scripts.length, document.forms.length]") == [
        "undefined",
        1,
        0,
    ]
    assert tab.value("document.querySelectorAll('img, iframe, base, link, object, b').length") == 0
    asked = [each for each in tab.events if each["method"] == "Network.requestWillBeSent"]
    assert {each["params"]["request"]["url"] for each in asked} <= {file.as_uri(), "about:blank"}
    assert not [
        each for each in tab.events if each["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")
    ]


@pytest.mark.torture
def test_a_large_campaign_is_small_and_fast(tab: Tab, tmp_path: Path) -> None:
    """64 attempts of 30 steps with long texts take less than 10 MB and open in two seconds."""
    long = "a line of <output> & more of it\n" * 120
    folder = write_campaign(
        tmp_path / "demo-tiny-1",
        attempts=64,
        steps=30,
        text=lambda place: place if place in _PLAIN else f"{place} {long}",
    )
    file = tmp_path / "page.html"
    file.write_text(page_of(folder), encoding="utf-8")
    assert file.stat().st_size < _MOST_BYTES
    seconds = []
    for fragment in ("", "#attempt-40"):
        tab.open(file.as_uri() + fragment)
        seconds.append(tab.value("performance.getEntriesByType('navigation')[0].duration") / 1000)
    assert max(seconds) < _MOST_SECONDS, seconds
