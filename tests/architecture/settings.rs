//! The sample file of settings is written from their table.

use std::fs;

#[test]
fn settings_sample_contains_every_key() {
    let path = super::root().join("deploy/headwater.toml");
    let sample = headwater_server::config::sample();
    if std::env::var_os("HEADWATER_WRITE").is_some() {
        fs::write(&path, &sample).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), sample, "HEADWATER_WRITE=1 writes it");
}
