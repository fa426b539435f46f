//! A store whose files changed on the disk: named by `verify`, refused by queries, never served.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Process, run, run_json, small_store};

const REQUEST: &str = r#"{"blockchain":"ethereum","address":"0xa1e4380a3b1f749673e270229993ee55f35663b4"}"#;

fn segment(store: &Path) -> PathBuf {
    let mut files = std::fs::read_dir(store.join("segments")).unwrap();
    files.next().unwrap().unwrap().path()
}

#[test]
fn flipped_bit_is_named_by_verify_and_never_served() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let key = run_json(&["keys", "create", "--json", "--store", at, "--credits", "1000000"])["key"].clone();
    let key = key.as_str().unwrap();
    let query = ["query", "transactions", "--json", "--store", at, "--body", REQUEST];
    let sound = run_json(&query)["data"].clone();

    let file = segment(&store);
    let bytes = std::fs::read(&file).unwrap();
    let mut refused = 0;
    for offset in (0..bytes.len()).step_by(bytes.len() / 6) {
        let mut damaged = bytes.clone();
        damaged[offset] ^= 1 << (offset % 8);
        std::fs::write(&file, &damaged).unwrap();

        let verified = run(&["verify", "--json", "--digest", "--store", at]);
        assert_eq!(verified.status.code(), Some(1), "offset {offset}");
        let report: Value = serde_json::from_slice(&verified.stdout).unwrap();
        assert_eq!(report["problems"][0]["file"], file.to_str().unwrap());
        assert!(report["problems"][0]["offset"].as_u64().unwrap().abs_diff(offset as u64) < 4096, "{report}");
        assert!(report.get("digest").is_none(), "no digest of what is damaged");

        let asked = run(&query);
        let served = Process::start(&store, &[]).client().unwrap().post("/v1/transactions", key, REQUEST).unwrap();
        if asked.status.success() {
            // The damage is where this query does not read.
            assert_eq!(serde_json::from_slice::<Value>(&asked.stdout).unwrap()["data"], sound);
            assert_eq!((served.status, &served.json()["data"]), (200, &sound));
        } else {
            refused += 1;
            assert_eq!(asked.status.code(), Some(1));
            let envelope: Value = serde_json::from_slice(&asked.stderr).unwrap();
            assert_eq!(envelope["error"]["code"], "bad_gateway", "{envelope}");
            assert_eq!((served.status, served.error().0.as_str()), (502, "bad_gateway"));
        }
    }
    assert!(refused > 0, "no query met the damage");
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(run_json(&query)["data"], sound);
}
