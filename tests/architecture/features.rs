//! The page of the features is written from their table.

use std::fmt::Write as _;
use std::fs;

use headwater_metrics::features::{VERSION, features};

/// `docs/features.md`, from the table of features.
fn listed() -> String {
    let mut page = format!(
        "# Features\n\nWritten by `HEADWATER_WRITE=1 cargo test -p headwater-tests features_page`.\n\n\
         The input of [classification](classification.md), version {VERSION}: {} numbers computed from the transfers of an \
         address. A feature that has no meaning for an address is null, such as a mean of nothing. Movements of failed \
         transactions count in `failed_ratio` alone. Payments are movements of the native coin or a main stablecoin above \
         zero, in whole units. There is no absolute time, price, gas price or label among them. Those that begin with `utxo_` \
         are of bitcoin alone, where movements have no counterparty: they are read from at most 64 transactions of the address, \
         evenly spaced. *They* are the transactions of the line before.\n\n\
         | feature | unit | meaning |\n|---|---|---|\n",
        features().count()
    );
    for feature in features() {
        writeln!(page, "| `{}` | {} | {} |", feature.name, feature.unit.name(), feature.about).unwrap();
    }
    page
}

#[test]
fn features_page_lists_every_feature_of_the_table() {
    let path = super::root().join("docs/features.md");
    if std::env::var_os("HEADWATER_WRITE").is_some() {
        fs::write(&path, listed()).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), listed(), "HEADWATER_WRITE=1 writes it");
}
