"""Detection of train, test and sample submission."""

from pathlib import Path

import pytest

from comind.competitions.download.table_roles import arrange_tables
from comind.errors import CompetitionError


def lay(public: Path, **files: str) -> Path:
    for name, text in files.items():
        path = public / f"{name.replace('__', '/')}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return public


def test_usual_names_and_columns(tmp_path: Path) -> None:
    """Ids are the columns of sample and test, labels those of sample and train only."""
    public = lay(
        tmp_path,
        train="Id,a,y,extra\n1,2,3,4\n",
        test="Id,a\n5,6\n",
        sample_submission="Id,y\n5,0\n",
    )
    form = arrange_tables(public)
    assert form.id_columns == ("Id",)
    assert form.label_columns == form.target_columns == ("y",)
    assert form.renamed == {}


@pytest.mark.parametrize(
    "name", ["sampleSubmission", "gender_submission", "SampleSubmission", "sample", "submission_sample"]
)
def test_a_sample_submission_by_any_name(tmp_path: Path, name: str) -> None:
    """Tables are recognised by parts of their names and by their ids, and renamed."""
    public = lay(tmp_path, train="Id,y\n1,3\n", test="Id\n5\n", **{name: "Id,y\n5,0\n"})
    assert arrange_tables(public).renamed == {"sample_submission.csv": f"{name}.csv"}
    assert (public / "sample_submission.csv").read_text() == "Id,y\n5,0\n"
    assert arrange_tables(public).renamed == {}


def test_of_two_samples_the_one_that_asks_for_the_test_rows(tmp_path: Path) -> None:
    """A sample submission of an earlier stage, with other rows, is not chosen."""
    public = lay(
        tmp_path,
        train="Id,y\n1,3\n",
        test="Id\n5\n6\n",
        sample_submission_stage1="Id,y\n4,0\n",
        sample_submission_stage2="Id,y\n6,0\n5,0\n",
    )
    assert arrange_tables(public).renamed == {"sample_submission.csv": "sample_submission_stage2.csv"}


def test_classes_spread_over_columns(tmp_path: Path) -> None:
    """One column of train whose values are the target columns is the label."""
    public = lay(
        tmp_path,
        train="id,text,author,note\n1,x,EAP,a\n2,y,MWS,b\n",
        test="id,text\n5,z\n",
        sample_submission="id,EAP,MWS\n5,0.5,0.5\n",
    )
    form = arrange_tables(public)
    assert form.label_columns == ("author",)
    assert form.target_columns == ("EAP", "MWS")


def test_train_may_call_its_ids_otherwise(tmp_path: Path) -> None:
    """An id column of train may have another name."""
    public = lay(
        tmp_path,
        train="Id,Date,cases\n1,2020,3\n",
        test="ForecastId,Date\n5,2021\n",
        submission="ForecastId,cases\n5,0\n",
    )
    assert arrange_tables(public).train_id_columns == ("Id",)


def test_a_test_table_is_made_where_rows_are_files(tmp_path: Path) -> None:
    """Without a test table the ids of the sample submission become one."""
    public = lay(tmp_path, train_labels="id,y\na.jpg,1\n", sample_submission="id,y\nb.jpg,0\nc.jpg,0\n")
    form = arrange_tables(public)
    assert (public / "test.csv").read_text() == "id\nb.jpg\nc.jpg\n"
    assert form.renamed == {"train.csv": "train_labels.csv", "test.csv": ""}


def test_files_in_a_folder(tmp_path: Path) -> None:
    """Tables in a subfolder are found."""
    public = lay(tmp_path, d__train="Id,y\n1,3\n", d__test="Id\n5\n", d__sample="Id,y\n5,0\n")
    assert arrange_tables(public).renamed["train.csv"] == "d/train.csv"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"train": "Id,y\n1,2\n", "test": "Id\n5\n"}, "no sample submission"),
        ({"test": "Id\n5\n", "sample": "Id,y\n5,0\n"}, "no table of labelled rows"),
        ({"train": "Id,y\n1,2\n", "test": "Id\n5\n6\n", "sample": "Id,y\n5,0\n"}, "does not ask"),
        ({"train": "Id,b\n1,2\n", "test": "Id,b\n5,1\n", "sample": "Id,y\n5,0\n"}, "does not hold"),
        ({"train": "k,y\n1,2\n", "test": "Id\n5\n", "sample": "Id,y\n5,0\n"}, "no column 'Id'"),
        ({"train": "Id,y\n1,2\n", "sample1": "Id,y\n5,0\n", "sample2": "Id,y\n6,0\n"}, "or sample2"),
    ],
)
def test_what_is_unclear_is_left_to_people(tmp_path: Path, files: dict[str, str], said: str) -> None:
    """Ambiguous or missing tables are an error with a hint."""
    with pytest.raises(CompetitionError, match=said) as caught:
        arrange_tables(lay(tmp_path, **files))
    assert caught.value.hint
