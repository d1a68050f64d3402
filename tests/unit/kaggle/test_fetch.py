"""Fetching a competition, and updating it."""

import io
import shutil
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from comind.community.jsonl import read_community_folder
from comind.competitions.competition_folder import load_competition
from comind.errors import (
    CompetitionError,
    DiskError,
    KaggleBusyError,
    KaggleError,
    KaggleRefusedError,
    KaggleUnknownError,
)
from comind.grading.leaderboard import Leaderboard
from comind.kaggle.data_files import FetchRecord
from comind.kaggle.fetch import Fetched, fetch_competition, slug_of
from comind.kaggle.port import Chunk, DataFile, LeaderboardRow, Page
from comind.splits.checked_plan import check_competition
from comind.system.files import hash_tree
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import KaggleWorld, ScriptedKaggle
from tests.unit.kaggle.world import SLUG, day, tiny_world


def fetch(kaggle: ScriptedKaggle, place: Path, clock: QuickClock | None = None) -> Fetched:
    kaggle.calls.clear()
    return fetch_competition(kaggle, SLUG, place, clock=clock or QuickClock())


def asked(kaggle: ScriptedKaggle, method: str) -> list[str]:
    return [what for name, what in kaggle.calls if name == method]


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("titanic", "titanic"),
        ("playground-series-s5e1", "playground-series-s5e1"),
        ("https://www.kaggle.com/competitions/titanic/overview", "titanic"),
        ("kaggle.com/c/titanic?x=1", "titanic"),
        ("../titanic", None),
        ("Titanic", None),
        ("a_b", None),
        ("-", None),
        ("", None),
        ("https://example.org/competitions/titanic", None),
    ],
)
def test_what_may_be_a_name_on_kaggle(name: str, slug: str | None) -> None:
    """A slug has lower-case letters, digits and dashes; a URL contains one."""
    assert slug_of(name) == slug


def test_a_folder_that_can_be_solved(tmp_path: Path) -> None:
    """A fetched folder passes all checks of competition folders."""
    fetched = fetch(ScriptedKaggle(tiny_world()), tmp_path)
    competition = load_competition(fetched.folder)
    check_competition(competition)
    assert competition.metric == "rmse"
    assert competition.label_columns == ("Price",)
    assert competition.deadline == "2024-06-01T00:00:00+00:00"
    told = (competition.public / "description.md").read_text()
    assert told.index("Guess the price") < told.index("scored by RMSE") < told.index("One row a house")
    assert "Be nice" not in told
    assert (competition.public / "extra/notes.txt").read_text() == "hello"
    board = Leaderboard.read(fetched.folder / "leaderboard" / "public.csv", maximize=False)
    assert board.place(0.15).rank == 2
    assert fetched.notes == ("sampleSubmission.csv is called sample_submission.csv here",)


def test_a_community_that_can_be_read(tmp_path: Path) -> None:
    """Notebooks, discussions and datasets are lines with the time of their observation."""
    fetched = fetch(ScriptedKaggle(tiny_world()), tmp_path)
    community = read_community_folder(fetched.folder / "community")
    assert {item.ref: item.source for item in community.notebooks} == {
        "ann/best": "print(1)\n",
        "bob/liked": "print(2)\n",
    }
    assert [comment.parent for comment in community.discussions[0].comments] == [None, "71"]
    assert community.datasets[0].ref == "bob/more"
    assert (fetched.community.notebooks, fetched.community.discussions) == (2, 1)
    line = (fetched.folder / "community" / "discussions.jsonl").read_text()
    assert line.count('"observed_at": "2024-01-01T00:00:00.000Z"') == 3


def test_again_only_lists_are_read(tmp_path: Path) -> None:
    """Without changes no file, notebook or discussion is fetched again."""
    kaggle = ScriptedKaggle(tiny_world())
    fetch(kaggle, tmp_path)
    before = hash_tree(tmp_path / SLUG / "public")
    again = fetch(kaggle, tmp_path)
    for method in ("download", "notebook", "topic", "comments"):
        assert asked(kaggle, method) == []
    assert hash_tree(tmp_path / SLUG / "public") == before
    assert again.notes == ()
    assert again.community.notebooks == 0


