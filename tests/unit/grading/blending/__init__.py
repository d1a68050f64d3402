"""Blends: averages, selection and cross-fitting."""
