"""Match names of metrics with ours, only where certain: a wrong metric is worse than none."""

import re
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from rapidfuzz import fuzz, process

from comind.domain.numbers import is_number
from comind.domain.value import Value
from comind.metrics.families import OWN_METRICS
from comind.metrics.metric_types import Metric, Names
from comind.metrics.page_passages import passages_of, sentences_of
from comind.metrics.parsing import are_number_lists
from comind.metrics.qualifiers import is_comparison, qualifier, selection
from comind.metrics.sequences import ranked_metrics

_CLASSES = 20  # different labels that are numbers, at most, to count as classes
_TEXTS = 400  # different labels that are words, at most, to count as classes
_CHOICES = 3
_WHOLE = re.compile(r"-?\d+(\.0*)?")
_SHORT = 3  # characters of an abbreviation, which counts in capitals only
_OF_LOG = re.compile(
    r"\blog(?:arithm)?s? of (?:the )?(?:predict|actual|observ|target|sale|price|value|true)\w*"
)


_OTHER_BASE = re.compile(r"\blog ?(?:10|2)\b|\bbase (?:10|2|ten|two)\b|\b(?:common|decadic|binary) log")
_VARIANT = re.compile(r"\b(?:weighted|custom|modified|normali[sz]ed|adjusted|penali[sz]\w*|harmonic)\b")
"""Words that indicate a variant, on a page that does not name the metric itself."""
_MEANS = {"accuracy", "log-loss", "multiclass-log-loss", "mae", "mse", "mape", "smape", "brier-score"}
"""Means over rows, of which `mean` says nothing more."""
_EQUALS = re.compile(r"=(?!\s*['\"])")  # other than in the argument of a function
_COMMON = {*"mean average averaged error score root squared square absolute of at the loss".split()}  # noqa: SIM905 - a list of words
"""Words of names that do not make metrics different."""
_PLUS_ONE = re.compile(r"\+\s*1\b|\b1\s*\+")  # before a logarithm is taken
_LOGARITHMS = ("log", "logs", "logarithm", "logarithms")
_QUOTED = 160
_INSTANCES = re.compile(
    r"\b(?:one|each|separate|single) (?:row|line|mask)s? (?:for|per) (?:each |every |a |single )?"
    r"(?:object|instance|nucle|mask|ship|cell)"
    r"|\beach (?:segmented )?(?:nucle\w+|object|instance|cell|ship) (?:is|has|gets|on) (?:a |its own )?"
    r"(?:separate |own |single )?(?:row|line)"
)
"""Words of a page on submissions with a row for each object."""


class _Entry(Value):
    """An entry of the table."""

    words: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Words that count only as the name of a metric, not on a page."""
    may_mean: tuple[str, ...] = ()
    """Metrics of which a name alone does not decide."""
    one: str | None = None
    """Metric of one target column."""
    many: str | None = None
    """Metric of several target columns."""
    lower: bool = False
    not_with: tuple[str, ...] = ()
    """Words in the sentence that indicate a variant."""
    only_with: tuple[str, ...] = ()
    """Words of which the page has to have one."""
    many_with: tuple[str, ...] = ()
    """The same, for several target columns."""
    instances: str | None = None
    """Metric where the page says that each object has a row."""
    of_log: str | None = None
    """Metric where the sentence speaks of the logarithm of the values."""
    understood: tuple[str, ...] = ()
    """Words of a sentence that belong to the metric."""


class MetricMatch(NamedTuple):
    """The metric, None where it is not certain, with the reason."""

    metric: str | None
    reason: str
    sentence: str = ""
    """The sentence that names it, as written."""


class _Named(NamedTuple):
    """A name of a metric in a text."""

    words: str
    entry: _Entry
    sentence: str
    """Its plain words."""
    raw: str = ""
    """The sentence as written; empty where no sentence has the name."""
    before: str = ""
    """Its plain words before the name, those of other names left out."""
    after: str = ""


@cache
def metric_table() -> tuple[_Entry, ...]:
    """Return the names of `metrics.yaml`, then those of our metrics."""
    entries = yaml.safe_load(Path(__file__).with_name("metrics.yaml").read_text(encoding="utf-8"))
    own = (_entry(metric, metric.called) for metric in OWN_METRICS if metric.called is not None)
    return (*map(_Entry.model_validate, entries), *own)


def _entry(metric: Metric, called: Names) -> _Entry:
    """Return the entry of a metric's own names."""
    words, names = (tuple(filter(None, each.split(", "))) for each in (called.words, called.names))
    one = None if called.columns == "many" else metric.name
    many = None if called.columns == "one" else metric.name
    understood = tuple(called.understood.split())
    lower = not metric.maximize
    return _Entry(words=words, names=names, one=one, many=many, lower=lower, understood=understood)


