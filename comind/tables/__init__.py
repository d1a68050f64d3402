"""Read and write tables of text; nothing here knows a competition or a metric."""
