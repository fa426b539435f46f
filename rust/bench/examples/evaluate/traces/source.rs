//! Movements of the accounts of a chain, for methods that are tried below the interface.

use std::collections::HashMap;

use anyhow::Result;
use headwater_graph::source::Node;
use headwater_graph::trace::{Movement, Way};
use headwater_intel::label::{Moment, aggregate};
use headwater_ledger::labels::Code;
use headwater_ledger::market::AssetTerms;
use headwater_ledger::read::{AccountRef, AssetRef, Direction, Scan, ScanOrder, Status};
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Chain};

/// Labels at which every method stops: those of the trace.
const STOPS: [&str; 5] = ["exchange", "mixer", "bridge", "dex", "mining_pool"];
/// Least confidence of such a label.
const MIN_CONFIDENCE: f64 = 0.5;
/// Accounts with more movements are not looked through.
const HUB: u64 = 10_000;

/// Accounts of one account chain, numbered as they are met: native coin and tokens that a registry vouches for.
pub struct Source<'a> {
    ledger: &'a dyn Ledger,
    chain: Chain,
    moment: Moment,
    stops: Vec<Code>,
    nodes: HashMap<Address, Node>,
    by_handle: HashMap<AccountRef, Option<Node>>,
    addresses: Vec<Address>,
    assets: HashMap<AssetRef, u32>,
    terms: Vec<AssetTerms>,
}

impl<'a> Source<'a> {
    pub fn new(ledger: &'a dyn Ledger, chain: Chain) -> Self {
        Self {
            ledger,
            chain,
            moment: Moment::present(ledger.labels(), ledger.coverage()[&chain].last_time),
            stops: STOPS.iter().filter_map(|name| Code::from_name(name)).collect(),
            nodes: HashMap::new(),
            by_handle: HashMap::new(),
            addresses: Vec::new(),
            assets: HashMap::new(),
            terms: Vec::new(),
        }
    }

    pub fn node(&mut self, address: Address) -> Node {
        let next = Node::try_from(self.addresses.len()).expect("an economy has fewer accounts");
        let node = *self.nodes.entry(address).or_insert(next);
        if node == next {
            self.addresses.push(address);
        }
        node
    }

    pub fn address(&self, node: Node) -> Address {
        self.addresses[node as usize]
    }

    /// The movements of an account in the order of the chain; `None` where a trace does not continue.
    pub fn movements(&mut self, node: Node) -> Result<Option<Vec<Movement>>> {
        let address = self.address(node);
        let claims = self.ledger.labels().claims(self.chain, &address)?;
        let judged = aggregate(&claims, &self.moment);
        let stops = |code: &Code| self.stops.contains(code);
        if judged.codes.iter().any(|code| code.confidence >= MIN_CONFIDENCE && stops(&code.code)) {
            return Ok(None);
        }
        self.all(node)
    }

    /// The same, whatever the labels of the account.
    pub fn all(&mut self, node: Node) -> Result<Option<Vec<Movement>>> {
        let Some(account) = self.ledger.account(self.chain, &self.address(node))? else { return Ok(None) };
        if account.postings > HUB {
            return Ok(None);
        }
        let scan = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
        let mut movements = Vec::new();
        for posting in self.ledger.postings(&account, &scan)? {
            let posting = posting?;
            let way = match posting.direction {
                Direction::In => Way::In,
                Direction::Out => Way::Out,
                Direction::Own => continue,
            };
            let asset = self.asset(posting.asset)?;
            let terms = &self.terms[asset as usize];
            let counts = terms.verified && !posting.amount.is_zero() && posting.status != Some(Status::Failed);
            let Some(handle) = posting.counterparty.filter(|_| counts) else { continue };
            let usd = terms.usd(self.ledger.prices(), posting.amount, posting.time);
            let Some(other) = self.other(handle)? else { continue };
            movements.push(Movement {
                transaction: posting.transaction,
                time: posting.time.secs(),
                asset,
                amount: posting.amount.to_u128().unwrap_or(u128::MAX),
                usd,
                other: Some(other),
                way,
                left_out: None,
            });
        }
        Ok(Some(movements))
    }

    fn other(&mut self, handle: AccountRef) -> Result<Option<Node>, LedgerError> {
        if let Some(node) = self.by_handle.get(&handle) {
            return Ok(*node);
        }
        let address = self.ledger.address(handle)?;
        let node = (!address.is_zero()).then(|| self.node(address));
        self.by_handle.insert(handle, node);
        Ok(node)
    }

    fn asset(&mut self, asset: AssetRef) -> Result<u32, LedgerError> {
        if let Some(number) = self.assets.get(&asset) {
            return Ok(*number);
        }
        let ledger = self.ledger;
        let facts = |contract: &Address| ledger.token_facts(self.chain, contract);
        let terms = AssetTerms::of::<LedgerError>(ledger.registry(), self.chain, &ledger.asset(asset)?, facts)?;
        let number = u32::try_from(self.terms.len()).expect("a chain has fewer assets");
        self.terms.push(terms);
        self.assets.insert(asset, number);
        Ok(number)
    }
}
