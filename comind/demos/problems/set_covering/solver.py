"""Greedy covering: again and again the column that costs least for each row that it newly covers."""


def solve(rows: int, columns: list[list[int]], costs: list[int]) -> dict[str, list[int]]:
    """Choose columns of the least total cost that cover all rows.

    Args:
        rows: how many rows there are; they are numbered from 0.
        columns: the rows that each column covers.
        costs: what each column costs, above 0.

    Returns:
        {"columns": [indices of the chosen columns, counted from 0]}; each is in the list once.
    """
    left = set(range(rows))
    chosen = []
    while left:
        new = [len(left.intersection(covered)) for covered in columns]
        candidates = (column for column in range(len(columns)) if new[column])
        best = min(candidates, key=lambda column: costs[column] / new[column])
        chosen.append(best)
        left.difference_update(columns[best])
    return {"columns": chosen}
