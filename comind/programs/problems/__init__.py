"""Problems of program competitions: a folder each, of files that stand alone."""
