"""MLE-Live: replay a past competition in simulated time, and serve it through Kaggle's API."""
