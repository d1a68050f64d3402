"""Measure the way in of large data: inspection, arrangement, split and DVC, beside one read by pandas.

Each stage runs in a process of its own; seconds are processor time, MiB the peak of resident memory.
Pictures are compared with one decoding of each by Pillow, sounds with one read of their bytes, as pandas
reads neither.
"""

import argparse
import subprocess
import sys
import tempfile
import wave
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import csv as arrow_csv

STAGES = {
    "pandas.read_csv": "import pandas; pandas.read_csv(source / 'train.csv')",
    "decode once": """
import pandas
from PIL import Image
for name in (source / 'train.csv', source / 'test.csv'):
    for file in pandas.read_csv(name)['file']:
        Image.open(source / file).load()
""",
    "read once": """
for file in source.rglob('*.wav'):
    file.read_bytes()
""",
    "arrange": """
from comind.app.downloads import prepare_download
prepare_download(source, project)
""",
    "inspect": """
from comind.app.inspection import inspect_competition
inspect_competition(project / 'data' / 'downloads' / source.name)
""",
    "split, sealed": """
from comind.competitions.competition_folder import load_competition
from comind.splits.split_files import make_split
from comind.wiring.competition_data import write_checks
competition = load_competition(project / 'data' / 'downloads' / source.name)
make_split(competition, project / 'data' / 'splits', seed=0, checks=write_checks)
""",
    "the same split again": """
from comind.competitions.competition_folder import load_competition
from comind.splits.split_files import make_split
competition = load_competition(project / 'data' / 'downloads' / source.name)
make_split(competition, project / 'data' / 'splits', seed=0)
""",
    "versioned by DVC": """
from comind.adapters.dvc.versioning import ensure_repository, version
ensure_repository(project)
[split] = (project / 'data' / 'splits').glob('[!.]*')
version(project, [split / 'public', split / 'sealed'])
""",
}
PLAIN = {"rows": "pandas.read_csv", "pictures": "decode once", "gigabytes of sounds": "read once"}
"""The stage that the others are compared with, by kind of data."""
BLOCK = 250_000  # rows
SOUND = 5_000_000  # samples of two bytes, 10 MB


class Cost(NamedTuple):
    """What a stage took."""

    seconds: float
    mebibytes: float


def main() -> None:
    """Print a line for each stage of both kinds of data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of train.csv; 0 for none")
    parser.add_argument("--pictures", type=int, default=4_000, help="small pictures; 0 for none")
    parser.add_argument("--gigabytes", type=int, default=0, help="of sounds, in files of 10 MB")
    parser.add_argument("--folder", type=Path, default=None, help="where to write, default /tmp")
    given = parser.parse_args()
    for kind, count, write in (
        ("rows", given.rows, write_rows),
        ("pictures", given.pictures, write_pictures),
        ("gigabytes of sounds", given.gigabytes, write_sounds),
    ):
        if count:
            with tempfile.TemporaryDirectory(dir=given.folder, prefix="arrival-") as root:
                measure(kind, count, write, Path(root))


def measure(kind: str, count: int, write: Callable[[Path, int], None], root: Path) -> None:
    """Print seconds and memory of each stage, and both as multiples of one plain read."""
    source, project = root / "download", root / "project"
    source.mkdir()
    project.mkdir()
    write(source, count)
    size = sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    print(f"{count:,} {kind}, {size >> 20:,} MiB", flush=True)
    plain = PLAIN[kind]
    one = run(plain, source, project)
    print(f"  {plain}: {one.seconds:.1f} s, {one.mebibytes:,.0f} MiB", flush=True)
    for stage in (name for name in STAGES if name not in PLAIN.values()):
        cost = run(stage, source, project)
        print(
            f"  {stage}: {cost.seconds:.1f} s, {cost.mebibytes:,.0f} MiB "
            f"({cost.seconds / one.seconds:.1f}x, {cost.mebibytes / one.mebibytes:.1f}x)",
            flush=True,
        )


def run(stage: str, source: Path, project: Path) -> Cost:
    """Run a stage in a process of its own."""
    head = f"from pathlib import Path\nsource, project = Path({str(source)!r}), Path({str(project)!r})\n"
    # The peak that wait4 returns would be that of this process at least.
    cost = """
