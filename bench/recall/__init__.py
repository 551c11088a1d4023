"""Recall: how well the right turns are found; run as `python -m bench.recall`.

Data for choices: the figures of `canonry.values.policy.RankingWeights` were chosen on the first
episode of `crd3` (its summary chunks, and their single sentences), on `tuning.json` and on
`dated.json`. The second episode, `heldout.json` and `dated-kept.json` are there to report on: no
figure was changed because of them. `remedies` tells what each part of the ranking gives,
`languages` what models make of questions in six languages, `public` measures sets in files.
`heldout-slips` is made from `heldout`: each question with its longest word wrong at the beginning.
"""
