"""Competitions whose submissions are programs, which are run on instances and scored.

problem_files      the files of a problem's folder, ours or CO-Bench's, and its instances
public_code        what agents see of a problem's code
program_split      development instances for agents; sealed ones for validation, further folds and test
program_runs       programs and scorers, each in a sandbox of its own
means              mean scores over instances of several cases
program_grader     the grader of campaigns
program_answers    scores on the test instances
inside             what runs in these sandboxes
"""
