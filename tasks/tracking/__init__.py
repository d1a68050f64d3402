"""MLflow as a projection of the logs.

A campaign is a parent run, each attempt a child run, found by the tags `comind.campaign` and
`comind.attempt`. Whatever is written carries the number and time of the event it comes from, so writing
it again changes nothing: after a crash, or into an empty database, everything is simply written again.
What talks to MLflow is `store` alone; the other modules say what is worth keeping.

Names that hold for every agent:

    metrics of an attempt     score score_low score_high steps seconds prompt_tokens completion_tokens
                              usd calls lost_calls; of the code that was handed in: code_length
                              source_lines cyclomatic_complexity total_complexity;
                              per step: step/score step/score_low step/score_high step/seconds
                              step/failed; of the score's parts: step/part/<by>/<name>; where there are
                              out-of-fold predictions, out_of_fold and step/out_of_fold, each with
                              _low and _high
    tags of an attempt        comind.title comind.operator comind.parents comind.sandbox comind.sealed
                              comind.threads comind.failure comind.failure_message; where it came from:
                              comind.revision comind.environment comind.prompts comind.split
                              comind.split_sha256 comind.community comind.submission_sha256
                              comind.script comind.script_sha256 comind.script_proof
    artifacts of an attempt   draft.json code.py notebook.ipynb report.md log.jsonl submissions/...
                              lineage.json script.py
                              checkpoints.dvc (DVC's pointer to the published solution)
    trace of an attempt       every try of its model calls, its cells, and below a cell what the monitor
                              asked about it; tokens and dollars are those of the run; of a `Think`,
                              at the campaign's run; tags comind.campaign comind.work
    metrics of a campaign     best_score best_score_low best_score_high by number of finished attempts;
                              attempts valid_attempts gradings optimism seconds tokens usd; the tag
                              comind.tuning_warning
    artifacts of a campaign   leaderboard.csv attempts.csv compare.html environment.json
    metrics of what is followed   by number of looks: best_public_score rank percentile teams
                              public_score validation_score submissions_left notebooks discussions
                              new_items attempts slice_seconds slice_usd; tags comind.notices
                              comind.decided; found by the tag comind.following
    view of an experiment     one for each campaign, named like it: its attempts in useful columns
"""
