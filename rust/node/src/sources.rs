//! The source of each chain.

use headwater_ledger::read::Coverage;
use headwater_types::{Chain, Family};

use crate::bitcoin_source::BitcoinSource;
use crate::evm_source::EvmSource;
use crate::source::Source;
use crate::tron_source::TronSource;

/// Finds the source of a chain, for a store that holds this much of it and a load from a block on.
pub(crate) fn source_of(chain: Chain, coverage: Option<&Coverage>, from: u64) -> Box<dyn Source> {
    match chain.family() {
        Family::Evm => Box::new(EvmSource::new(chain)),
        Family::Utxo => Box::new(BitcoinSource::new(coverage, from)),
        Family::Tron => Box::new(TronSource::default()),
    }
}
