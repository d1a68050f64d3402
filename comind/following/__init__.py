"""Follow a live competition day by day: observe it, run a campaign, submit, and record the standing.

day              one run, from the observation to the standing
events           events of the log
state            the log of a followed competition, and the state it folds to
decide           decide whether the best solution is worth one of the day's submissions
submission       submit exactly once, and reconcile with Kaggle's list of submissions
final_selection  select the two submissions that count at the end
shared_limits    divide daily limits among followed competitions
history          the log by day, and each event as a line
report           status and days as sections, for any format
"""
