"""Use a project's folder: parameters, competitions, opened campaigns, reports, repair."""
