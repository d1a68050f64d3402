"""Solve a competition without a language model, by programs from recipes.

They are a reference score, a smoke test and code to start from. Here belongs which program suits which
data, how it is bundled from the modules of `recipes`, and these modules. Running programs does not.
"""
