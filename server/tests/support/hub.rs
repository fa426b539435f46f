//! A store with one account that everybody deals with.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::run_json;

/// The account.
pub const HUB: &str = "0x5df9b87991262f6ba471f09758cde1c0fc1de734";

/// The direction of its money.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is paid.
    In,
    /// It pays.
    Out,
}

/// Hash of one of the payments.
pub fn hash(payment: u32) -> String {
    format!("0x{payment:064x}")
}

/// A store in which it was paid, or paid, so many times, by as many others.
pub fn store_with_a_hub(place: &Path, payments: u32, way: Way) -> PathBuf {
    let mut file = String::from(
        "hash,nonce,block_hash,block_number,transaction_index,from_address,to_address,value,gas,gas_price,input,block_timestamp,max_fee_per_gas,max_priority_fee_per_gas,transaction_type\n",
    );
    for payment in 0..payments {
        let (block, place) = (46_147 + payment / 100, payment % 100);
        let (time, hash) = (1_438_918_233 + u64::from(payment / 100) * 15, hash(payment));
        let other = format!("0x{:040x}", u64::from(payment) * 7919 + 1);
        let (from, to) = match way {
            Way::In => (other.as_str(), HUB),
            Way::Out => (HUB, other.as_str()),
        };
        writeln!(file, "{hash},0,0x{block:064x},{block},{place},{from},{to},31337,21000,50000000000000,0x,{time},,,0")
            .unwrap();
    }
    let (store, path) = (place.join("hub"), place.join("transactions.csv"));
    std::fs::write(&path, file).unwrap();
    run_json(&["ingest", "--json", "--store", store.to_str().unwrap(), path.to_str().unwrap()]);
    std::fs::remove_file(&path).unwrap();
    store
}
