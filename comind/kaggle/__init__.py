"""Kaggle, through its official client; the only package that reads its credentials."""
