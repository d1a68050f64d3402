"""Tests of FunSearch."""
