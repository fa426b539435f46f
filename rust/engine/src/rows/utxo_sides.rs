//! The other side of a UTXO transaction, as seen from one address of it.

use headwater_ledger::read::Direction;
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Address, Amount};

use crate::fields::AddressText;

/// Most counterparties that a Bitcoin row names.
const SHOWN_COUNTERPARTIES: usize = 10;

/// Those on the other side, the largest share first.
pub(crate) struct UtxoSides(Vec<(Address, Amount)>);

impl UtxoSides {
    /// Whom an address paid, or was paid by.
    pub fn of(owner: &Address, direction: Direction, attribution: &Attribution) -> Self {
        let mut others: Vec<(Address, Amount)> = match direction {
            Direction::Own => Vec::new(),
            direction if attribution.has_pairs() => attribution
                .of(owner)
                .map(|pair| (if direction == Direction::Out { pair.to } else { pair.from }, pair.value))
                .collect(),
            direction => attribution
                .changes()
                .iter()
                .map(|change| match direction {
                    Direction::Out => (change.address, change.net_out()),
                    Direction::In | Direction::Own => (change.address, change.net_in()),
                })
                .filter(|(address, net)| *net > 0 && address != owner)
                .map(|(address, net)| (address, Amount::from_u128(net)))
                .collect(),
        };
        others.sort_by_key(|(address, amount)| (std::cmp::Reverse(*amount), address.to_string()));
        Self(others)
    }

    /// The one on the other side, where there is no more than one.
    pub fn sole(&self, owner: &Address, direction: Direction, attribution: &Attribution) -> Option<Address> {
        match (direction, &self.0[..]) {
            (Direction::Own, _) => Some(*owner),
            // Behind an input whose previous output is not held may stand another sender.
            (Direction::In, _) if attribution.unresolved_inputs() > 0 => None,
            (_, [(only, _)]) => Some(*only),
            _ => None,
        }
    }

    /// Those that a row names.
    pub fn shown(&self) -> Vec<AddressText> {
        self.0.iter().take(SHOWN_COUNTERPARTIES).map(|(address, _)| address.into()).collect()
    }
}
