"""Kaggle itself, reached through its official client alone; credentials are read nowhere else."""
