"""Scripts that run in sandboxes; they import the standard library, and each other."""
