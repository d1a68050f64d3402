"""Small competitions made from scikit-learn's datasets, for use offline.

`competitions/<demo>/` has the description, `communities/<demo>/` a community folder with notebooks and
discussions written for the demo. `recordings/<demo>/` has a language model's replies to a whole
campaign, which can be replayed without an API key.
"""
