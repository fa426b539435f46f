"""A classifier whose answers are worked out by hand."""

from __future__ import annotations

from typing import Any

# Of three classes by hand: many movements in, movements in above all, few movements out.
MODEL: dict[str, Any] = {
    "format": "headwater-classifier/1",
    "chain": "ethereum",
    "version": "by hand",
    "features_version": 1,
    "features": ["in_count", "out_count", "in_ratio"],
    "classes": ["Exchange", "Scam", "Deposit"],
    "priors": [0.25, 0.25, 0.5],
    "calibration": {"temperature": 0.5, "offsets": [0.0, 0.5, 0.0]},
    "initial": [0.0, 0.0, 0.5],
    "trees": {
        "class": [0, 1, 2],
        "nodes": [1, 1, 1],
        "feature": [0, 2, 1],
        "threshold": [20.0, 0.6, 3.0],
        "left": [-1, -1, -1],
        "right": [-2, -2, -2],
        "missing_left": [1, 1, 1],
        "node_cover": [40.0, 40.0, 40.0],
        "leaf": [-1.0, 3.0, -1.0, 1.5, 1.0, -1.0],
        "leaf_cover": [30.0, 10.0, 20.0, 20.0, 10.0, 30.0],
    },
    "card": {"purpose": "tests"},
}
