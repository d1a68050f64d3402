"""Part the labelled rows: most of them stay public, the labels of the rest are sealed.

plan      what is decided before a file is written
detect    which rule a plain look at each column gives, where the folder names none
imitate   which finer rule does to validation rows what was done to the test rows
candidates, relations, nearness, adversary   what these two are told from
standing  how a finished split stands to the test set: how sure it is, where validation is easier
groups    what makes rows one group
rules     which rows each rule holds back
side      other public files that would give labels away
answer_files   which of them belong to held-back rows alone
seal      the files of both parts
folder    where they lie
"""
