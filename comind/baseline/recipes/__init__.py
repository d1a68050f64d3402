"""The recipes: ordinary modules, each of which becomes a program with all that it imports from here.

A recipe has `predict(task, tables)`, which returns the target columns of validation and of test. The
others are what recipes share: `task`, `tables`, `scale`, `answers` and `files`.

A module here only imports, defines and assigns, and imports nothing else of comind, which is not there
where programs run. A program has the names of its modules side by side, so no two modules of one may
bind the same name. `comind.baseline.bundle` refuses whatever breaks this.
"""
