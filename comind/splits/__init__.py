"""Split labelled rows into public training rows and held-out validation rows with sealed answers.

split_plan     tables, columns, rule and key of a split, before any file is written
detect         infer a rule by comparing each column of train and test
rule_search    infer finer rules from the relations that separate test from train
candidates, relations, spatial, adversarial_validation   the relations and measures it compares
quality        compare a finished split with the test set, and warn of leakage
groups         group and time of each row
holdout        choose the rows that each rule holds out
near_duplicates   find files that are copies of others
twin_files     keep near-duplicates of held-out files out of train
leakage        remove held-out rows and answer files from other public files
split_files    write both parts
split_folder   paths and metadata of a split
extra_folds    further folds of a split, sealed like it
fold_vector    fold assignments for cross-validation within train.csv
"""
