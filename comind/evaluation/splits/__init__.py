"""Part the labelled rows: most of them stay public, the labels of the rest are sealed.

plan      what is decided before a file is written
detect    which rule fits, where the folder names none
rules     which rows each rule holds back
side      other public files that would give labels away
answer_files   which of them belong to held-back rows alone
seal      the files of both parts
folder    where they lie
"""