def match_metric(
    words: str, page: str, targets: Sequence[str], scores: Sequence[float] = ()
) -> MetricMatch:
    """Return our metric for Kaggle's name.

    Args:
        words: Kaggle's name; empty: look for one on the page.
        page: text on the evaluation, or the whole description.
        targets: columns of the submission beside its ids.
        scores: of the leaderboard, best first: whether lower is better, and which are possible.
    """
    plain, passages = _plain(words), list(passages_of(page))
    on_page = _most_specific([named for passage in passages for named in _names_in(passage)])
    if plain:
        entries = [entry for entry in (*metric_table(), *_at(plain)) if plain in _all_words(entry)]
        sentences = {id(each.entry): each for each in reversed(on_page)}
        rest = _Named(plain, _Entry(), " ".join(map(_plain, passages)))
        found = [sentences.get(id(each), rest)._replace(entry=each, words=plain) for each in entries]
        source = f"Kaggle names {words!r}"
    else:
        found, source = on_page, "the page on the evaluation names it"
    if not found:
        what = f"{words!r} is not known" if plain else "the page on the evaluation names no known metric"
        return MetricMatch(None, what)
    sentence = _shortened(next((each.raw for each in found if each.raw), ""))
    limited = selection([_plain(raw) for passage in passages for raw in sentences_of(passage)])
    if variant := next(filter(None, (_variant(each, len(targets)) for each in found)), limited):
        return MetricMatch(None, f"{source}, but its page says more: {variant!r}", sentence)
    whole = _plain(page)
    matches = [_read(named, targets, whole, source) for named in found]
    metrics = {match.metric for match in matches if match.metric}
    if len(metrics) > 1:
        named = ", ".join(sorted(metrics))
        return MetricMatch(None, f"more than one metric is named: {named}", sentence)
    if not metrics:
        return matches[0]._replace(sentence=sentence)
    lower = next(n.entry.lower for n, m in zip(found, matches, strict=True) if m.metric)
    if scores and scores[0] != scores[-1] and (scores[0] < scores[-1]) != lower:
        return MetricMatch(None, f"{source}, but the leaderboard runs the other way", sentence)
    metric = metrics.pop()
    best = next((own.best for own in OWN_METRICS if own.name == metric), None)
    beyond = (
        score for score in scores if best is not None and (score < best if lower else score > best)
    )
    if (score := next(beyond, None)) is not None:
        return MetricMatch(
            None, f"{source}, but the leaderboard has {score:g}, beyond {best:g}", sentence
        )
    return MetricMatch(metric, source, sentence)


def metrics_named(name: str, targets: int) -> tuple[str, ...]:
    """Return our metrics that a name may mean for so many target columns; one where it is certain.

    A metric's own name in the registry is not looked for.
    """
    plain = _plain(name)
    found = [each for each in (*metric_table(), *_at(plain)) if plain in _all_words(each)]
    return tuple(dict.fromkeys(metric for entry in found for metric in _meant(entry, targets) if metric))


def instance_metric(metric: str) -> str | None:
    """Return the metric of several masks an image in place of one of one mask, if there is one."""
    found = (each.instances for each in metric_table() if metric == each.one and each.instances)
    return next(found, None)


