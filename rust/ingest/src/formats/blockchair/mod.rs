//! Dumps of Blockchair: one table and day per file, tab separated, named
//! `blockchair_<chain>_<table>_<YYYYMMDD>.tsv.gz`. A dump has all rows of the blocks it spans.

mod bitcoin;
mod ethereum;

pub(super) use bitcoin::BlockchairBitcoin;
pub(super) use ethereum::BlockchairEthereum;

use crate::source::{Content, Probe};

fn is_table(probe: &Probe) -> bool {
    matches!(probe.content(), Content::Tsv | Content::Csv)
}

/// The chain that the name of a dump states; nothing of a file that was renamed.
fn chain_in(name: &str) -> Option<&str> {
    name.strip_prefix("blockchair_")?.split('_').next()
}

/// The day that the name of a dump states.
fn day_in(name: &str) -> Option<&str> {
    let stem = name.split('.').next()?;
    let day = stem.rsplit('_').next()?;
    (day.len() == 8 && day.bytes().all(|byte| byte.is_ascii_digit())).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_dump_tells_chain_and_day() {
        let name = "blockchair_bitcoin_outputs_20210101.tsv";
        assert_eq!((chain_in(name), day_in(name)), (Some("bitcoin"), Some("20210101")));
        assert_eq!((chain_in("outputs.tsv"), day_in("outputs.tsv")), (None, None));
    }
}
