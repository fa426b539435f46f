//! One generation: segments of all chains, the registry and prices, read as one ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::{Address, Asset, Chain, TxHash};

use crate::facts::{OutPoint, TokenFacts};
use crate::market::{PriceTable, Registry};
use crate::read::{
    Account, AccountRef, AddressMatches, AssetRef, Block, Coverage, Holding, Ledger, Postings, Result, Scan,
    Transaction, TransactionHead, TransactionRef,
};
use crate::segment::Segment;

/// One immutable generation of a store.
pub struct Snapshot {
    generation: u64,
    coverage: BTreeMap<Chain, Coverage>,
    registry: Arc<Registry>,
    prices: Arc<PriceTable>,
    segments: Vec<Arc<Segment>>,
}

impl Snapshot {
    /// A generation over these segments. A transaction stands in one segment only.
    #[must_use]
    pub fn new(
        generation: u64,
        segments: Vec<Arc<Segment>>,
        coverage: BTreeMap<Chain, Coverage>,
        registry: Arc<Registry>,
        prices: Arc<PriceTable>,
    ) -> Self {
        Self { generation, coverage, registry, prices, segments }
    }

    /// The segments, in the order given.
    #[must_use]
    pub fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }
}

impl Ledger for Snapshot {
    fn generation(&self) -> u64 {
        self.generation
    }

    fn coverage(&self) -> &BTreeMap<Chain, Coverage> {
        &self.coverage
    }

    fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    fn prices(&self) -> &Arc<PriceTable> {
        &self.prices
    }

    fn account(&self, _chain: Chain, _address: &Address) -> Result<Option<Account>> {
        todo!()
    }

    fn postings<'a>(&'a self, _account: &Account, _scan: &Scan) -> Result<Postings<'a>> {
        todo!()
    }

    fn address(&self, _account: AccountRef) -> Result<Address> {
        todo!()
    }

    fn asset(&self, _asset: AssetRef) -> Result<Asset> {
        todo!()
    }

    fn transaction_head(&self, _transaction: TransactionRef) -> Result<TransactionHead> {
        todo!()
    }

    fn transaction(&self, _transaction: TransactionRef) -> Result<Transaction> {
        todo!()
    }

    fn find_transaction(&self, _chain: Chain, _hash: &TxHash) -> Result<Option<TransactionRef>> {
        todo!()
    }

    fn transaction_at(&self, _chain: Chain, _block: u64, _index: u32) -> Result<Option<TransactionRef>> {
        todo!()
    }

    fn spender(&self, _chain: Chain, _output: &OutPoint) -> Result<Option<(TxHash, u32)>> {
        todo!()
    }

    fn holdings(&self, _account: &Account) -> Result<Vec<Holding>> {
        todo!()
    }

    fn token_facts(&self, _chain: Chain, _contract: &Address) -> Result<Option<TokenFacts>> {
        todo!()
    }

    fn block(&self, _chain: Chain, _number: u64) -> Result<Option<Block>> {
        todo!()
    }

    fn find_addresses(
        &self,
        _chain: Chain,
        _prefix: &str,
        _limit: usize,
        _count_limit: usize,
    ) -> Result<AddressMatches> {
        todo!()
    }
}
