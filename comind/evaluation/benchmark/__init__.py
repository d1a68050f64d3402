"""MLE-bench's competitions, and their judgement as Kaggle states it or as MLE-bench computes it.

Here belongs what is known of the 75 competitions as data, how their answers are read, and how a
submission to one of them is graded and reported. What a metric is lives in `metrics`; nothing here
knows a campaign.
"""
