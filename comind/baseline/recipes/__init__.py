"""Recipes of the baseline: modules that are bundled into self-contained programs.

A recipe defines `predict(task, tables)`, which returns the target columns of validation and of test. The
other modules are shared by recipes.

A module here only imports, defines and assigns, and imports nothing else of comind, which is not
installed where programs run. A program contains its modules in one namespace, so no two of them may bind
the same name. `comind.baseline.bundle` rejects modules that break these rules.
"""