def test_data_released_anew(tmp_path: Path) -> None:
    """Only a changed file is downloaded, a removed one is deleted, and a note says so."""
    kaggle = ScriptedKaggle(tiny_world())
    fetch(kaggle, tmp_path)
    kaggle.world.files["train.csv"] += b"11,3,110\n"
    kaggle.world.files["new.csv"] = b"Id,more\n1,2\n"
    del kaggle.world.files["extra/notes.txt"]
    fetched = fetch(kaggle, tmp_path)
    assert asked(kaggle, "download") == ["new.csv", "train.csv"]
    assert "released anew since 2024-01-01" in fetched.notes[0]
    assert "train.csv changed, new.csv new, extra/notes.txt gone" in fetched.notes[0]
    public = fetched.folder / "public"
    assert (public / "train.csv").read_bytes() == kaggle.world.files["train.csv"]
    assert (public / "sample_submission.csv").is_file()
    assert not (public / "extra").exists()


def test_a_file_with_a_new_date_is_downloaded_but_equal_content_is_no_release(tmp_path: Path) -> None:
    """What is listed with another date is compared; a campaign on it goes on, as nothing has changed."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.world.dates["test.csv"] = day(1)
    first = FetchRecord.read(fetch(kaggle, tmp_path).folder)
    kaggle.world.dates["test.csv"] = day(2)
    again = fetch(kaggle, tmp_path)
    second = FetchRecord.read(again.folder)
    assert asked(kaggle, "download") == ["test.csv"]
    assert again.notes == ()
    assert first is not None
    assert second is not None
    assert second.release == first.release
    assert second.files != first.files
    kaggle.world.files["train.csv"] += b"11,3,110\n"
    third = FetchRecord.read(fetch(kaggle, tmp_path).folder)
    assert third is not None
    assert third.release == third.files != second.files


def test_many_files_come_in_one_zip(tmp_path: Path) -> None:
    """Many files are one download."""
    kaggle = ScriptedKaggle(tiny_world(), chunk=10)
    kaggle.world.files |= {f"images/{n}.txt": str(n).encode() for n in range(30)}
    fetched = fetch(kaggle, tmp_path)
    assert asked(kaggle, "download") == ["*"]
    assert (fetched.folder / "public/images/29.txt").read_text() == "29"
    fetch(kaggle, tmp_path)
    assert asked(kaggle, "download") == []


class StoppedError(Exception):
    """A crash during a request."""


class Dying(ScriptedKaggle):
    """Crashes at one of its requests."""

    def __init__(self, world: KaggleWorld, at: int) -> None:
        super().__init__(world)
        self._left = at

    def _note(self, method: str, asked: str) -> None:
        super()._note(method, asked)
        self._left -= 1
        if self._left < 0:
            raise StoppedError


def test_a_kill_anywhere_is_gone_on_from(tmp_path: Path) -> None:
    """After a crash at any request the next fetch completes, and downloads no file twice."""
    whole = ScriptedKaggle(tiny_world())
    fetch(whole, tmp_path / "whole")
    wanted, requests = hash_tree(tmp_path / "whole" / SLUG), len(whole.calls)
    for at in range(requests):
        place, world = tmp_path / str(at), tiny_world()
        killed = Dying(world, at)
        with pytest.raises(StoppedError):
            fetch(killed, place)
        came = asked(killed, "download")[: None if killed.calls[-1][0] != "download" else -1]
        after = ScriptedKaggle(world)
        fetch(after, place)
        assert hash_tree(place / SLUG) == wanted, at
        assert not set(came) & set(asked(after, "download")), at
        assert not list(place.rglob(".staging"))


def test_a_kill_between_the_two_renames(tmp_path: Path) -> None:
    """After a crash between the two renames the old public/ is restored."""
    kaggle = ScriptedKaggle(tiny_world())
    folder = fetch(kaggle, tmp_path).folder
    wanted = hash_tree(folder)
    (folder / ".staging").mkdir()
    (folder / "public").rename(folder / ".staging" / "old")
    fetch(kaggle, tmp_path)
    assert asked(kaggle, "download") == []
    assert hash_tree(folder) == wanted


def test_competition_yaml_of_the_user_stays(tmp_path: Path) -> None:
    """A file changed by hand is not overwritten, even with new data."""
    kaggle = ScriptedKaggle(tiny_world())
    described = fetch(kaggle, tmp_path).folder / "competition.yaml"
    described.write_text(described.read_text().replace("rmse", "mae"))
    kaggle.world.files["train.csv"] += b"11,3,110\n"
    fetched = fetch(kaggle, tmp_path)
    assert "mae" in described.read_text()
    assert any("by hand" in note for note in fetched.notes)


def test_our_own_competition_yaml_is_no_users(tmp_path: Path) -> None:
    """After a crash between file and record, competition.yaml is still updated."""
    kaggle = ScriptedKaggle(tiny_world())
    folder = fetch(kaggle, tmp_path).folder
    (folder / "fetched.json").unlink()
    fetched = fetch(kaggle, tmp_path)
    assert not any("by hand" in note for note in fetched.notes)
    kaggle.world.facts = kaggle.world.facts.model_copy(update={"title": "Other houses"})
    kaggle.world.files["train.csv"] += b"11,3,110\n"
    fetch(kaggle, tmp_path)
    assert "Other houses" in (folder / "competition.yaml").read_text()


def test_data_that_was_deleted_comes_back(tmp_path: Path) -> None:
    """With a changed competition.yaml, missing data is still fetched."""
    kaggle = ScriptedKaggle(tiny_world())
    folder = fetch(kaggle, tmp_path).folder
    described = folder / "competition.yaml"
    described.write_text(described.read_text().replace("rmse", "mae"))
    shutil.rmtree(folder / "public")
    fetch(kaggle, tmp_path)
    assert (folder / "public" / "train.csv").is_file()
    assert "mae" in described.read_text()


def test_two_files_for_one_name_are_left_for_people(tmp_path: Path) -> None:
    """The sample submission of another stage is not overwritten."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.world.files["sample_submission_stage1.csv"] = kaggle.world.files.pop("sampleSubmission.csv")
    kaggle.world.files["sample_submission.csv"] = b"Id,Price\n70,0\n71,0\n"
    with pytest.raises(CompetitionError, match="may be the one that is meant"):
        fetch(kaggle, tmp_path)


