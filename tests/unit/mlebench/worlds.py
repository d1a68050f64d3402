"""Small made-up answers and submissions for each of the 75 competitions.

Answers have the form that MLE-bench's `prepare` gives them. Every submission is a variation of one that
is neither perfect nor hopeless, so that a grader that compares the wrong rows gives another score.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from comind.mlebench.catalog import BenchmarkCompetition
from comind.mlebench.metrics.areas import _IDENTITIES

__all__ = ["World", "make_world"]

_Random = np.random.Generator
_Cells = list[Any]
_ROWS = 24
_CLASSES = ("alpha", "beta", "gamma", "delta")
_WORDS = ("red", "Green", "blue", "yes", "no", "maybe")


@dataclass(frozen=True)
class World:
    """The answers of one competition and submissions to it, by what is special about them."""

    entry: BenchmarkCompetition
    answers: pd.DataFrame | list[dict[str, Any]]
    submissions: dict[str, pd.DataFrame]

    def write(self, folder: Path) -> Path:
        """Write `answers.csv` (or .jsonl) and `<case>.csv` into the folder; returns the former."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in self.submissions.items():
            table.to_csv(folder / f"{name}.csv", index=False)
        if isinstance(self.answers, pd.DataFrame):
            path = folder / "answers.csv"
            self.answers.to_csv(path, index=False)
            return path
        path = folder / "answers.jsonl"
        path.write_text("\n".join(map(json.dumps, self.answers)) + "\n")
        return path


def make_world(entry: BenchmarkCompetition, seed: int = 0) -> World:
    """Return the world of one competition; the same for the same seed."""
    random = np.random.default_rng([seed, sum(map(ord, entry.id))])
    answers, perfect, close = _MAKERS.get(entry.id, _plain)(entry, random)
    cases = {"perfect": perfect, "close": close}
    cases |= _forms(close, entry, random) | _values(close, entry)
    return World(entry, answers, cases)


def _forms(close: pd.DataFrame, entry: BenchmarkCompetition, random: _Random) -> dict[str, pd.DataFrame]:
    """Return the same predictions with other rows and columns."""
    shuffled = close.iloc[random.permutation(len(close))]
    stranger = close.copy()
    key = entry.ids[0]
    target = close.columns[-1] if entry.targets == "answers" else entry.targets[0]
    stranger[key] = stranger[key].astype(str)
    stranger.loc[0, key] = "zz" + "_".join(["", *stranger.loc[0, key].split("_")[1:]])
    return {
        "shuffled": shuffled,
        "turned": close[close.columns[::-1]],
        "short": close.iloc[:-1],
        "stranger": stranger,
        "wider": close.assign(more=1),
        "longer": pd.concat([close, close.iloc[:1].assign(**{key: f"zz{close[key].iloc[0]}"})]),
        "unnamed": close.rename(columns={target: "something"}),
        "twice": pd.concat([close, close.iloc[:1]]),
    }


def _values(close: pd.DataFrame, entry: BenchmarkCompetition) -> dict[str, pd.DataFrame]:
    """Return the same rows with values that one grader allows and another refuses."""
    target = [c for c in close.columns if c not in entry.ids and c not in entry.unscored]
    cases: dict[str, pd.DataFrame] = {}
    first = close[target[0]]
    blank = first.astype(object).copy()
    blank.iloc[2] = ""
    cases["blank"] = close.assign(**{target[0]: blank})
    if pd.api.types.is_float_dtype(first):
        cases["beyond"] = close.assign(**{c: close[c] * 3 - 1 for c in target})
        cases["doubled"] = close.assign(**{c: close[c] * 2 for c in target})
    if entry.metric in ("micro-f1", "samples-f1", "map-at-5", "map-at-12"):
        cases["unknown"] = close.assign(**{target[0]: first.astype(str) + " 999999 unheard-of"})
    if entry.image_size is not None:
        runs = first.str.split()
        turned = runs.map(lambda r: " ".join(r[2:] + r[:2]))
        cases["unsorted"] = close.assign(**{target[0]: turned})
        long = first.copy()
        long.iloc[0] = "2 3 9 99999"
        cases["overrun"] = close.assign(**{target[0]: long})
        cases["empty"] = close.assign(**{target[0]: "-" if "contrails" in entry.id else ""})
    return cases


