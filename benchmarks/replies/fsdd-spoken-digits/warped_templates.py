# Dynamic time warping to the nearest templates
#
# Cepstra and slopes at 22 frames; the distance of two clips is that of the best alignment in time.
# The nearest templates vote, weighted by distance; templates are held at three warps of the frequency axis.

# %% Cepstra of all clips
import soundfile
from scipy.fft import dct

RATE, FRAME, HOP, BINS = 8000, 256, 80, 512
FOLDER = "input/fsdd-spoken-digits/audio"


def bank(bands, warp=1.0, low=80.0, high=3800.0):
    """Triangular mel filters over the bins of the spectrum, with the frequency axis stretched by `warp`."""
    mel = np.linspace(2595 * np.log10(1 + low / 700), 2595 * np.log10(1 + high / 700), bands + 2)
    edges = np.clip(700 * (10 ** (mel / 2595) - 1) * warp, 0, RATE / 2)
    bins = np.fft.rfftfreq(BINS, 1 / RATE)
    rise = (bins - edges[:-2, None]) / np.maximum(edges[1:-1] - edges[:-2], 1.0)[:, None]
    fall = (edges[2:, None] - bins) / np.maximum(edges[2:] - edges[1:-1], 1.0)[:, None]
    return np.maximum(0, np.minimum(rise, fall))


def power(clip):
    """Power spectrum of one clip, trimmed to where there is sound: frames x bins."""
    sound, _ = soundfile.read(f"{FOLDER}/{clip}.wav")
    sound = np.append(sound[0], sound[1:] - 0.95 * sound[:-1])
    if len(sound) < 4 * FRAME:
        sound = np.pad(sound, (0, 4 * FRAME - len(sound)))
    frames = np.lib.stride_tricks.sliding_window_view(sound, FRAME)[::HOP] * np.hamming(FRAME)
    spectrum = np.abs(np.fft.rfft(frames, BINS)) ** 2
    loud = np.flatnonzero(spectrum.sum(axis=1) > 0.003 * spectrum.sum(axis=1).max())
    return spectrum[loud[0] : loud[-1] + 1]


def stretch(table, frames):
    """Resample rows of a table to `frames` rows."""
    at = np.linspace(0, len(table) - 1, frames)
    low = np.floor(at).astype(int)
    high = np.minimum(low + 1, len(table) - 1)
    return table[low] + (at - low)[:, None] * (table[high] - table[low])


def cepstra(spectrum, filters, count=14):
    """Cepstra with the loudest frame at zero; the clip's mean stays, as it tells the vowel of a short word."""
    coefficients = dct(np.log(spectrum @ filters.T + 1e-8), norm="ortho")[:, :count]
    coefficients[:, 0] -= coefficients[:, 0].max()
    return coefficients


spectra = {part: [power(clip) for clip in rows["id"]] for part, rows in (("train", train), ("validation", validation), ("test", test))}
y = train["digit"].to_numpy()
speakers = train["speaker"].to_numpy()


def sequences(part, warp, frames=22):
    """Cepstra and slopes of each clip: clips x frames x columns."""
    filters = bank(26, warp)
    rows = []
    for spectrum in spectra[part]:
        steps = stretch(cepstra(spectrum, filters, 13), frames)
        rows.append(np.hstack([steps, 2.0 * np.gradient(steps, axis=0)]))
    return np.array(rows, dtype=np.float32)


WARPS = (0.85, 1.0, 1.18)
tables = {part: {warp: sequences(part, warp) for warp in WARPS} for part in spectra}
spread = tables["train"][1.0].std(axis=(0, 1))
tables = {part: {warp: table / spread for warp, table in by_warp.items()} for part, by_warp in tables.items()}
print({part: tables[part][1.0].shape for part in tables})

# %% Alignments, many pairs at a time
import time


def distances(wanted, templates, band=4):
    """Mean distance along the best alignment of each pair, within a band around the diagonal."""
    result = np.empty((len(wanted), len(templates)), np.float32)
    frames = wanted.shape[1]
    flat = templates.reshape(-1, templates.shape[2])
    for number, clip in enumerate(wanted):
        local = np.sqrt(np.maximum((clip ** 2).sum(1)[:, None] + (flat ** 2).sum(1) - 2 * clip @ flat.T, 0))
        local = local.reshape(frames, len(templates), frames).transpose(0, 2, 1)
        before = np.full((frames + 1, len(templates)), np.inf, np.float32)
        before[0] = 0
        for i in range(frames):
            now = np.full_like(before, np.inf)
            for j in range(max(0, i - band), min(frames, i + band + 1)):
                now[j + 1] = local[i, j] + np.minimum(np.minimum(before[j], before[j + 1]), now[j])
            before = now
        result[number] = before[frames] / frames
    return result


start = time.monotonic()
distances(tables["train"][1.0][:10], tables["train"][1.0])
print(f"{(time.monotonic() - start) * 100:.0f} s for a thousand clips against {len(y)} templates")

# %% Leave out a speaker at a time
from sklearn.model_selection import GroupKFold

folds = list(GroupKFold(min(5, len(set(speakers)))).split(y, groups=speakers))
own = tables["train"][1.0]
apart = np.stack([distances(own, tables["train"][warp]) for warp in WARPS])


def vote(apart, labels, nearest=7, sharp=3.0):
    """Share of the votes of each digit among the nearest templates: warps x clips x templates in."""
    flat = np.concatenate(list(apart), axis=1)
    digits = np.tile(labels, len(apart))
    order = np.argsort(flat, axis=1)[:, :nearest]
    close = np.take_along_axis(flat, order, axis=1)
    weights = np.exp(-sharp * (close - close[:, :1]))
    votes = np.stack([(weights * (digits[order] == digit)).sum(axis=1) for digit in range(10)], axis=1)
    return votes / votes.sum(axis=1, keepdims=True)


for nearest in (1, 5, 15):
    for warps in ([1], [0, 1, 2]):
        held_out = np.zeros((len(y), 10))
        for learn, held in folds:
            held_out[held] = vote(apart[warps][:, held][:, :, learn], y[learn], nearest)
        right = held_out.argmax(axis=1) == y
        print(f"{nearest} nearest, {len(warps)} warps: accuracy {right.mean():.4f}", pd.Series(right).groupby(speakers).mean().round(3).to_dict())

# %% Hand in with fifteen neighbours at all warps
held_out = np.zeros((len(y), 10))
for learn, held in folds:
    held_out[held] = vote(apart[:, held][:, :, learn], y[learn], 15)
answers = [
    vote(np.stack([distances(tables[part][1.0], tables["train"][warp]) for warp in WARPS]), y, 15).argmax(axis=1) for part in ("validation", "test")
]
submit(*answers, held_out.argmax(axis=1))
