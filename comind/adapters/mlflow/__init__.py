"""Project logs to MLflow.

A campaign is a parent run, each attempt a child run, found by the tags `comind.campaign` and
`comind.attempt`. Metrics carry step and time of their event, so that writes are idempotent: after a
crash, or into an empty database, everything is written again. Only `store` imports MLflow.

Names that all agents share:

    metrics of an attempt     score score_low score_high steps seconds prompt_tokens completion_tokens
                              usd calls lost_calls; of the submission's code: code_length
                              source_lines cyclomatic_complexity total_complexity comment_lines
                              halstead_volume halstead_difficulty halstead_effort;
                              per step: step/score step/score_low step/score_high step/seconds
                              step/failed; of the score's parts: step/part/<by>/<name>; where there are
                              out-of-fold predictions, out_of_fold and step/out_of_fold, of steps on
                              the sample step/sample_score, each with _low and _high; of a program's
                              metrics.jsonl: training/<name>; of its session:
                              system/cores_used system/memory_usage_megabytes
                              system/gpu_utilization_percentage system/gpu_memory_usage_megabytes
    tags of an attempt        comind.title comind.operator comind.parents comind.sandbox comind.sealed
                              comind.threads comind.failure comind.failure_message comind.rejected;
                              of its lineage:
                              comind.revision comind.environment comind.prompts comind.split
                              comind.split_sha256 comind.community comind.submission_sha256
                              comind.script comind.script_sha256 comind.script_proof
    artifacts of an attempt   draft.json code.py notebook.ipynb report.md log.jsonl submissions/...
                              lineage.json script.py
                              checkpoints.dvc (DVC's pointer to the published solution)
    trace of an attempt       spans of its requests to models and of its cells, the monitor's requests
                              below their cell; tokens and dollars are those of the run; the trace of a
                              `Think` belongs to the campaign's run; tags comind.campaign comind.work
    metrics of a campaign     best_score best_score_low best_score_high by number of finished attempts;
                              validation_score validation_score_low validation_score_high of what is
                              delivered, as soon as a step is scored; expected_score on other rows;
                              true_score of `comind report`; attempts valid_attempts gradings
                              revealed_bits optimism seconds tokens usd
    tags of a campaign        comind.choice comind.ended comind.tuning_warning comind.prefect_run
                              comind.folds comind.blend comind.picked comind.pick_reason
    artifacts of a campaign   leaderboard.csv attempts.csv campaign.html environment.json
                              checks/... (expectations on the tables, their result and its page)
    metrics of a followed     by number of observations: best_public_score rank percentile teams
    competition               public_score validation_score submissions_left notebooks discussions
                              new_items attempts slice_seconds slice_usd final_private_score
                              final_rank final_percentile; the tag comind.notices; the table
                              decisions.json; found by the tag comind.following
    registered model          comind-<competition>: a version for each delivered solution that predicts
                              other rows, with the alias champion; tag comind.gate of a version: its
                              comparison with the champion; tag comind.model_version of a campaign
"""
