"""Recall: how well the right turns are found; run as `python -m bench.recall`.

What was chosen on what: the figures of `canonry.domain.policy.RankingWeights` were chosen on the
first episode of `crd3` (its summary chunks, and their single sentences) and on `tuning.json`. The
second episode and `heldout.json` are there to report on: no figure was changed because of them.
`heldout-slips` is made from `heldout`: each question with its longest word wrong at the beginning.
"""
