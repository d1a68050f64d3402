"""Arrays as downloads: tables of numbers, pictures, and what is refused."""

import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib.format import write_array_header_1_0
from PIL import Image

from comind.competitions.download.array_files import check_no_pickle, unpack_arrays
from comind.errors import CompetitionError


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_a_table_of_numbers(tmp_path: Path) -> None:
    """A matrix becomes rows with made ids."""
    np.save(tmp_path / "train.npy", np.array([[1.5, 2], [np.nan, 4]]))
    assert unpack_arrays(tmp_path / "train.npy", tmp_path / "out") == ("train.csv",)
    assert lines(tmp_path / "out/train.csv") == ["id,train_0,train_1", "0,1.5,2.0", "1,,4.0"]


def test_a_list_of_texts_and_records(tmp_path: Path) -> None:
    """A vector becomes a column of its name, an array of records a column for each field."""
    np.save(tmp_path / "label.npy", np.array(["a", 'b"c']))
    unpack_arrays(tmp_path / "label.npy", tmp_path / "out")
    assert lines(tmp_path / "out/label.csv") == ["id,label", "0,a", '1,"b""c"']
    np.save(tmp_path / "rows.npy", np.array([(1, 2.5)], dtype=[("n", "i4"), ("x", "f8")]))
    unpack_arrays(tmp_path / "rows.npy", tmp_path / "out")
    assert lines(tmp_path / "out/rows.csv") == ["id,n,x", "0,1,2.5"]


@pytest.mark.parametrize("shape", [(3, 8, 6), (3, 8, 6, 1), (3, 8, 6, 3), (3, 8, 6, 4)])
def test_pictures_become_files(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """Arrays of bytes in two or three dimensions a row become PNG files with the same pixels."""
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    np.save(tmp_path / "x.npy", pixels)
    made = unpack_arrays(tmp_path / "x.npy", tmp_path / "out")
    assert made == ("x.csv", "x/0.png", "x/1.png", "x/2.png")
    assert lines(tmp_path / "out/x.csv") == ["id,file", "0,x/0.png", "1,x/1.png", "2,x/2.png"]
    with Image.open(tmp_path / "out/x/2.png") as picture:
        assert np.array_equal(np.asarray(picture), pixels[2].squeeze())


def test_pictures_have_four_pixels_a_side(tmp_path: Path) -> None:
    """Smaller arrays of bytes in three dimensions are refused."""
    np.save(tmp_path / "x.npy", np.zeros((1, 4, 4), np.uint8))
    assert unpack_arrays(tmp_path / "x.npy", tmp_path / "out") == ("x.csv", "x/0.png")
    np.save(tmp_path / "y.npy", np.zeros((1, 4, 3), np.uint8))
    with pytest.raises(CompetitionError, match="neither a table nor pictures"):
        unpack_arrays(tmp_path / "y.npy", tmp_path / "out")


def test_arrays_of_one_file_share_rows(tmp_path: Path) -> None:
    """Arrays of one part and length are columns of one table; train and test stay apart."""
    pixels = np.zeros((4, 8, 8), np.uint8)
    np.savez_compressed(
        tmp_path / "mnist.npz", x_train=pixels, y_train=np.arange(4), x_test=pixels, ids=np.arange(2)
    )
    made = unpack_arrays(tmp_path / "mnist.npz", tmp_path / "out")
    assert [name for name in made if name.endswith(".csv")] == ["mnist.csv", "test.csv", "train.csv"]
    assert lines(tmp_path / "out/train.csv")[:2] == ["id,file,y", "0,train/x/0.png,0"]
    assert lines(tmp_path / "out/test.csv")[1] == "0,test/x/0.png"
    assert lines(tmp_path / "out/mnist.csv")[0] == "id,ids"
    assert not [path for path in tmp_path.iterdir() if path.name not in ("mnist.npz", "out")]


def test_objects_are_never_loaded(tmp_path: Path) -> None:
    """Arrays of Python objects are refused without being loaded."""

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "evil"),)

    np.save(tmp_path / "x.npy", np.array([Evil()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", a=np.array([Evil()], dtype=object))
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Evil()))
    for name in ("x.npy", "x.npz", "raw.npy"):
        with pytest.raises(CompetitionError, match=f"^{name}: "):
            unpack_arrays(tmp_path / name, tmp_path / "out")
    assert not (tmp_path / "evil").exists()
    for name in ("train.pkl", "a/b.PICKLE"):
        with pytest.raises(CompetitionError) as raised:
            check_no_pickle(Path(name))
        assert str(raised.value) == f"{name}: is a pickle, which can run code"
        assert raised.value.hint == "save it as parquet or csv"
    check_no_pickle(Path("train.csv"))


def test_broken_arrays(tmp_path: Path) -> None:
    """A header that promises more than the file has, and a name that leads out, are refused."""
    with (tmp_path / "short.npy").open("wb") as file:
        write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 8)})
    with zipfile.ZipFile(tmp_path / "out.npz", "w") as archive:
        archive.writestr("../evil.npy", b"x")
    (tmp_path / "no.npz").write_bytes(b"no zip")
    np.save(tmp_path / "cube.npy", np.zeros((2, 3, 4, 5)))
    np.save(tmp_path / "one.npy", np.array(1.0))
    for name, message in (
        ("short.npy", "short.npy: is no array that can be read"),
        ("out.npz", "leads out"),
        ("no.npz", "no.npz: is no array that can be read"),
        ("cube.npy", r"cube.npy: float64 of shape \(2, 3, 4, 5\) is neither a table nor pictures"),
        ("one.npy", r"one.npy: float64 of shape \(\) is neither a table nor pictures"),
    ):
        with pytest.raises(CompetitionError, match=message):
            unpack_arrays(tmp_path / name, tmp_path / "target")
