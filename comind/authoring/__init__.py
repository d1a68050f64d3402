"""Generate an evaluator for a competition that names no metric (paper, appendix I.4).

A model writes `split_dataset.py` and `evaluate.py`; both are run in a sandbox and checked, repaired a
limited number of times with the failed check in the prompt, then sealed with the split.

author             the conversation with the model
trials             run and check its programs; every trial is recorded
metric_checks      checks of the scores of the second program
script_runs        one run of a program in a sandbox
generated_grader   score submissions with the sealed `evaluate.py`
"""
