//! The house keeps its shape: crates import downwards only, heavy libraries stay at the rim, files stay readable.

mod bridges;
mod circles;
mod features;
mod settings;
mod supply;
mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers; a crate may import lower ones only.
const LAYERS: &[(&str, u8)] = &[
    ("headwater-types", 0),
    ("headwater-bridge", 1),
    ("headwater-verify", 1),
    ("headwater-ledger", 2),
    ("headwater-frame", 2),
    ("headwater-metrics", 3),
    ("headwater-intel", 4),
    ("headwater-ingest", 4),
    ("headwater-simulate", 5),
    ("headwater-export", 4),
    ("headwater-graph", 5),
    ("headwater-node", 5),
    ("headwater-engine", 6),
    ("headwater-table", 7),
    ("headwater-picture", 7),
    ("headwater-state", 7),
    ("headwater-cli", 8),
    ("headwater-server", 9),
    ("headwater-python", 10),
];

/// Heavy libraries and the only crates that may name them, so that the edit-test loop of the core stays short.
const RIM: &[(&str, &[&str])] = &[
    ("polars", &["headwater-frame", "headwater-ingest"]),
    ("parquet", &["headwater-ingest", "headwater-simulate", "headwater-export", "headwater-table"]),
    ("axum", &["headwater-server"]),
    ("tokio", &["headwater-state", "headwater-cli", "headwater-server"]),
    ("rusqlite", &["headwater-state"]),
    ("postgres", &["headwater-state"]),
    ("pyo3", &["headwater-python"]),
];

/// The only files that may hold `unsafe`.
const UNSAFE: &[&str] = &["rust/ledger/src/segment/map.rs", "rust/frame/src/bridge.rs"];

const LONGEST_FILE: usize = 600;
const MEDIAN_FILE: usize = 200;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ has a parent").to_owned()
}

fn members() -> BTreeMap<String, toml::Table> {
    let read = |path: PathBuf| -> toml::Table {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let workspace = read(root().join("Cargo.toml"));
    let members = workspace["workspace"]["members"].as_array().expect("the workspace lists its members");
    members
        .iter()
        .map(|member| {
            let manifest = read(root().join(member.as_str().expect("a member is a path")).join("Cargo.toml"));
            (manifest["package"]["name"].as_str().expect("a crate has a name").to_owned(), manifest)
        })
        .collect()
}

fn dependencies(manifest: &toml::Table) -> Vec<&str> {
    manifest
        .get("dependencies")
        .and_then(|table| table.as_table())
        .into_iter()
        .flat_map(|table| table.keys())
        .map(String::as_str)
        .collect()
}

fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a folder can be listed").path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["rust", "server/src", "python/src"] {
        walk(&root().join(folder), &mut found);
    }
    found.retain(|path| !path.components().any(|part| part.as_os_str() == "tests"));
    found.sort();
    found
}

/// Lines of a file, its test module cut off.
fn lines(path: &Path) -> usize {
    let text = fs::read_to_string(path).expect("a source file is text");
    text.lines().position(|line| line == "#[cfg(test)]").unwrap_or_else(|| text.lines().count())
}

#[test]
fn crates_import_downwards_only() {
    let layers: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
    for (name, manifest) in members() {
        let Some(&layer) = layers.get(name.as_str()) else {
            assert!(
                ["headwater-testkit", "headwater-bench", "headwater-tests"].contains(&name.as_str()),
                "{name} has no layer"
            );
            continue;
        };
        for dependency in dependencies(&manifest) {
            assert_ne!(dependency, "headwater-testkit", "{name} imports the test kit outside its tests");
            if let Some(&below) = layers.get(dependency) {
                assert!(below < layer, "{name} (L{layer}) imports {dependency} (L{below})");
            }
        }
    }
}

#[test]
fn heavy_libraries_stay_at_the_rim() {
    for (name, manifest) in members() {
        for dependency in dependencies(&manifest) {
            if let Some((_, allowed)) = RIM.iter().find(|(heavy, _)| *heavy == dependency) {
                assert!(allowed.contains(&name.as_str()), "{name} must not import {dependency}");
            }
        }
    }
}

#[test]
fn versions_are_in_the_workspace_only() {
    for (name, manifest) in members() {
        for table in ["dependencies", "dev-dependencies"] {
            for (dependency, value) in manifest.get(table).and_then(|table| table.as_table()).into_iter().flatten() {
                let inherited = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
                assert!(inherited, "{name} gives {dependency} a version of its own");
            }
        }
    }
}

#[test]
fn unsafe_is_in_two_modules_only() {
    for path in sources() {
        let text = fs::read_to_string(&path).expect("a source file is text");
        let holds = text.lines().any(|line| {
            line.trim_start().starts_with("unsafe ") || line.contains("= unsafe {") || line.contains("(unsafe {")
        });
        let name = path.strip_prefix(root()).expect("sources lie under the root").to_string_lossy().replace('\\', "/");
        assert!(!holds || UNSAFE.contains(&name.as_str()), "{name} holds unsafe code");
    }
}

#[test]
fn files_stay_within_their_size() {
    let mut sizes: Vec<(usize, PathBuf)> = sources().into_iter().map(|path| (lines(&path), path)).collect();
    sizes.sort();
    let too_long: Vec<_> = sizes.iter().filter(|(lines, _)| *lines > LONGEST_FILE).collect();
    assert!(too_long.is_empty(), "split along a seam that has a name: {too_long:?}");
    let median = sizes[sizes.len() / 2].0;
    assert!(median <= MEDIAN_FILE, "the median file has {median} lines");
    println!("{} files, median {median} lines, longest {}", sizes.len(), sizes.last().expect("there are files").0);
}
