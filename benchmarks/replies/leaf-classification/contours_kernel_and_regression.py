# Kernel and regression on vectors and contours, averaged
#
# Builds on kernel_on_contours: the measures of the pictures join the given vectors, and beside the kernel ridge scores a
# multinomial regression on the same columns is fitted. The two are averaged as log probabilities and sharpened by
# one power that is found out of fold.

# %% Measure the pictures
from PIL import Image
from scipy import ndimage
from scipy.spatial import ConvexHull

FOLDER = "input/leaf-classification/images"


def measures(leaf):
    """Return size, form and the spectrum of the contour of one picture."""
    picture = np.asarray(Image.open(f"{FOLDER}/{leaf}.png").convert("L")) > 127
    labels, count = ndimage.label(picture)
    if count > 1:
        picture = labels == 1 + np.argmax(np.bincount(labels.ravel())[1:])
    height, width = picture.shape
    area = picture.sum()
    points = np.argwhere(picture & ~ndimage.binary_erosion(picture))
    offset = points - np.argwhere(picture).mean(axis=0)
    angle, radius = np.arctan2(offset[:, 0], offset[:, 1]), np.hypot(*offset.T)
    bins = np.floor((angle + np.pi) / (2 * np.pi) * 128).astype(int).clip(0, 127)
    outline = pd.Series(radius).groupby(bins).max().reindex(range(128)).interpolate(limit_direction="both").to_numpy()
    spectrum = np.abs(np.fft.rfft(outline / outline.mean()))[1:25]
    return [
        np.log(area), np.log(height), np.log(width), np.log(width / height), area / ConvexHull(points).volume, area / (height * width),
        np.log(len(points) ** 2 / area), radius.std() / radius.mean(), *np.log(spectrum + 0.1),
    ]


parts = {"train": train, "validation": validation, "test": test}
pictures = {part: np.array([measures(leaf) for leaf in rows["id"]]) for part, rows in parts.items()}
print({part: table.shape for part, table in pictures.items()})

# %% Kernel ridge scores and a regression on the same columns
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

species = [name for name in pd.read_csv("input/leaf-classification/sample_submission.csv", nrows=0) if name != "id"]
y = train["species"].map({name: number for number, name in enumerate(species)}).to_numpy()
columns = [name for name in train if name not in ("id", "species")]
folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(y, y))
given = {part: np.sqrt(np.maximum(rows[columns].to_numpy(), 0)) for part, rows in parts.items()}
scalers = [StandardScaler().fit(table["train"]) for table in (given, pictures)]
tables = {part: np.hstack([scalers[0].transform(given[part]), 2.0 * scalers[1].transform(pictures[part])]) for part in parts}
X = tables["train"]


def kernel(learn, wanted, width=1e-3):
    wished = 2.0 * np.eye(len(species))[y[learn]] - 1.0
    dual = np.linalg.solve(rbf_kernel(X[learn], gamma=width) + 0.01 * np.eye(len(learn)), wished)
    return log_softmax(22 * rbf_kernel(wanted, X[learn], gamma=width) @ dual, axis=1)


def regression(learn, wanted):
    return LogisticRegression(C=30, max_iter=300, tol=1e-3).fit(X[learn], y[learn]).predict_log_proba(wanted)


held_out = np.zeros((2, len(y), len(species)))
for learn, held in folds:
    held_out[:, held] = kernel(learn, X[held]), regression(learn, X[held])
for name, logs in zip(("kernel", "regression"), held_out):
    print(name, "log loss", round(log_loss(y, np.exp(logs)), 5), "accuracy", (logs.argmax(axis=1) == y).mean().round(4))

# %% Average, sharpen, hand in
def mix(logs, share, power):
    return softmax(power * (share * logs[0] + (1 - share) * logs[1]), axis=1)


found = {(share, power): log_loss(y, mix(held_out, share, power)) for share in (0.3, 0.5, 0.7, 0.9) for power in (0.8, 1.0, 1.25, 1.5, 2.0)}
share, power = min(found, key=found.get)
print(f"share of the kernel {share}, power {power}: log loss {found[share, power]:.5f}")
everything = np.arange(len(y))
answers = [mix((kernel(everything, tables[part]), regression(everything, tables[part])), share, power) for part in ("validation", "test")]
print("least confident rows of test:", np.sort(answers[1].max(axis=1))[:5].round(3))
submit(*answers, mix(held_out, share, power), final=True)
