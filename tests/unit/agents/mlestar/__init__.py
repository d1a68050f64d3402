"""Tests of MLE-STAR: search, chains, checks, refinement and whole campaigns."""
