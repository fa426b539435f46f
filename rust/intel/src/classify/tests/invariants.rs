//! Laws that hold for every model and row.

use std::num::NonZeroU64;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Model, UNKNOWN};
use super::parse;

const FEATURES: usize = 4;

/// A split of one leaf into two: which leaf, on which feature, at what threshold, and where missing values go.
type Split = (prop::sample::Index, usize, f64, u8);

/// A tree: its class, splits, values of leaves, rows in leaves.
type Tree = (u32, Vec<Split>, Vec<f64>, Vec<u32>);

fn tree() -> impl Strategy<Value = Tree> {
    let split = (any::<prop::sample::Index>(), 0..FEATURES, -3..=3_i32, 0..=1_u8)
        .prop_map(|(leaf, feature, threshold, missing)| (leaf, feature, f64::from(threshold), missing));
    (0..3_u32, prop::collection::vec(split, 0..12)).prop_flat_map(|(class, splits)| {
        let leaves = splits.len() + 1;
        let values = prop::collection::vec(-2.0..2.0_f64, leaves);
        (Just(class), Just(splits), values, prop::collection::vec(1..50_u32, leaves))
    })
}

fn rows() -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![4 => (-4..=4_i32).prop_map(f64::from), 4 => -4.0..4.0_f64, 1 => Just(f64::NAN)];
    prop::collection::vec(prop::collection::vec(value, FEATURES), 0..80).prop_map(|rows| rows.concat())
}

/// Grows trees as `LightGBM` numbers them: a split leaf keeps its number on the left, and a new one is on the right.
fn model(trees: &[Tree], temperature: f64) -> Model {
    let mut flat = json!({"class": [], "nodes": [], "feature": [], "threshold": [], "left": [], "right": [],
        "missing_left": [], "node_cover": [], "leaf": [], "leaf_cover": []});
    let mut push = |key: &str, value: Value| flat[key].as_array_mut().unwrap().push(value);
    for (class, splits, values, covers) in trees {
        push("class", json!(class));
        push("nodes", json!(splits.len()));
        let mut children: Vec<[i32; 2]> = Vec::new();
        let leaf = |number: usize| -1 - i32::try_from(number).unwrap();
        for (node, (which, ..)) in splits.iter().enumerate() {
            let old = leaf(which.index(node + 1));
            if let Some(place) = children.iter_mut().flatten().find(|child| **child == old) {
                *place = i32::try_from(node).unwrap();
            }
            children.push([old, leaf(node + 1)]);
        }
        let mut node_covers = vec![0; splits.len()];
        for node in (0..splits.len()).rev() {
            let cover = |child: i32| match usize::try_from(child) {
                Ok(node) => node_covers[node],
                Err(_) => covers[usize::try_from(-1 - child).unwrap()],
            };
            node_covers[node] = children[node].map(cover).iter().sum();
        }
        for (node, (_, feature, threshold, missing)) in splits.iter().enumerate() {
            push("feature", json!(feature));
            push("threshold", json!(threshold));
            push("missing_left", json!(missing));
            push("left", json!(children[node][0]));
            push("right", json!(children[node][1]));
            push("node_cover", json!(node_covers[node]));
        }
        for (value, cover) in values.iter().zip(covers) {
            push("leaf", json!(value));
            push("leaf_cover", json!(cover));
        }
    }
    parse(&json!({
        "format": "headwater-classifier/1", "chain": "tron", "version": "random", "features_version": 1,
        "features": ["a", "b", "c", "d"], "classes": ["Exchange", "Scam", "Unknown"], "priors": [0.3, 0.3, 0.4],
        "calibration": {"temperature": temperature, "offsets": [0.5, 0.0, -0.5]}, "initial": [0.1, 0.2, 0.3],
        "trees": flat, "card": {},
    }))
}