import time
[peak] = [line.split()[1] for line in open('/proc/self/status') if 'VmHWM' in line]
print('cost', time.process_time(), peak)
"""
    command = [sys.executable, "-W", "ignore", "-c", f"{head}{STAGES[stage]}\n{cost}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, kibibytes = done.stdout.rpartition("cost ")[2].split()
    return Cost(float(seconds), int(kibibytes) / 1024)


def write_rows(folder: Path, count: int) -> None:
    """Write a table of numbers, classes, texts, times and ids, and a tenth as many rows to predict."""
    words = np.array(["blå", "stor", "fin,", "rask", "ny", "gul", "varm", "dyp", "lett", "god"])
    for name, first, rows in (("train.csv", 0, count), ("test.csv", count, count // 10)):
        writer = None
        for start in range(first, first + rows, BLOCK):
            stop = min(start + BLOCK, first + rows)
            random = np.random.default_rng(start)
            size = stop - start
            columns = {
                "id": np.arange(start, stop),
                "amount": random.lognormal(3, 1, size).round(2),
                "level": random.normal(size=size),
                "visits": random.poisson(4, size),
                "town": random.choice(["Oslo", "Bergen", "Tromsø", "Bodø"], size),
                "customer": [f"c{number:07d}" for number in random.integers(0, 2_000_000, size)],
                "when": np.datetime64("2020-01-01T00:00:00", "s") + random.integers(0, 10**8, size),
                "note": [" ".join(row) for row in random.choice(words, (size, 4))],
            }
            if name == "train.csv":
                columns["bought"] = random.integers(0, 2, size)
            table = pa.table(columns)
            writer = writer or arrow_csv.CSVWriter(folder / name, table.schema)
            writer.write_table(table)
        writer.close()
    sample = pa.table(
        {"id": np.arange(count, count + count // 10), "bought": np.zeros(count // 10, int)}
    )
    arrow_csv.write_csv(sample, folder / "sample_submission.csv")
    (folder / "description.md").write_text(
        "Predict `bought`.\n\nSubmissions are evaluated on accuracy.\n"
    )


def write_pictures(folder: Path, count: int) -> None:
    """Write small pictures, a tenth of them without label; one in 500 is a near-duplicate."""
    random, picture = np.random.default_rng(0), Image.new("RGB", (48, 48))
    for number, file in label_files(folder, count, "jpg"):
        if number % 500 or not number or file.parent.name == "test":
            picture = Image.fromarray(random.integers(0, 256, (6, 6, 3), np.uint8)).resize((48, 48))
            picture.save(file, quality=85)
        else:
            picture.save(file, quality=60)


def write_sounds(folder: Path, gigabytes: int) -> None:
    """Write noise as WAV files of 10 MB, a tenth of them without label."""
    random = np.random.default_rng(0)
    for _, file in label_files(folder, gigabytes * 100, "wav"):
        with wave.open(str(file), "wb") as sound:
            sound.setnchannels(1)
            sound.setsampwidth(2)
            sound.setframerate(44_100)
            sound.writeframes(random.bytes(2 * SOUND))


def label_files(folder: Path, count: int, ending: str) -> Iterator[tuple[int, Path]]:
    """Write the tables of a competition on files, then yield number and path of each file."""
    test = count // 10
    kinds = np.random.default_rng(1).choice(["cat", "dog"], count)
    parts = {"train": range(count - test), "test": range(count - test, count)}
    for part, numbers in parts.items():
        (folder / part).mkdir()
        columns = {"id": list(numbers), "file": [f"{part}/{number}.{ending}" for number in numbers]}
        if part == "train":
            columns["kind"] = kinds[: len(numbers)]
        arrow_csv.write_csv(pa.table(columns), folder / f"{part}.csv")
    asked = pa.table({"id": list(parts["test"]), "kind": ["cat"] * test})
    arrow_csv.write_csv(asked, folder / "sample_submission.csv")
    (folder / "description.md").write_text("Predict `kind`.\n\nSubmissions are evaluated on accuracy.\n")
    for part, numbers in parts.items():
        yield from ((number, folder / part / f"{number}.{ending}") for number in numbers)


if __name__ == "__main__":
    main()
