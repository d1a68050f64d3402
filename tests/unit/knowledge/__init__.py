"""Tests of knowledge bases."""
