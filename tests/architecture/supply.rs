//! Dependencies: the bill of materials lists all of them, `unsafe` is forbidden where it is not needed, and exceptions
//! end some day.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use crate::architecture::{members, root};

/// Crates that deny `unsafe` rather than forbid it, and why.
const MAY_EXPECT_UNSAFE: &[(&str, &str)] = &[
    ("headwater-ledger", "maps files into memory, in one module"),
    ("headwater-frame", "hands tables over through C structures, in one module"),
];

/// Name, version and checksum.
type LockedPackage = (String, String, Option<String>);

/// Every package of the lock file.
fn locked() -> Vec<LockedPackage> {
    let text = fs::read_to_string(root().join("Cargo.lock")).expect("there is a lock file");
    let table: toml::Table = text.parse().expect("Cargo writes TOML");
    let field = |package: &toml::Value, name| package.get(name).and_then(toml::Value::as_str).map(str::to_owned);
    let packages = table["package"].as_array().expect("a lock file has packages");
    let mut all: Vec<LockedPackage> = packages
        .iter()
        .map(|package| {
            (field(package, "name").unwrap(), field(package, "version").unwrap(), field(package, "checksum"))
        })
        .collect();
    all.sort();
    all
}

#[test]
fn bill_of_materials_equals_the_lock_file() {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let made = Command::new(&python).arg(root().join("scripts/sbom.py")).env("CARGO", env!("CARGO")).output();
    let made = made.unwrap_or_else(|error| panic!("{python} writes the bill of materials: {error}"));
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let bill: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!((&bill["bomFormat"], &bill["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
    let components = bill["components"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let mut listed = Vec::new();
    for component in components {
        let (name, version) = (text(&component["name"]), text(&component["version"]));
        assert_eq!(component["purl"], format!("pkg:cargo/{name}@{version}"));
        assert!(!text(&component["licenses"][0]["expression"]).contains('/'), "{name}");
        let hash = &component["hashes"][0];
        let checksum = hash.is_object().then(|| text(&hash["content"]));
        assert!(checksum.is_none() || hash["alg"] == "SHA-256");
        assert_eq!(checksum.is_none(), name.starts_with("headwater-"), "{name}");
        listed.push((name, version, checksum));
    }
    listed.sort();
    assert_eq!(listed, locked());
    let of = |entry: &serde_json::Value| entry["dependsOn"].as_array().unwrap().len();
    let edges: BTreeMap<String, usize> =
        bill["dependencies"].as_array().unwrap().iter().map(|entry| (text(&entry["ref"]), of(entry))).collect();
    assert_eq!(edges.len(), components.len() + 1, "every crate, and the whole");
    assert_eq!(edges["headwater"], members().len());
    println!("the bill of materials: {} crates of {}", listed.len(), locked().len());
}

#[test]
fn every_crate_forbids_unsafe_code_unless_it_says_why_not() {
    let workspace = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(workspace.contains("unsafe_code = \"deny\""), "what does not forbid it denies it");
    let table: toml::Table = workspace.parse().unwrap();
    let mut forbidding = 0;
    for member in table["workspace"]["members"].as_array().unwrap() {
        let folder = root().join(member.as_str().unwrap());
        let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
        let name = manifest["package"]["name"].as_str().unwrap();
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{name} takes the lints of the workspace");
        for file in ["src/lib.rs", "src/main.rs"].map(|file| folder.join(file)) {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let forbids = text.lines().any(|line| line == "#![forbid(unsafe_code)]");
            let excused = MAY_EXPECT_UNSAFE.iter().any(|(excused, _)| *excused == name);
            assert!(forbids != excused, "{}: add or take away #![forbid(unsafe_code)]", file.display());
            forbidding += usize::from(forbids);
        }
    }
    assert!(forbidding > 10, "{forbidding}");
}

#[test]
fn every_exception_of_the_advisories_ends_on_a_day() {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    for exception in table["advisories"]["ignore"].as_array().expect("a list, empty or not") {
        let reason = exception.get("reason").and_then(toml::Value::as_str).unwrap_or_default();
        let day = reason.strip_prefix("until ").and_then(|rest| rest.get(..10)).unwrap_or_default();
        let digits = day.split('-').map(|part| part.parse::<u32>().is_ok()).collect::<Vec<_>>();
        assert!(digits == [true; 3], "{exception}: its reason begins with \"until YYYY-MM-DD\"");
    }
}
