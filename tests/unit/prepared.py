"""Competition folders as MLE-bench prepares them."""

from pathlib import Path


def prepared_images(root: Path) -> Path:
    """Write a competition of images as MLE-bench prepares it; returns DATA/ID."""
    public = root / "aerial-cactus-identification" / "prepared" / "public"
    public.mkdir(parents=True)
    (public / "train.csv").write_text("id,has_cactus\na.jpg,1\nb.jpg,0\n")
    (public / "sample_submission.csv").write_text("id,has_cactus\nc.jpg,0.5\n")
    (public.parent / "private").mkdir()
    (public.parent / "private" / "test.csv").write_text("id,has_cactus\nc.jpg,1\n")
    return public.parent.parent