# --- plain tables ----------------------------------------------------------------------------------


def _plain(
    entry: BenchmarkCompetition, random: _Random
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    targets = list(_CLASSES) if entry.targets == "answers" else list(entry.targets)
    ids = pd.DataFrame({entry.ids[0]: [f"r{n}" for n in random.permutation(_ROWS)]})
    truth, close = _columns(entry, targets, random)
    answers = pd.concat([ids, pd.DataFrame(truth)], axis=1)
    extra = {name: np.zeros(_ROWS, dtype=int) for name in entry.unscored}
    for context in entry.context.values():
        answers[context] = random.choice(["1JHC", "2JHH", "3JHN"], _ROWS)
    if entry.scored_rows:
        answers[entry.scored_rows.column] = _scored_rows(entry, answers, random)
    if entry.metric == "kl-divergence":  # answers are votes, submissions shares
        votes = pd.DataFrame(truth)
        truth = dict(votes.div(votes.sum(axis=1), axis=0))
    sides = [pd.concat([ids, pd.DataFrame(s), pd.DataFrame(extra)], axis=1) for s in (truth, close)]
    return answers, sides[0], sides[1]


def _scored_rows(entry: BenchmarkCompetition, answers: pd.DataFrame, random: _Random) -> _Cells:
    rule = entry.scored_rows
    assert rule is not None
    if rule.column in answers.columns:
        return list(answers[rule.column])
    if rule.value == "True":
        return [bool(random.integers(0, 2)) for _ in answers.index]
    return [int(random.integers(0, 2)) for _ in answers.index]


def _columns(
    entry: BenchmarkCompetition, targets: list[str], random: _Random
) -> tuple[dict[str, _Cells], dict[str, _Cells]]:
    """Return truth and predictions of each target."""
    if entry.metric in ("multiclass-log-loss", "kl-divergence"):
        return _distributions(entry, targets, random)
    truth, close = {}, {}
    for target in targets:
        true, guess = _CELLS[entry.metric](random)
        truth[target], close[target] = true, guess
    return truth, close


def _distributions(
    entry: BenchmarkCompetition, targets: list[str], random: _Random
) -> tuple[dict[str, _Cells], dict[str, _Cells]]:
    k = len(targets)
    sharp = np.eye(k, dtype=int)[random.integers(0, k, _ROWS)]
    true = random.multinomial(7, np.full(k, 1 / k), _ROWS) if entry.metric == "kl-divergence" else sharp
    cents = random.multinomial(900, random.dirichlet(np.ones(k), _ROWS)) + (100 // k)
    cents[:, 0] += 1000 - cents.sum(axis=1)
    guess = np.round(cents / 1000, 3)
    return (
        {name: list(true[:, i]) for i, name in enumerate(targets)},
        {name: list(guess[:, i]) for i, name in enumerate(targets)},
    )


def _binary(random: _Random) -> tuple[_Cells, _Cells]:
    true = random.integers(0, 2, _ROWS)
    true[:2] = 0, 1
    return list(true), list(np.round(np.clip(true * 0.3 + random.uniform(0.05, 0.65, _ROWS), 0, 1), 3))


def _labels(random: _Random) -> tuple[_Cells, _Cells]:
    true = random.integers(0, 4, _ROWS)
    return list(true), list(
        np.where(random.uniform(size=_ROWS) < 0.6, true, random.integers(0, 5, _ROWS))
    )


def _ones(random: _Random) -> tuple[_Cells, _Cells]:
    true = random.integers(0, 2, _ROWS)
    return list(true), list(np.where(random.uniform(size=_ROWS) < 0.7, true, 1 - true))


def _several(random: _Random) -> tuple[_Cells, _Cells]:
    true, guess = _labels(random)
    return true, [f"{one} {random.integers(0, 4)}" for one in guess]


def _numbers(random: _Random) -> tuple[_Cells, _Cells]:
    true = np.round(random.uniform(2, 40, _ROWS), 3)
    return list(true), list(np.round(np.clip(true + random.normal(0, 3, _ROWS), 1, 99), 3))


def _texts(random: _Random) -> tuple[_Cells, _Cells]:
    true = [" ".join(random.choice(_WORDS, random.integers(1, 5))) for _ in range(_ROWS)]
    guess = [t if random.uniform() < 0.4 else " ".join(random.choice(_WORDS, 3)) for t in true]
    return true, guess


def _sets(random: _Random) -> tuple[_Cells, _Cells]:
    true = [" ".join(sorted(set(random.choice(_WORDS, random.integers(1, 4))))) for _ in range(_ROWS)]
    return true, [" ".join(sorted(set(random.choice(_WORDS, random.integers(1, 4))))) for _ in true]


def _ranks(random: _Random) -> tuple[_Cells, _Cells]:
    true = [
        " ".join(map(str, random.choice(20, random.integers(1, 7), replace=False))) for _ in range(_ROWS)
    ]
    return true, [" ".join(map(str, random.choice(20, 12))) for _ in true]


def _orders(random: _Random) -> tuple[_Cells, _Cells]:
    true = [[f"c{n}" for n in random.permutation(random.integers(2, 9))] for _ in range(_ROWS)]
    return [" ".join(t) for t in true], [" ".join(random.permutation(t)) for t in true]


def _sequences(random: _Random) -> tuple[_Cells, _Cells]:
    def one() -> str:
        return " ".join(map(str, random.integers(1, 21, random.integers(2, 8))))

    return [one() for _ in range(_ROWS)], [one() for _ in range(_ROWS)]


def _runs(random: _Random) -> str:
    cells, pixel = [], 1
    for gap, length in random.integers(1, 9, (random.integers(1, 4), 2)):
        cells += [pixel + gap, length]
        pixel += gap + length
    return " ".join(map(str, cells))


def _masks(random: _Random) -> tuple[_Cells, _Cells]:
    true = [_runs(random) for _ in range(_ROWS)]
    guess = [t if random.uniform() < 0.2 else _near(t, random) for t in true]
    true[0] = guess[1] = guess[0] = ""
    return true, guess


def _near(runs: str, random: _Random) -> str:
    """Return runs that begin elsewhere by a little."""
    numbers = [int(word) for word in runs.split()]
    shift = int(random.integers(0, 2))
    return " ".join(str(n + shift if i % 2 == 0 else n) for i, n in enumerate(numbers))


def _directions(random: _Random) -> tuple[_Cells, _Cells]:
    true = np.round(random.uniform(0, 3, _ROWS), 4)
    return list(true), list(np.round(true + random.normal(0, 0.4, _ROWS), 4))


_CELLS: dict[str, Callable[[_Random], tuple[_Cells, _Cells]]] = {
    **dict.fromkeys(("roc-auc", "log-loss", "lwlrap", "weighted-roc-auc", "probabilistic-f1"), _binary),
    **dict.fromkeys(("accuracy", "macro-f1", "quadratic-weighted-kappa"), _labels),
    **dict.fromkeys(("rmse", "mae", "rmsle", "pearson", "spearman", "log-mae-of-types"), _numbers),
    **dict.fromkeys(("micro-f1", "samples-f1"), _sets),
    **dict.fromkeys(("exact-match", "mean-levenshtein", "word-jaccard"), _texts),
    **dict.fromkeys(("map-at-5", "map-at-12"), _ranks),
    **dict.fromkeys(("mean-dice", "global-dice", "iou-precision", "pixel-f05"), _masks),
    "matthews-correlation": _ones,
    "top-1-error": _several,
    "pooled-kendall-tau": _orders,
    "normalised-levenshtein": _sequences,
    "angular-error": _directions,
}


# --- competitions whose answers look otherwise ------------------------------------------------------

_Made = tuple[Any, pd.DataFrame, pd.DataFrame]


def _image_masks(entry: BenchmarkCompetition, random: _Random) -> _Made:
    """Masks beside the size of their images."""
    answers, perfect, close = _plain(entry, random)
    target = str(entry.targets[0])
    if "vesuvius" in entry.id or "contrails" in entry.id:  # empty cells are refused there
        for table in (answers, perfect, close):
            table[target] = table[target].replace("", "1 4" if "vesuvius" in entry.id else "-")
    if entry.truth:  # an empty truth is an invalid submission there
        answers = answers.replace("", "1 4").rename(columns=entry.truth)
        perfect = perfect.replace("", "1 4")
    assert entry.image_size is not None
    for side in (entry.image_size.height, entry.image_size.width):
        if isinstance(side, str):
            answers[side] = 11
    return answers, perfect, close


def _bias(entry: BenchmarkCompetition, random: _Random) -> _Made:
    rows = 400
    ids = random.permutation(rows)
    toxic = np.round(random.uniform(size=rows), 3)
    guess = np.round(np.clip(toxic + random.normal(0, 0.3, rows), 0, 1), 3)
    answers = pd.DataFrame({"id": ids, "toxicity": toxic})
    for identity in _IDENTITIES:
        shares = pd.Series(np.round(random.uniform(size=rows), 2))
        answers[identity] = shares.mask(random.uniform(size=rows) < 0.3)
    sides = [pd.DataFrame({"id": ids, "prediction": side}) for side in (toxic, guess)]
    return answers, sides[0], sides[1]


def _studies(entry: BenchmarkCompetition, random: _Random) -> _Made:
    names = [f"1.2.{n}_{part}" for n in range(4) for part in (*"1234567", "patient_overall")]
    names = [n if n.endswith("overall") else n[:-1] + "C" + n[-1] for n in names]
    true = random.integers(0, 2, len(names))
    guess = np.round(random.uniform(0.05, 0.95, len(names)), 3)
    sides = [pd.DataFrame({"row_id": names, "fractured": side}) for side in (true, guess)]
    return sides[0], sides[0].astype({"fractured": float}), sides[1]


def _patients(entry: BenchmarkCompetition, random: _Random) -> _Made:
    rows = [(f"ID{p}", week) for p in range(4) for week in range(-3, 9)]
    names = [f"{p}_{week}" for p, week in rows]
    true = pd.Series(random.integers(1500, 3500, len(rows))).astype(float)
    guess = true + np.round(random.normal(0, 200, len(rows)), 1)
    answers = pd.DataFrame(rows, columns=["Patient", "Weeks"]).assign(
        FVC=true.mask(random.uniform(size=len(rows)) < 0.4), Patient_Week=names, Confidence=100
    )
    perfect = pd.DataFrame({"Patient_Week": names, "FVC": true, "Confidence": 70.0})
    spread = np.round(random.uniform(50, 300, len(rows)), 1)
    return answers, perfect, perfect.assign(FVC=guess, Confidence=spread)


def _trips(entry: BenchmarkCompetition, random: _Random) -> _Made:
    rows = pd.DataFrame(
        {"tripId": [f"t{n % 3}" for n in range(_ROWS)], "UnixTimeMillis": 1000 * np.arange(_ROWS) + 7}
    )
    true = rows.assign(
        LatitudeDegrees=np.round(37 + random.uniform(size=_ROWS), 6),
        LongitudeDegrees=np.round(-122 + random.uniform(size=_ROWS), 6),
    )
    close = true.copy()
    close[["LatitudeDegrees", "LongitudeDegrees"]] += np.round(random.normal(0, 1e-4, (_ROWS, 2)), 7)
    return true, true, close.round(7)


def _slices(entry: BenchmarkCompetition, random: _Random) -> _Made:
    rows = [
        (f"case{c}_day{d}_slice_{s:04d}", organ)
        for c in (1, 2)
        for d in (0, 20)
        for s in (1, 2, 3)
        for organ in ("large_bowel", "stomach")
    ]
    base = pd.DataFrame(rows, columns=["id", "class"])
    true, guess = _masks(random)
    sides = [base.assign(predicted=[*side, *side][: len(base)]) for side in (true, guess)]
    return sides[0].assign(image_height=9, image_width=12), sides[0], sides[1]


def _questions(entry: BenchmarkCompetition, random: _Random) -> _Made:
    answers, perfect, close = [], [], []
    for number in range(12):
        start = int(random.integers(5, 90))
        span = {"start_token": start, "end_token": start + 3}
        none = {"start_token": -1, "end_token": -1}
        short = [span] if number % 3 == 0 else []
        yes_no = "YES" if number % 4 == 1 else "NONE"
        long = span if number % 5 else none
        note = {"long_answer": long, "short_answers": short, "yes_no_answer": yes_no}
        name = str(10**18 + number)
        answers.append({"example_id": name, "annotations": [note]})
        told = f"{start}:{start + 3}"
        right = {
            "long": told if long is span else "",
            "short": told if short else yes_no.replace("NONE", ""),
        }
        for kind, cell in right.items():
            perfect.append((f"{name}_{kind}", cell))
            close.append((f"{name}_{kind}", random.choice([cell, cell, "", "1:2"])))
    columns = ["example_id", "PredictionString"]
    return answers, pd.DataFrame(perfect, columns=columns), pd.DataFrame(close, columns=columns)


def _characters(entry: BenchmarkCompetition, random: _Random) -> _Made:
    ids, answers, perfect, close = [], [], [], []
    for number in range(8):
        places = random.integers(0, 90, (int(random.integers(1, 6)), 2))
        labels = [f"U+30{random.integers(10, 13)}" for _ in places]
        pairs = list(zip(labels, places, strict=True))
        ids.append(f"page{number}")
        answers.append(" ".join(f"{c} {x} {y} 10 12" for c, (x, y) in pairs))
        perfect.append(" ".join(f"{c} {x + 1} {y + 1}" for c, (x, y) in pairs))
        noise = random.integers(-4, 9, (len(pairs), 2))
        close.append(
            " ".join(f"{c} {x + a} {y + b}" for (c, (x, y)), (a, b) in zip(pairs, noise, strict=True))
        )
    sides = [pd.DataFrame({"image_id": ids, "labels": side}) for side in (answers, perfect, close)]
    return sides[0], sides[1], sides[2]


def _box(random: _Random) -> np.ndarray:
    x, y, width, height = random.integers(5, 60, 4)
    return np.array([x, y, x + width, y + height])


def _opacities(entry: BenchmarkCompetition, random: _Random) -> _Made:
    ids, answers, close = [], [], []
    for number in range(10):
        ids.append(f"i{number}_image")
        boxes = [_box(random) for _ in range(int(random.integers(0, 4)))]
        true = " ".join("opacity 1 " + " ".join(map(str, box)) for box in boxes) or "none 1 0 0 1 1"
        answers.append(true)
        moved = [
            (box + random.integers(-4, 5, 4), random.uniform(0.1, 1)) for box in [*boxes, _box(random)]
        ]
        guess = " ".join(f"opacity {p:.3f} " + " ".join(map(str, box)) for box, p in moved)
        close.append(f"none {random.uniform(0, 1):.3f} 0 0 1 1 {guess}")
    sides = [pd.DataFrame({"id": ids, "PredictionString": side}) for side in (answers, answers, close)]
    return sides[0], sides[1], sides[2]


def _findings(entry: BenchmarkCompetition, random: _Random) -> _Made:
    rows, perfect, close = [], [], []
    for number in range(8):
        name = f"x{number}"
        labels = sorted(random.choice(5, int(random.integers(1, 4)), replace=False))
        boxes = [_box(random) for _ in labels]
        rows += [(name, int(c), *map(float, box)) for c, box in zip(labels, boxes, strict=True)]
        perfect.append(
            (
                name,
                " ".join(
                    f"{c} 1.0 " + " ".join(map(str, b)) for c, b in zip(labels, boxes, strict=True)
                ),
            )
        )
        cells = []
        for label, box in zip([*labels, 0], [*boxes, _box(random)], strict=True):
            noise = random.integers(-6, 7, 4)
            cells.append(
                f"{label} {random.uniform(0.1, 1):.3f} " + " ".join(map(str, np.maximum(box + noise, 0)))
            )
        close.append((name, " ".join(cells)))
    order = random.permutation(len(close))
    columns = ["image_id", "PredictionString"]
    sides = [pd.DataFrame([side[i] for i in order], columns=columns) for side in (perfect, close)]
    answers = pd.DataFrame(rows, columns=["image_id", "class_id", "x_min", "y_min", "x_max", "y_max"])
    return answers, sides[0], sides[1]


def _vehicles(entry: BenchmarkCompetition, random: _Random) -> _Made:
    ids, answers, close = [], [], []
    for number in range(6):
        cells, guesses = [], []
        for _ in range(int(random.integers(1, 5))):
            label = random.choice(["car", "bus"])
            where, size = random.uniform(0, 40, 3), random.uniform(1.5, 5, 3)
            values = np.concatenate([where, size, [random.uniform(-3, 3)]])
            cells.append(f"1.0 {' '.join(f'{v:.4f}' for v in values)} {label}")
            moved = values + random.normal(0, 0.1, 7)
            place = " ".join(f"{v:.4f}" for v in moved)
            scores = random.uniform(0.1, 1, int(random.integers(1, 3)))
            guesses += [f"{score:.3f} {place} {label}" for score in scores]
        ids.append(f"tok{number}")
        answers.append(" ".join(cells))
        close.append(" ".join(guesses))
    sides = [pd.DataFrame({"Id": ids, "PredictionString": side}) for side in (answers, answers, close)]
    return sides[0], sides[1], sides[2]


def _comments(entry: BenchmarkCompetition, random: _Random) -> _Made:
    """Texts as ids; the submission has a column that nobody reads."""
    answers, perfect, close = _plain(entry, random)
    texts = [f"you {word}, {n}" for n, word in enumerate(random.choice(_WORDS, _ROWS))]
    return tuple(table.assign(Comment=texts) for table in (answers, perfect, close))  # type: ignore[return-value]


def _unscored_rows(entry: BenchmarkCompetition, random: _Random) -> _Made:
    """Rows that are not scored have -1 in every column."""
    answers, perfect, close = _plain(entry, random)
    answers.loc[20:, list(entry.targets)] = -1
    return answers, perfect, close


_MAKERS: dict[str, Callable[[BenchmarkCompetition, _Random], _Made]] = {
    "hubmap-kidney-segmentation": _image_masks,
    "google-research-identify-contrails-reduce-global-warming": _image_masks,
    "vesuvius-challenge-ink-detection": _image_masks,
    "jigsaw-unintended-bias-in-toxicity-classification": _bias,
    "rsna-2022-cervical-spine-fracture-detection": _studies,
    "osic-pulmonary-fibrosis-progression": _patients,
    "smartphone-decimeter-2022": _trips,
    "uw-madison-gi-tract-image-segmentation": _slices,
    "tensorflow2-question-answering": _questions,
    "kuzushiji-recognition": _characters,
    "siim-covid19-detection": _opacities,
    "vinbigdata-chest-xray-abnormalities-detection": _findings,
    "3d-object-detection-for-autonomous-vehicles": _vehicles,
    "detecting-insults-in-social-commentary": _comments,
    "jigsaw-toxic-comment-classification-challenge": _unscored_rows,
}