/// The mean score of a class when the features of a set (as bits) are known: the definition that `TreeSHAP` speeds up.
fn mean(trees: &[Tree], class: u32, row: &[f64], known: usize) -> f64 {
    let of = |(_, splits, values, covers): &Tree| {
        // Weights of rows that arrive at each leaf; a split moves those that go right to the new leaf. Rows in a leaf
        // while the tree grows are those of all final leaves that come out of it.
        let origin: Vec<usize> = splits.iter().enumerate().map(|(node, split)| split.0.index(node + 1)).collect();
        let rows_at = |leaf: usize, step: usize| -> f64 {
            (0..values.len())
                .filter(|&last| {
                    let mut at = last;
                    while at > step {
                        at = origin[at - 1];
                    }
                    at == leaf
                })
                .map(|last| f64::from(covers[last]))
                .sum()
        };
        let mut weights = vec![0.0; values.len()];
        weights[0] = 1.0;
        for (node, (_, feature, threshold, missing)) in splits.iter().enumerate() {
            let (old, new) = (origin[node], node + 1);
            let is_left = row[*feature] <= *threshold || (row[*feature].is_nan() && *missing == 1);
            let left = match known >> feature & 1 {
                1 => f64::from(u8::from(is_left)),
                _ => rows_at(old, node + 1) / (rows_at(old, node + 1) + rows_at(new, node + 1)),
            };
            weights[new] = weights[old] * (1.0 - left);
            weights[old] *= left;
        }
        weights.iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>()
    };
    trees.iter().filter(|tree| tree.0 == class).map(of).sum()
}

fn is_near(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn probabilities_sum_to_one_and_many_rows_equal_single_rows(
        trees in prop::collection::vec(tree(), 0..20), rows in rows(), temperature in 0.01..10.0_f64,
    ) {
        let model = model(&trees, temperature);
        let all = model.probabilities_of_rows(&rows);
        prop_assert_eq!(all.len(), rows.len() / FEATURES * 3);
        for (row, all) in rows.chunks(FEATURES).zip(all.chunks(3)) {
            let single = model.probabilities(row);
            prop_assert!(single.iter().all(|p| (0.0..=1.0).contains(p)));
            prop_assert!(is_near(single.iter().sum(), 1.0));
            prop_assert!(single.iter().zip(all).all(|(one, other)| one.to_bits() == other.to_bits()));
        }
    }

    #[test]
    fn contributions_are_shapley_values_and_sum_to_the_score(
        trees in prop::collection::vec(tree(), 0..6), rows in rows(),
    ) {
        let model = model(&trees, 1.0);
        for row in rows.chunks(FEATURES).take(3) {
            let raw = model.raw_scores(row);
            for class in 0..3_u8 {
                let parts = model.contributions(row, usize::from(class));
                let expected = model.expected_score(usize::from(class));
                prop_assert!(is_near(parts.iter().sum::<f64>() + expected, raw[usize::from(class)]));
                let means: Vec<f64> = (0..16).map(|known| mean(&trees, class.into(), row, known)).collect();
                for (feature, part) in parts.iter().enumerate() {
                    // |S|! (3 - |S|)! / 4! for sets of 0 to 3 of the other features.
                    let orders = [1.0 / 4.0, 1.0 / 12.0, 1.0 / 12.0, 1.0 / 4.0];
                    let without = (0..16_usize).filter(|known| known >> feature & 1 == 0);
                    let shapley: f64 = without
                        .map(|known| orders[known.count_ones() as usize] * (means[known | 1 << feature] - means[known]))
                        .sum();
                    prop_assert!(is_near(*part, shapley), "feature {feature}: {part} is not {shapley}");
                }
            }
        }
    }

    #[test]
    fn verdicts_are_shares_with_a_class(
        trees in prop::collection::vec(tree(), 0..20), row in prop::collection::vec(-4.0..4.0_f64, FEATURES),
        transfers in 1..40_u64,
    ) {
        let model = model(&trees, 0.5);
        let verdict = model.verdict(&row, NonZeroU64::new(transfers).unwrap());
        prop_assert!((0.0..=1.0).contains(&verdict.confidence));
        prop_assert!(is_near(verdict.probabilities.iter().sum(), 1.0));
        let most = verdict.probabilities.iter().copied().fold(0.0, f64::max);
        if transfers < 5 || most < 0.5 {
            prop_assert_eq!(verdict.class.as_str(), UNKNOWN);
            prop_assert!(verdict.confidence <= 0.9);
        } else {
            prop_assert!(is_near(verdict.confidence, most));
        }
    }
}