def test_an_unclear_form_leaves_the_data_for_people(tmp_path: Path) -> None:
    """Missing tables are an error that says what to add."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.world.files["answers.txt"] = kaggle.world.files.pop("sampleSubmission.csv")
    with pytest.raises(CompetitionError, match=r"tiny-houses/public: no sample submission") as caught:
        fetch(kaggle, tmp_path)
    assert "add sample_submission.csv" in caught.value.hint
    folder = tmp_path / SLUG
    with pytest.raises(CompetitionError, match="no sample submission"):
        fetch(kaggle, tmp_path)
    assert asked(kaggle, "download") == []
    (folder / "public" / "answers.txt").rename(folder / "public" / "sample_submission.csv")
    (folder / "competition.yaml").write_text(
        f"id: {SLUG}\ntitle: t\nmetric: rmse\nid_columns: [Id]\nlabel_columns: [Price]\n"
        "target_columns: [Price]\n"
    )
    load_competition(fetch(kaggle, tmp_path).folder)
    assert asked(kaggle, "download") == []


def test_an_unknown_metric_is_left_out(tmp_path: Path) -> None:
    """An uncertain metric is left out, with a note."""
    world = tiny_world()
    world.facts = world.facts.model_copy(update={"metric": "Money Made"})
    fetched = fetch(ScriptedKaggle(world), tmp_path)
    assert load_competition(fetched.folder).metric is None
    assert any("metric is not certain ('Money Made' is not known)" in note for note in fetched.notes)


@pytest.mark.parametrize(
    ("update", "said"),
    [
        ({"code_only": True}, "only notebooks that run there"),
        ({"submissions_closed": True}, "accepts no submissions"),
        ({"deadline": day(1)}, "it closed on 2023-12-01"),
    ],
)
def test_conditions_are_said(tmp_path: Path, update: dict[str, object], said: str) -> None:
    """Code competitions and closed ones are fetched with a note."""
    world = tiny_world()
    world.facts = world.facts.model_copy(update=update)
    assert any(said in note for note in fetch(ScriptedKaggle(world), tmp_path).notes)


@pytest.mark.parametrize("method", ["files", "download"])
def test_rules_that_nobody_accepted(tmp_path: Path, method: str) -> None:
    """The hint has the URL of the rules."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.world.facts = kaggle.world.facts.model_copy(update={"entered": False})
    kaggle.failures[method] = [KaggleRefusedError("no")]
    with pytest.raises(KaggleRefusedError, match="accepted the rules") as caught:
        fetch(kaggle, tmp_path)
    assert f"https://www.kaggle.com/competitions/{SLUG}/rules" in caught.value.hint


