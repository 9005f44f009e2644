"""The paper's experiments as data, and a program that runs them again on public names only.

``make reproduce ARGS="figure-1a --runs 50"``, or ``python -m reproduction`` in this clone.
"""
