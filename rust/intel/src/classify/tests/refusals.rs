//! Files that are refused, one per reason, with the whole message.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};

use super::super::{MAX_BYTES, Model, ModelError, format};
use super::small;

fn message(bytes: &[u8]) -> String {
    let text = Model::parse(bytes).unwrap_err().to_string();
    text.strip_prefix("classifier model: ").unwrap().to_owned()
}

/// The message for the model worked by hand with another value at a JSON pointer.
fn with(pointer: &str, value: Value) -> String {
    let mut model = small();
    *model.pointer_mut(pointer).unwrap() = value;
    message(&serde_json::to_vec(&model).unwrap())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn damaged_files_are_refused() {
    let packed = gzip(&serde_json::to_vec(&small()).unwrap());
    assert!(Model::parse(&packed).is_ok());
    assert!(message(&packed[..packed.len() - 9]).starts_with("cannot decompress the file: "));
    assert_eq!(message(b""), "not a JSON object: EOF while parsing a value at line 1 column 0");
    assert_eq!(message(b"[]"), "not a JSON object: invalid type: sequence, expected a map at line 1 column 0");
    assert_eq!(message(b"{\"initial\": [1e999]}"), "not a JSON object: number out of range at line 1 column 18");
}

#[test]
fn large_files_are_not_inflated() {
    let packed = gzip(&[b' '; 4096]);
    assert_eq!(format::inflate(&packed, 4096).unwrap().len(), 4096);
    let error = format::inflate(&packed, 4095).unwrap_err();
    assert!(matches!(error, ModelError::TooLarge { limit: 4095 }), "{error}");
    let plain = vec![b' '; MAX_BYTES + 1];
    assert_eq!(message(&plain), "more than 67108864 bytes uncompressed; expected at most that");
}

#[test]
fn other_formats_are_refused() {
    let expected = r#"format is "headwater-classifier/2", expected "headwater-classifier/1""#;
    assert_eq!(with("/format", json!("headwater-classifier/2")), expected);
    assert_eq!(message(b"{\"tree\": 1}"), "format is missing");
}

#[test]
fn missing_and_unknown_keys_are_refused() {
    let mut model = small();
    model["trees"].as_object_mut().unwrap().remove("leaf");
    assert_eq!(message(&serde_json::to_vec(&model).unwrap()), "trees.leaf is missing");
    let mut model = small();
    model["calibration"]["slope"] = json!(1);
    assert_eq!(message(&serde_json::to_vec(&model).unwrap()), "unknown key calibration.slope");
    let mut model = small();
    model["author"] = json!("somebody");
    assert_eq!(message(&serde_json::to_vec(&model).unwrap()), "unknown key author");
}

#[test]
fn values_of_other_types_are_refused() {
    assert_eq!(with("/trees/leaf/0", json!("a")), "trees.leaf: invalid type: string \"a\", expected f64");
    assert_eq!(with("/trees/threshold/1", json!(null)), "trees.threshold: invalid type: null, expected f64");
    assert_eq!(with("/trees/feature/1", json!(-1)), "trees.feature: invalid value: integer `-1`, expected u32");
}

#[test]
fn lists_of_other_lengths_are_refused() {
    assert_eq!(with("/priors", json!([1])), "priors has 1 entries, expected 2");
    assert_eq!(with("/initial", json!([0, 0, 0])), "initial has 3 entries, expected 2");
    assert_eq!(with("/calibration/offsets", json!([])), "calibration.offsets has 0 entries, expected 2");
    assert_eq!(with("/trees/nodes", json!([3])), "trees.nodes has 1 entries, expected 2");
    assert_eq!(with("/trees/nodes/0", json!(3)), "trees.feature has 3 entries, expected 4");
    assert_eq!(with("/trees/leaf_cover", json!([8])), "trees.leaf_cover has 1 entries, expected 5");
}

#[test]
fn names_that_are_absent_or_not_unique_are_refused() {
    assert_eq!(with("/classes", json!([])), "classes is empty, expected at least one name");
    assert_eq!(with("/features", json!([])), "features is empty, expected at least one name");
    assert_eq!(with("/classes/1", json!("Exchange")), "classes[1] is \"Exchange\", expected a name that is unique");
    assert_eq!(with("/chain", json!("solana")), "chain is \"solana\", expected one of bitcoin, bsc, ethereum, tron");
}

#[test]
fn too_many_features_are_refused() {
    let names: Vec<String> = (0..65_537).map(|number| format!("f{number}")).collect();
    assert_eq!(with("/features", json!(names)), "features is 65537 names, expected at most 65536");
}

#[test]
fn numbers_out_of_range_are_refused() {
    assert_eq!(with("/priors", json!([0.5, 0.6])), "priors: the sum is 1.1, expected 1");
    assert_eq!(with("/priors", json!([-0.5, 1.5])), "priors[0] is -0.5, expected a share from 0 to 1");
    let expected = "calibration.temperature is 0, expected a number above 0, from 1e-6 to 1e6";
    assert_eq!(with("/calibration/temperature", json!(0.0)), expected);
    assert_eq!(
        with("/trees/leaf/1", json!(-1e10)),
        "trees.leaf[1] is -10000000000, expected a number from -1e9 to 1e9"
    );
    assert_eq!(with("/trees/missing_left/2", json!(2)), "trees.missing_left[2] is 2, expected 0 or 1");
    assert_eq!(with("/trees/class/1", json!(2)), "trees.class[1] is 2, expected less than 2");
    assert_eq!(with("/trees/feature/0", json!(2)), "trees.feature[0] is 2, expected less than 2");
}

#[test]
fn covers_that_do_not_add_up_are_refused() {
    assert_eq!(
        with("/trees/leaf_cover/2", json!(0)),
        "trees.leaf_cover[2] is 0, expected a number of rows from 1 to 2^53"
    );
    let expected = "trees.node_cover[2] is 9, expected 8, the sum of its children (node 0 of tree 1)";
    assert_eq!(with("/trees/node_cover/2", json!(9)), expected);
}

#[test]
fn what_is_no_tree_is_refused() {
    let expected = "trees.left[0] is 0, expected a node after 0 and before 2, or a leaf (node 0 of tree 0)";
    assert_eq!(with("/trees/left/0", json!(0)), expected);
    let expected = "trees.right[1] is 0, expected a node after 1 and before 2, or a leaf (node 1 of tree 0)";
    assert_eq!(with("/trees/right/1", json!(0)), expected);
    let expected = "trees.left[0] is 2, expected a node after 0 and before 2, or a leaf (node 0 of tree 0)";
    assert_eq!(with("/trees/left/0", json!(2)), expected);
    let expected = "trees.left[2] is -3, expected a leaf from -1 to -2 (node 0 of tree 1)";
    assert_eq!(with("/trees/left/2", json!(-3)), expected);
    let expected = "trees.left[2] is -2147483648, expected a leaf from -1 to -2 (node 0 of tree 1)";
    assert_eq!(with("/trees/left/2", json!(i32::MIN)), expected);
    let expected = "trees.right[0] is 1, expected a child without another parent (node 0 of tree 0)";
    assert_eq!(with("/trees/right/0", json!(1)), expected);
}

/// A chain of nodes, each with a leaf at its right.
#[test]
fn deep_trees_are_refused() {
    let chain = |depth: i32| {
        let mut model = small();
        let nodes = || 0..depth;
        model["trees"] = json!({
            "class": [0],
            "nodes": [depth],
            "feature": nodes().map(|_| 0).collect::<Vec<_>>(),
            "threshold": nodes().collect::<Vec<_>>(),
            "left": nodes().map(|node| if node + 1 < depth { node + 1 } else { -1 - depth }).collect::<Vec<_>>(),
            "right": nodes().map(|node| -1 - node).collect::<Vec<_>>(),
            "missing_left": nodes().map(|_| 1).collect::<Vec<_>>(),
            "node_cover": nodes().map(|node| depth + 1 - node).collect::<Vec<_>>(),
            "leaf": (0..=depth).collect::<Vec<_>>(),
            "leaf_cover": (0..=depth).map(|_| 1).collect::<Vec<_>>(),
        });
        serde_json::to_vec(&model).unwrap()
    };
    let deep = Model::parse(&chain(128)).unwrap();
    let total: f64 = deep.contributions(&[f64::NAN, 0.0], 0).iter().sum();
    super::near(total + deep.expected_score(0), 128.0, 1e-9);
    assert_eq!(message(&chain(129)), "trees: the depth of tree 0 is 129, expected at most 128");
}
