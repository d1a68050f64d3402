"""Tests of program competitions and their problems."""
