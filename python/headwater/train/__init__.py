"""Train a classifier of addresses on labels of your own, and swap it in.

>>> import headwater as hw  # doctest: +SKIP
>>> from headwater import train  # doctest: +SKIP
>>> ledger = hw.open("store")  # doctest: +SKIP
>>> examples = train.examples(ledger, labels)  # columns `address` and `class`  # doctest: +SKIP
>>> model = train.fit(examples, chain="ethereum", version="mine-1")  # doctest: +SKIP
>>> print(model.evaluation.table())  # cross-validated, entities kept together  # doctest: +SKIP
>>> model.save("mine.json.gz")  # doctest: +SKIP
>>> hw.open("store", classifiers=["mine.json.gz"]).classify("0x…", blockchain="ethereum")  # doctest: +SKIP

A model can learn how its data was collected in the place of how addresses behave. Three things here work against that:
:data:`FEATURES` leaves out what grows with the number of rows at hand, :func:`examples` adds views of each address as if
only some of its counterparties had been observed, and :func:`cross_validate` keeps the addresses of one entity together.
What it cannot see is whether the classes themselves were collected differently: compare with a model that knows nothing
else, ``train.cross_validate(examples, train.SIZE_FEATURES)``.

Needs ``pip install headwater[train]`` (LightGBM).
"""

from headwater.train._evaluate import Evaluation
from headwater.train._examples import FEATURES, SIZE_FEATURES, examples
from headwater.train._export import export
from headwater.train._fit import Model, boosted, cross_validate, fit, predict

__all__ = [
    "FEATURES",
    "SIZE_FEATURES",
    "Evaluation",
    "Model",
    "boosted",
    "cross_validate",
    "examples",
    "export",
    "fit",
    "predict",
]
