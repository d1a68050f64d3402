"""MLE-Live: a past competition lived through in time, and served as Kaggle would serve it."""
