"""Programs that scripted models write."""

__all__ = ["LINEAR", "SAMPLE"]

SAMPLE = """
import shutil
from pathlib import Path

[folder] = [path.parent for path in Path('input').glob('*/train.csv')]
shutil.copy(folder / 'sample_validation_submission.csv', 'validation_submission.csv')
shutil.copy(folder / 'sample_submission.csv', 'submission.csv')
"""
"""Submits the samples."""

LINEAR = """
from pathlib import Path
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

[folder] = [path.parent for path in Path('input').glob('*/train.csv')]
parts = ('train', 'validation', 'test')
train, validation, test = (pd.read_csv(folder / f'{part}.csv') for part in parts)
name, target = pd.read_csv(folder / 'sample_submission.csv', nrows=0).columns
features = [c for c in test if c != name and pd.api.types.is_numeric_dtype(test[c])]
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
model.fit(train[features].fillna(0), train[target])
print('train accuracy', model.score(train[features].fillna(0), train[target]))
for rows, file in ((validation, 'validation_submission.csv'), (test, 'submission.csv')):
    rows[[name]].assign(**{target: model.predict(rows[features].fillna(0))}).to_csv(file, index=False)
"""
"""A logistic regression on the numeric columns; prints its accuracy on training rows."""
