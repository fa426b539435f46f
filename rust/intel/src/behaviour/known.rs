//! What labels say of counterparties, as far as behaviours ask.

use headwater_ledger::LedgerError;
use headwater_ledger::labels::{Code, entity_key};
use headwater_types::{Address, Chain};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_64;

use super::history::Roles;
use crate::label::{LabelSource, Moment, aggregate};

/// A role is taken from this confidence on.
const LEAST_CONFIDENCE: f64 = 0.5;
/// The roles that codes give.
const ROLES: [(Code, Roles); 5] = [
    (Code::Mixer, Roles::MIXER),
    (Code::Bridge, Roles::BRIDGE),
    (Code::Exchange, Roles::EXCHANGE),
    (Code::ExchangeHotWallet, Roles::EXCHANGE),
    (Code::Deposit, Roles::DEPOSIT),
];
/// Most addresses that are remembered.
const MOST_KEPT: usize = 1 << 20;

/// What labels say of counterparties. Each address with labels is judged once.
#[derive(Debug)]
pub struct KnownAs {
    chain: Chain,
    moment: Moment,
    kept: FxHashMap<Address, (Roles, u64)>,
}

impl KnownAs {
    /// By the labels of a chain at a moment.
    #[must_use]
    pub fn at(chain: Chain, moment: Moment) -> Self {
        Self { chain, moment, kept: FxHashMap::default() }
    }

    /// The roles of an address, and the number of its entity (0 for none).
    ///
    /// # Errors
    /// When labels cannot be read.
    pub fn of(&mut self, labels: &dyn LabelSource, address: &Address) -> Result<(Roles, u64), LedgerError> {
        if let Some(kept) = self.kept.get(address) {
            return Ok(*kept);
        }
        let claims = labels.claims_on(self.chain, address)?;
        if claims.is_empty() {
            return Ok((Roles::default(), 0));
        }
        let judged = aggregate(&claims, &self.moment);
        let mut roles = Roles::default();
        for (code, role) in ROLES {
            if judged.of(code) >= LEAST_CONFIDENCE {
                roles = roles.with(role);
            }
        }
        let entity = judged.entity.map_or(0, |name| xxh3_64(entity_key(name).as_bytes()).max(1));
        if self.kept.len() >= MOST_KEPT {
            self.kept.clear();
        }
        self.kept.insert(*address, (roles, entity));
        Ok((roles, entity))
    }
}
