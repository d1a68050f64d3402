"""After any sequence of releases the folder holds the newest."""

import tempfile
from functools import partial
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from comind.kaggle.data_files import DataFolder, FetchRecord
from comind.kaggle.port import CompetitionFacts, DataFile
from comind.kaggle.rate_limit import paginate
from comind.system.files import hash_tree
from tests.doubles.clock import QuickClock
from tests.doubles.kaggle import KaggleWorld, ScriptedKaggle
from tests.examples import examples

FACTS = CompetitionFacts(slug="x", title="x", url="https://www.kaggle.com/competitions/x")
RELEASES = st.lists(
    st.dictionaries(
        st.sampled_from(["a.csv", "b.csv", "d/c.txt", "e.bin"]), st.binary(max_size=3), min_size=1
    ),
    min_size=1,
    max_size=4,
)


def put(kaggle: ScriptedKaggle, folder: Path, record: FetchRecord | None) -> FetchRecord:
    """Update the data files of a folder."""
    folder.mkdir(exist_ok=True)
    data = DataFolder(kaggle, "x", folder)
    data.recover()
    listed: list[DataFile] = list(paginate(partial(kaggle.files, "x"), chunks=9))
    made = data.gather(listed, record)
    data.put_in_place()
    data.clean_up()
    return FetchRecord(facts=FACTS, fetched_at=QuickClock().now(), files=tuple(listed), made=made)


@given(RELEASES)
@examples(40)
def test_step_by_step_is_as_at_once(releases: list[dict[str, bytes]]) -> None:
    """After any releases the folder equals a fresh fetch, and no unchanged file is downloaded."""
    world = KaggleWorld(facts=FACTS)
    kaggle = ScriptedKaggle(world)
    clock = QuickClock()
    with tempfile.TemporaryDirectory() as place:
        record: FetchRecord | None = None
        for files in releases:
            for name, content in files.items():
                if world.files.get(name) != content:
                    world.dates[name] = clock.now()
            changed = [name for name in files if world.files.get(name) != files[name]]
            world.files = dict(files)
            clock.sleep(60)
            kaggle.calls.clear()
            record = put(kaggle, Path(place) / "steps", record)
            came = [name for method, name in kaggle.calls if method == "download"]
            assert came == sorted(changed)
        put(kaggle, Path(place) / "fresh", None)
        assert hash_tree(Path(place) / "steps" / "public") == hash_tree(Path(place) / "fresh" / "public")
