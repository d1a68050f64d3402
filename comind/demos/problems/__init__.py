"""Problems of program competitions, one folder each; their files are standalone programs and data."""
