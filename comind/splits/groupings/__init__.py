"""The kinds of grouping, one a file; `comind.splits.grouping` finds them."""
