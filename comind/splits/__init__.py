"""Split labelled rows into public training rows and held-out validation rows with sealed answers.

split_plan     tables, columns, rule and key of a split, before any file is written
rule           what each kind of rule holds out, and its folds (shuffling, times)
grouping, groupings   which rows belong together, by each value of `by`
search         find the rule that separated test from train
pooled_rows, relations, time_order, adversarial_validation   the relations and measures it compares
quality        compare a finished split with the test set, and warn of leakage
near_duplicates   find files that are copies of others
twin_files     keep near-duplicates of held-out files out of train
leakage        remove held-out rows and answer files from other public files
split_files    write both parts
split_folder   paths and metadata of a split
extra_folds    further folds of a split, sealed like it, and the file of those within train.csv
rule_folds     folds for cross-validation within train.csv, for scikit-learn
"""