def test_data_that_is_not_given_out_any_more(tmp_path: Path) -> None:
    """A refusal of a competition that was entered is quoted."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.failures["files"] = [KaggleRefusedError("closed for good")]
    with pytest.raises(KaggleRefusedError, match="closed for good"):
        fetch(kaggle, tmp_path)
    kaggle.world.files = {}
    with pytest.raises(KaggleRefusedError, match="no data"):
        fetch(kaggle, tmp_path)


def test_changed_rules_are_said(tmp_path: Path) -> None:
    """Changed rules are noted."""
    kaggle = ScriptedKaggle(tiny_world())
    fetch(kaggle, tmp_path)
    kaggle.world.pages = (*kaggle.world.pages[:1], Page(name="rules", content="Be nicer."))
    assert any("rules have changed" in note for note in fetch(kaggle, tmp_path).notes)


def test_snapshots_of_the_leaderboard(tmp_path: Path) -> None:
    """Each leaderboard that differs from the last one is saved with its time."""
    kaggle, clock = ScriptedKaggle(tiny_world()), QuickClock()
    for score in ("0.1", "0.1", "0.05"):
        kaggle.world.leaderboard = (
            LeaderboardRow(team="a, b", score=score),
            LeaderboardRow(team="c", score="0.2"),
            LeaderboardRow(team="d", score="-"),
        )
        board = fetch(kaggle, tmp_path, clock).folder / "leaderboard"
        clock.sleep(timedelta(days=1).total_seconds())
    assert sorted(path.name for path in (board / "snapshots").iterdir()) == [
        "20240101T000000Z.csv",
        "20240103T000000Z.csv",
    ]
    assert (board / "public.csv").read_text() == 'rank,score,team,time\n1,0.05,"a, b",\n2,0.2,c,\n'


def test_a_community_that_cannot_be_read_stops_nothing(tmp_path: Path) -> None:
    """A failure in the community keeps the data, is noted, and is made up for later."""
    kaggle = ScriptedKaggle(tiny_world())
    kaggle.failures["notebook"] = [KaggleBusyError("down")]
    fetched = fetch(kaggle, tmp_path)
    assert any("not read to the end: down" in note for note in fetched.notes)
    assert fetched.community.discussions == 1
    assert fetch(kaggle, tmp_path).community.notebooks == 2


class Garbling(ScriptedKaggle):
    """Corrupts a byte of the first downloads."""

    def __init__(self, world: KaggleWorld, times: int) -> None:
        super().__init__(world)
        self._times = times

    def download(self, slug: str, name: str | None, target: Path) -> str | None:
        md5 = super().download(slug, name, target)
        if self._times > 0:
            self._times -= 1
            target.write_bytes(b"?" + target.read_bytes()[1:])
        return md5


def test_a_download_with_a_wrong_checksum_is_retried_once(tmp_path: Path) -> None:
    """A checksum mismatch is retried once; then it is an error, and public/ is unchanged."""
    once = Garbling(tiny_world(), 1)
    fetch(once, tmp_path / "once")
    assert asked(once, "download").count("extra/notes.txt") == 2
    with pytest.raises(KaggleError, match=r"is corrupt \(checksum mismatch\)"):
        fetch(Garbling(tiny_world(), 2), tmp_path / "twice")
    assert not (tmp_path / "twice" / SLUG / "public").exists()


class Breaking(ScriptedKaggle):
    """Breaks the connection after a few bytes of a file, or before the first."""

    def __init__(self, world: KaggleWorld, step: int) -> None:
        super().__init__(world)
        self._step = step

    def download(self, slug: str, name: str | None, target: Path) -> str | None:
        came = target.stat().st_size if target.exists() else 0
        md5 = super().download(slug, name, target)
        content = target.read_bytes()
        target.write_bytes(content[: came + self._step])
        if came + self._step < len(content):
            raise KaggleBusyError("the line broke")
        return md5


def test_a_download_is_resumed_as_long_as_it_grows(tmp_path: Path) -> None:
    """A download is resumed as long as it grows; else the error is raised."""
    fetched = fetch(Breaking(tiny_world(), 5), tmp_path / "slow")
    assert (fetched.folder / "public" / "test.csv").read_bytes() == tiny_world().files["test.csv"]
    with pytest.raises(KaggleBusyError, match="the line broke"):
        fetch(Breaking(tiny_world(), 0), tmp_path / "dead")


def test_no_room(tmp_path: Path) -> None:
    """Without enough disk space no download starts."""

    class Huge(ScriptedKaggle):
        def files(self, slug: str, at: str | None = None) -> Chunk[DataFile]:
            super().files(slug, at)
            return Chunk(items=(DataFile(name="all.bin", size=1 << 60),))

    kaggle = Huge(tiny_world())
    with pytest.raises(DiskError, match="MiB are free") as caught:
        fetch(kaggle, tmp_path)
    assert "--out" in caught.value.hint
    assert asked(kaggle, "download") == []


def test_a_list_too_long_to_be_read(tmp_path: Path) -> None:
    """Files beyond a truncated list come with the zip of all files."""
    kaggle = ScriptedKaggle(tiny_world(), chunk=1)
    kaggle.world.files |= {f"images/{n:02}.txt": str(n).encode() for n in range(40)}
    kaggle.world.files["a_sample.csv"] = kaggle.world.files.pop("sampleSubmission.csv")
    fetched = fetch(kaggle, tmp_path)
    assert len(list((fetched.folder / "public" / "images").iterdir())) == 40
    kaggle.world.files["a_sample.csv"] = b"Id,Price\n9,0.5\n10,0.5\n"
    fetch(kaggle, tmp_path)
    assert len(list((fetched.folder / "public" / "images").iterdir())) == 40
    assert "0.5" in (fetched.folder / "public" / "sample_submission.csv").read_text()


def test_a_file_zipped_on_the_way(tmp_path: Path) -> None:
    """The size of a file that is sent as a zip of itself may differ from the list."""

    class Zipping(ScriptedKaggle):
        def download(self, slug: str, name: str | None, target: Path) -> str | None:
            super().download(slug, name, target)
            packed = io.BytesIO()
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr(Path(name or "").name, target.read_bytes())
            target.write_bytes(packed.getvalue())
            return None

    fetched = fetch(Zipping(tiny_world()), tmp_path)
    assert load_competition(fetched.folder)
    assert (fetched.folder / "public" / "extra" / "notes.txt").read_text() == "hello"


def test_names_that_lead_out_are_refused_before_anything_comes(tmp_path: Path) -> None:
    """A list with one path traversal is rejected as a whole."""
    world = tiny_world()
    world.files["../../evil.csv"] = b"x"
    kaggle = ScriptedKaggle(world)
    with pytest.raises(CompetitionError, match="leads out"):
        fetch(kaggle, tmp_path)
    assert asked(kaggle, "download") == []


def test_one_at_a_time(tmp_path: Path) -> None:
    """A second fetch of one competition fails while the first is running."""
    with FileLock(tmp_path / f".{SLUG}.lock"), pytest.raises(CompetitionError, match="another process"):
        fetch(ScriptedKaggle(tiny_world()), tmp_path)


def test_an_unknown_name_leaves_nothing(tmp_path: Path) -> None:
    """An unknown competition leaves no folder."""
    with pytest.raises(KaggleUnknownError):
        fetch_competition(ScriptedKaggle(tiny_world()), "nothing", tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []
