"""An evaluator that a model wrote: trusted only after it has passed every check, then frozen.

For a competition whose metric nobody has named, two programs are written (paper, appendix I.4):

    split_dataset.py --input_dir IN --public_dir PUBLIC --private_dir PRIVATE
    evaluate.py --private_dir PRIVATE --pred FILE --report FILE

report          what `evaluate.py` answers
split_checks    what is made sure of before the first program's choice of rows is used
metric_checks   what is made sure of before the second one's scores are used
plan            the split of such a competition; its files are written by our own code all the same
"""
