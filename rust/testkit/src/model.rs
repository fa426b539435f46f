//! A classifier by hand.

use headwater_types::Chain;

/// The file of a small model of a chain: many movements in speak for an `Exchange`, movements in above all for a
/// `Scam`, and few movements out a `Deposit`.
#[must_use]
pub fn model(chain: Chain) -> String {
    format!(
        r#"{{
  "format": "headwater-classifier/1", "chain": "{chain}", "version": "by hand", "features_version": 1,
  "features": ["in_count", "out_count", "in_ratio"],
  "classes": ["Exchange", "Scam", "Deposit"],
  "priors": [0.25, 0.25, 0.5],
  "calibration": {{"temperature": 0.5, "offsets": [0.0, 0.5, 0.0]}},
  "initial": [0.0, 0.0, 0.5],
  "trees": {{
    "class": [0, 1, 2], "nodes": [1, 1, 1], "feature": [0, 2, 1], "threshold": [20.0, 0.6, 3.0],
    "left": [-1, -1, -1], "right": [-2, -2, -2], "missing_left": [1, 1, 1], "node_cover": [40.0, 40.0, 40.0],
    "leaf": [-1.0, 3.0, -1.0, 1.5, 1.0, -1.0], "leaf_cover": [30.0, 10.0, 20.0, 20.0, 10.0, 30.0]
  }},
  "card": {{"purpose": "tests"}}
}}"#
    )
}
