# Images: a small convolutional network on shrunken pictures; the more there are, the fewer its rounds.
import torch
from PIL import Image
from torch import nn

SIDE = 32
LOSSES = {"classes": nn.CrossEntropyLoss, "sets": nn.BCEWithLogitsLoss, "numbers": nn.MSELoss}
ROUNDS = int(np.clip(50_000 / len(train), 2, 40))
torch.manual_seed(SEED)
torch.set_num_threads(1)  # on pictures this small, threads wait for each other more than they work


def pixels(paths):
    """Return pictures of one size, shape (rows, 3, SIDE, SIDE); a row without a file is black."""
    pictures = np.zeros((len(paths), 3, SIDE, SIDE), dtype=np.float32)
    for row, path in enumerate(paths):
        if path is not None:
            with Image.open(path) as image:
                image.draft("RGB", (2 * SIDE, 2 * SIDE))  # read no more of a large JPEG than is used
                small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
            pictures[row] = np.asarray(small, dtype=np.float32).transpose(2, 0, 1) / 127.5 - 1
    return torch.from_numpy(pictures).contiguous(memory_format=torch.channels_last)


def network(outputs):
    layers = []
    for before, after in ((3, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if before == after else []
    head = [nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64 * 9, outputs)]
    return nn.Sequential(*layers, *head).to(memory_format=torch.channels_last)


class Net:
    """A network with scikit-learn's interface, for "classes", "sets" of labels or "numbers"."""

    def __init__(self, kind):
        self.kind = kind

    def fit(self, x, y):
        y = np.asarray(y)
        if self.kind == "classes":
            self.classes_, y = np.unique(y, return_inverse=True)
        elif self.kind == "numbers":
            self.mean, self.scale, self.shape = y.mean(axis=0), y.std(axis=0) + 1e-9, y.shape[1:]
            y = ((y - self.mean) / self.scale).reshape(len(y), -1)
        self.net = network(len(self.classes_) if self.kind == "classes" else y.shape[1])
        y = torch.as_tensor(y, dtype=torch.int64 if self.kind == "classes" else torch.float32)
        loss = LOSSES[self.kind]()
        batch = int(np.clip(len(x) // 30, 16, 128))
        optimiser = torch.optim.AdamW(self.net.parameters(), weight_decay=0.02)
        steps = ROUNDS * -(-len(x) // batch)
        plan = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=4e-3, total_steps=steps)
        for rows in (rows for _ in range(ROUNDS) for rows in torch.randperm(len(x)).split(batch)):
            if len(rows) > 1:  # a batch of one has no spread to normalise by
                moved = np.random.randint(-2, 3, 2).tolist()  # so that no place is learned by heart
                optimiser.zero_grad()
                loss(self.net(torch.roll(x[rows], moved, (2, 3))), y[rows]).backward()
                optimiser.step()
            plan.step()
        self.net.eval()
        return self

    def outputs(self, x):
        with torch.no_grad():
            return torch.cat([self.net(part) for part in x.split(256)])

    def predict_proba(self, x):
        return (torch.sigmoid if self.kind == "sets" else nn.Softmax(1))(self.outputs(x)).numpy()

    def predict(self, x):
        if self.kind == "classes":
            return self.classes_[self.outputs(x).argmax(dim=1).numpy()]
        return self.mean + self.scale * self.outputs(x).numpy().reshape(-1, *self.shape)


paths = side_files((".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp"))
x, *parts = (pixels(each) for each in paths)
hand_in(answers(lambda: Net("classes"), lambda: Net("numbers"), x, parts, lambda: Net("sets")))
