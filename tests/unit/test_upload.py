"""The file to upload has the rows of test.csv in their order, without ids that were made here."""

import pandas as pd

from comind.app.projections import upload_table


def test_rows_are_in_the_order_of_the_test_rows() -> None:
    """Rows in another order, with ids as floats, are matched as the grader matches them."""
    submission = pd.DataFrame({"id": ["62.0", "60", "61"], "price": ["c", "a", "b"]})
    test = pd.DataFrame({"id": ["60", "61", "62"], "size": ["1", "2", "3"]})
    found = upload_table(submission, test, ["price"])
    assert found.to_dict("list") == {"price": ["a", "b", "c"]}
