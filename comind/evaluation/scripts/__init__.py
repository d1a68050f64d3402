"""Check generated evaluators before they are trusted.

For a competition that names no metric, a model writes two programs (paper, appendix I.4):

    split_dataset.py --input_dir IN --public_dir PUBLIC --private_dir PRIVATE
    evaluate.py --private_dir PRIVATE --pred FILE --report FILE

split_checks     checks of the rows that the first program holds out
metric_checks    checks of the scores of the second one
generated_plan   the split by the checked programs; comind writes its files itself
"""
