"""Tests of AutoMind: tree, plans, adaptive coding and whole campaigns."""