def nearest_metrics(name: str, count: int = 3) -> list[str]:
    """Return our metrics whose names, or Kaggle's names for them, are most like a name; best first."""
    metrics = {
        words: metric
        for entry in metric_table()
        for metric in (entry.one or entry.many,)
        if metric is not None
        for words in (*entry.words, *entry.names, _plain(metric))
    }
    ranked = process.extract(_plain(name), list(metrics), scorer=fuzz.WRatio, limit=len(metrics))
    return list(dict.fromkeys(metrics[words] for words, _, _ in ranked))[:count]


def likely_metrics(reason: str, labels: Collection[str], predicted: Collection[str]) -> tuple[str, ...]:
    """Return the three likeliest metrics where none is certain.

    Args:
        reason: why none is certain; metrics that it names come first.
        labels: different labels of train.csv.
        predicted: different predictions of the sample submission.
    """
    known = sorted(
        {name for each in metric_table() for name in (each.one, each.many, *each.may_mean) if name}
    )
    named = [name for name in known if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", reason)]
    return tuple(dict.fromkeys((*named, *_usual_metrics(labels, predicted))))[:_CHOICES]


def _usual_metrics(labels: Collection[str], predicted: Collection[str]) -> tuple[str, ...]:
    """Return the usual metrics of such labels: classes, probabilities of classes, numbers or texts.

    Of boxes and the like each host has another one, and only equal cells can be counted.
    """
    if are_number_lists(labels):
        return ("exact-match",)
    if all(map(is_number, labels)) and (
        len(labels) > _CLASSES or not all(_WHOLE.fullmatch(label) for label in labels)
    ):
        return "rmse", "mae", "rmsle"
    if len(labels) > _TEXTS:
        return "exact-match", "accuracy", "macro-f1"
    shares = all(map(is_number, predicted)) and not set(predicted) <= set(labels)
    if len(labels) <= 2:  # noqa: PLR2004 - a binary target
        return ("roc-auc", "log-loss", "accuracy") if shares else ("accuracy", "f1", "roc-auc")
    return ("multiclass-log-loss", "accuracy", "macro-f1") if shares else ("accuracy", "macro-f1", "f1")


def _meant(entry: _Entry, targets: int) -> tuple[str | None, ...]:
    """Return the metrics that an entry may mean without a page."""
    if entry.may_mean:
        return entry.may_mean
    if targets > 1 and entry.many is not None:
        return (entry.one, entry.many) if entry.many_with else (entry.many,)
    return entry.one or entry.many, entry.instances


def _read(named: _Named, targets: Sequence[str], page: str, source: str) -> MetricMatch:
    """Return the metric that a name means for these target columns."""
    entry = named.entry
    metric = entry.one if len(targets) == 1 else entry.many
    if _is_of_log(named):
        return MetricMatch(entry.of_log, source)
    if metric is None and entry.may_mean:
        return MetricMatch(None, f"{source}, which may mean {' or '.join(entry.may_mean)}")
    if metric is None:
        return MetricMatch(None, f"{source}, which says nothing of {len(targets)} target columns")
    if entry.instances is not None and _INSTANCES.search(page):
        metric = entry.instances
    needed = entry.only_with if len(targets) == 1 else (*entry.only_with, *entry.many_with)
    if needed and not any(word in page for word in needed):
        meant = " or ".join(entry.may_mean or (metric,))
        return MetricMatch(None, f"{source}, which may mean {meant} or another metric")
    return MetricMatch(metric, source)


def _is_of_log(named: _Named) -> bool:
    """Return whether a sentence means the metric of the natural logarithms of values."""
    if named.entry.of_log is None or _OTHER_BASE.search(named.sentence):
        return False
    return _OF_LOG.search(named.sentence) is not None


def _variant(named: _Named, targets: int) -> str | None:
    """Return the words of a sentence that mean a variant of the metric that it names."""
    entry = named.entry
    of_log = _is_of_log(named)
    if not named.raw and of_log:
        return None
    if not named.raw:
        found = _VARIANT.search(named.sentence.replace(named.words, " "))
        return found[0] if found else next((w for w in entry.not_with if w in named.sentence), None)
    if (added := _PLUS_ONE.search(named.raw.split("=")[0])) and "log" not in entry.understood:
        return added[0]
    understood = {*named.words.split(), *(_LOGARITHMS if of_log else ())} - _COMMON
    averages = targets > 1 or (entry.one or "") in _MEANS
    variant = qualifier(
        named.raw,
        named.before,
        named.after,
        understood=" ".join((*sorted(understood), *entry.understood)),
        averages=averages,
    )
    not_with = (word for word in entry.not_with if word in named.sentence)
    return variant or (None if of_log else next(not_with, None))


def _all_words(entry: _Entry) -> tuple[str, ...]:
    return (*entry.words, *entry.names)


@cache
def _at(plain: str) -> tuple[_Entry, ...]:
    """Return the entries of rankings by as many guesses as a text says, which the table lacks."""
    known = {metric.name for metric in OWN_METRICS}
    numbers = dict.fromkeys(
        int(number) for number in re.findall(r"(?<= )[1-9]\d{0,3}(?= )", f" {plain} ")
    )
    made = (metric for number in numbers for metric in ranked_metrics(number))
    return tuple(
        _entry(each, each.called) for each in made if each.called is not None and each.name not in known
    )


def _most_specific(found: list[_Named]) -> list[_Named]:
    """Leave out names that are a part of one before or in their sentence, such as F1 after macro F1."""
    kept: list[_Named] = []
    for number, each in enumerate(found):
        before = (one for place, one in enumerate(found) if place < number or one.raw == each.raw)
        longer = (one for one in before if {*each.words.split()} < {*one.words.split()})
        if all(one.entry is each.entry for one in longer):
            kept.append(each)
    return kept


def _shortened(sentence: str) -> str:
    text = " ".join(sentence.split())
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]} ..."


