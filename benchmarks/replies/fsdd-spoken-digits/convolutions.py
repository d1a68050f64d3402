# A small convolutional net on log mel pictures of warped voices
#
# Pictures of 32 bands and 32 frames, normalised per band, at several warps of the frequency axis; shifts in time and masks
# vary them further. Three layers of convolutions, a short training with a falling rate;
# two seeds are averaged for what is handed in.

# %% Pictures of all clips
import time

import torch
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
    """Cepstra without the first, with mean and scale of the clip taken out."""
    logs = np.log(spectrum @ filters.T + 1e-8)
    coefficients = dct(logs, norm="ortho")[:, :count]
    return (coefficients - coefficients.mean(axis=0)) / (coefficients.std(axis=0) + 0.3)


spectra = {part: [power(clip) for clip in rows["id"]] for part, rows in (("train", train), ("validation", validation), ("test", test))}
y = train["digit"].to_numpy()
speakers = train["speaker"].to_numpy()

torch.set_num_threads(1)
WARPS = (0.84, 0.92, 1.0, 1.09, 1.18)


def pictures(part, warp, frames=32):
    filters = bank(32, warp)
    rows = []
    for spectrum in spectra[part]:
        logs = stretch(np.log(spectrum @ filters.T + 1e-6), frames)
        rows.append((logs - logs.mean()) / (logs.std() + 1e-3))
    return torch.tensor(np.array(rows), dtype=torch.float32)[:, None]


tables = {part: torch.stack([pictures(part, warp) for warp in WARPS]) for part in spectra}
labels = torch.tensor(y)
print({part: tuple(table.shape) for part, table in tables.items()})

# %% The net, and one left-out speaker
def layer(ins, outs):
    return [torch.nn.Conv2d(ins, outs, 3, padding=1), torch.nn.BatchNorm2d(outs), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]


def fit_and_predict(learn, wanted, seed, epochs=12):
    """Probabilities of the digits for pictures (warps x clips), averaged over the three middle warps."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(
        *layer(1, 12), *layer(12, 24), *layer(24, 32), torch.nn.Flatten(), torch.nn.Dropout(0.4), torch.nn.Linear(32 * 16, 10)
    )
    optimizer = torch.optim.AdamW(net.parameters(), lr=6e-3, weight_decay=0.02)
    learn = torch.as_tensor(learn)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=epochs * -(-2 * len(learn) // 64))
    for _ in range(epochs):
        for batch in torch.cat([torch.randperm(len(learn)), torch.randperm(len(learn))]).split(64):
            rows = learn[batch]
            shown = tables["train"][torch.randint(len(WARPS), (len(rows),)), rows].clone()
            shown = torch.roll(shown, int(torch.randint(-3, 4, ())), dims=2)
            at = int(torch.randint(0, 28, ()))
            shown[:, :, :, at : at + 4] = 0
            loss = torch.nn.functional.cross_entropy(net(shown), labels[rows], label_smoothing=0.05)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    net.eval()
    with torch.no_grad():
        return torch.stack([torch.softmax(net(wanted[warp]), dim=1) for warp in (1, 2, 3)]).mean(dim=0).numpy()


from sklearn.model_selection import GroupKFold

folds = list(GroupKFold(min(5, len(set(speakers)))).split(y, groups=speakers))
start = time.monotonic()
learn, held = folds[0]
part = fit_and_predict(learn, tables["train"][:, held], seed=0)
print(f"{speakers[held][0]} left out: accuracy {(part.argmax(axis=1) == y[held]).mean():.4f}, {time.monotonic() - start:.1f} s")

# %% All left-out speakers, then hand in
held_out = np.zeros((len(y), 10))
for learn, held in folds:
    held_out[held] = fit_and_predict(learn, tables["train"][:, held], seed=0)
right = held_out.argmax(axis=1) == y
print(f"accuracy {right.mean():.4f}", pd.Series(right).groupby(speakers).mean().round(3).to_dict())
both = torch.cat([tables["validation"], tables["test"]], dim=1)
digits = np.mean([fit_and_predict(np.arange(len(y)), both, seed) for seed in (0, 1)], axis=0).argmax(axis=1)
submit(digits[: len(validation)], digits[len(validation):], held_out.argmax(axis=1))
