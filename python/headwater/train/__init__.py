"""Train a classifier of addresses on your own labels, judge it, and use it in place of the built-in one.

>>> import headwater as hw  # doctest: +SKIP
>>> from headwater import train  # doctest: +SKIP
>>> ledger = hw.open("store")  # doctest: +SKIP
>>> examples = train.examples(ledger, labels)  # columns `address` and `class`  # doctest: +SKIP
>>> model = train.fit(examples, chain="ethereum", version="mine-1")  # doctest: +SKIP
>>> print(model.evaluation.table())  # cross-validated, entities kept together  # doctest: +SKIP
>>> model.save("mine.json.gz")  # doctest: +SKIP
>>> hw.open("store", classifiers=["mine.json.gz"]).classify("0x…", blockchain="ethereum")  # doctest: +SKIP

A model can learn how its data was collected instead of how addresses behave. Three things work against that:
:data:`FEATURES` leaves out features that grow with the number of collected transfers, :func:`examples` adds views of
each address as if only some of its counterparties had been observed, and :func:`cross_validate` keeps the addresses of
one entity together. None of them notices that the classes were collected in different ways: compare with a model that
sees the amount of data alone, ``train.cross_validate(examples, train.SIZE_FEATURES)``.

Needs LightGBM, NumPy and SciPy: ``pip install 'headwater[train]'``. ``docs/training.md`` is an introduction.
"""

try:
    import numpy as _  # noqa: F401
except ImportError as error:
    message = "headwater.train needs NumPy, LightGBM and SciPy: pip install 'headwater[train]'"
    raise ImportError(message) from error

from headwater.train._boost import boosted
from headwater.train._evaluate import Evaluation
from headwater.train._examples import FEATURES, FORM_FEATURES, SIZE_FEATURES, UTXO_FEATURES, examples
from headwater.train._export import export
from headwater.train._fit import Model, fit
from headwater.train._validate import cross_validate, predict

__all__ = [
    "FEATURES",
    "FORM_FEATURES",
    "SIZE_FEATURES",
    "UTXO_FEATURES",
    "Evaluation",
    "Model",
    "boosted",
    "cross_validate",
    "examples",
    "export",
    "fit",
    "predict",
]