def _names_in(passage: str) -> list[_Named]:
    """Return the metrics that a passage names, each with its sentence; of nested names the longest."""
    found = []
    for raw in sentences_of(passage):
        text = raw.replace("; ", " this ")  # what follows may speak of the name, whose phrase ends
        sentence = f" {_plain(text)} "
        spans: list[tuple[int, int, str, _Entry]] = []
        for entry in (*metric_table(), *_at(sentence.strip())):
            for words in entry.words:
                if len(words) <= _SHORT and not re.search(rf"\b{words.upper()}\b", raw):
                    continue
                pattern = re.compile(rf"(?<= ){re.escape(words)}(?= )")
                spans += [(*match.span(), words, entry) for match in pattern.finditer(sentence)]
        kept = [
            (start, end, words, entry)
            for start, end, words, entry in spans
            if not any(a <= start and end <= b and (a, b) != (start, end) for a, b, _, _ in spans)
        ]
        taken = [(start, end) for start, end, _, _ in kept]
        formula = len(_plain(_EQUALS.split(text)[0])) + 1  # what follows a sign of equality is one
        for start, end, words, entry in kept:
            before = _without(sentence, 0, start, taken)
            if not is_comparison(sentence[:start], sentence[end:]):
                last = formula if end <= formula else len(sentence)
                after = _without(sentence, end, last, taken)
                found.append(_Named(words, entry, sentence, raw, before, after))
    return found


def _without(sentence: str, start: int, end: int, taken: Sequence[tuple[int, int]]) -> str:
    """Return a part of a sentence, with `is` in place of the names in it."""
    words, place = [], start
    for first, last in sorted(span for span in taken if start <= span[0] and span[1] <= end):
        words += [sentence[place:first], "is"]
        place = max(place, last)
    return " ".join(" ".join((*words, sentence[place:end])).split())


def _plain(text: str) -> str:
    """Normalize a text to lower-case words, as in the table."""
    return " ".join(re.sub(r"[^a-z0-9]+", " ", text.lower()).split())
