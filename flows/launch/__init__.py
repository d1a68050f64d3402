"""Start flows: in this process, or on a schedule by a worker."""
