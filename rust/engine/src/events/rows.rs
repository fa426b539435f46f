//! The rows of one item of the feed, read and priced once for all watchers.

use std::sync::Arc;

use headwater_ledger::Ledger;
use headwater_ledger::facts::MovementFact;
use headwater_ledger::feed::{FeedItem, NewTransaction, new_movements};
use headwater_ledger::read::{Direction, MovementKind, Ordinal, Status, Transaction};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Address, Amount, Asset};
use rustc_hash::{FxHashMap, FxHashSet};

use super::changes::Changes;
use super::event::{Cause, CausePlace};
use crate::Error;
use crate::asset_book::AssetBook;
use crate::fields::{Action, AddressText, FlowDirection, TransferType};
use crate::labels::Labels;
use crate::rows::{RowParts, TransferRow, UtxoSides};
use crate::valuation::{Output, Valuer};

/// The maximum length of a symbol in an event: anybody may deploy a token with a long one.
const MAX_SYMBOL: usize = 64;

/// A successful movement of an amount.
pub(super) struct Row {
    /// The row from the view of no party.
    pub shown: TransferRow,
    pub cause: Cause,
    pub asset: Asset,
    sides: Sides,
}

/// The parties of a movement.
enum Sides {
    /// A movement from one account to another.
    Account { from: Option<Address>, to: Option<Address> },
    /// The change of a UTXO transaction for one address.
    Utxo { owner: Address, direction: Direction, transaction: Arc<(Transaction, Attribution)> },
}

impl Row {
    /// Returns the parties, the sender first; a movement to oneself has one party.
    pub fn parties(&self) -> impl Iterator<Item = Address> + use<> {
        let (one, other) = match &self.sides {
            Sides::Account { from, to } => (*from, to.filter(|to| *from != Some(*to))),
            Sides::Utxo { owner, .. } => (Some(*owner), None),
        };
        one.into_iter().chain(other)
    }

    /// Returns the direction from the view of a party.
    pub fn direction(&self, address: &Address) -> Direction {
        match &self.sides {
            Sides::Utxo { direction, .. } => *direction,
            Sides::Account { from, to } if from == to => Direction::Own,
            Sides::Account { to, .. } if to.as_ref() == Some(address) => Direction::In,
            Sides::Account { .. } => Direction::Out,
        }
    }

    /// Returns whether the row represents the movement without a party. Of a UTXO transaction the rows of its receivers do:
    /// those of its senders are the same money.
    pub fn represents_movement(&self) -> bool {
        match &self.sides {
            Sides::Account { .. } => true,
            Sides::Utxo { direction, .. } => *direction == Direction::In,
        }
    }

    /// Returns the row from the view of a party.
    pub fn seen_by(&self, address: &Address) -> TransferRow {
        let direction = self.direction(address);
        let mut row = self.neutral();
        let other = match &self.sides {
            Sides::Account { .. } if direction == Direction::Own => Some(*address),
            Sides::Account { from, .. } if direction == Direction::In => *from,
            Sides::Account { to, .. } => *to,
            Sides::Utxo { .. } => None,
        };
        match direction {
            Direction::In => (row.action, row.direction) = (Some(Action::Receive), Some(FlowDirection::From)),
            Direction::Out => (row.action, row.direction) = (Some(Action::Send), Some(FlowDirection::To)),
            Direction::Own => (row.action, row.direction) = (Some(Action::Own), Some(FlowDirection::Own)),
        }
        row.counterparty = match &self.sides {
            Sides::Account { .. } => other.map(AddressText::from),
            Sides::Utxo { .. } => match direction {
                Direction::In => row.from_address.clone(),
                Direction::Out => row.to_address.clone(),
                Direction::Own => Some(address.into()),
            },
        };
        row
    }

    /// Returns the row from the view of no party, with the fields that only Bitcoin rows have.
    pub fn neutral(&self) -> TransferRow {
        let mut row = self.shown.clone();
        if let Sides::Utxo { owner, direction, transaction } = &self.sides {
            let (transaction, attribution) = &**transaction;
            let sides = UtxoSides::of(owner, *direction, attribution);
            let sole = sides.sole(owner, *direction, attribution).map(AddressText::from);
            match direction {
                Direction::In => row.from_address = sole,
                Direction::Out => row.to_address = sole,
                Direction::Own => {}
            }
            if let Some(utxo) = &transaction.facts.utxo {
                row.inputs_count = u64::try_from(utxo.inputs.len()).ok();
                row.outputs_count = u64::try_from(utxo.outputs.len()).ok();
            }
            row.counterparties = Some(sides.shown());
        }
        row
    }
}

/// The rows of an item.
pub(super) struct BlockRows {
    pub rows: Vec<Row>,
    /// The indexes of rows by party, in order.
    pub by_address: FxHashMap<Address, Vec<u32>>,
    /// The largest value of a row, in US dollars.
    pub largest_usd: f64,
    pub changes: Arc<Changes>,
    /// The labels of parties, by the text of their address.
    labels: FxHashMap<String, LabelSummary>,
}

/// The labels of an address.
struct LabelSummary {
    entity: Option<String>,
    codes: Vec<&'static str>,
}

impl BlockRows {
    /// Makes the rows of the transactions of an item, with the registry and prices of a ledger.
    pub fn new(ledger: &dyn Ledger, item: &FeedItem, transactions: Vec<NewTransaction>) -> Result<Self, Error> {
        let changes = Arc::new(Changes::of(ledger, item.chain, &transactions));
        let mut builder =
            RowBuilder { book: AssetBook::new(ledger, item.chain), valuer: Valuer::new(ledger), rows: Vec::new() };
        for new in transactions {
            if new.transaction.facts.utxo.is_some() {
                builder.utxo(new)?;
            } else {
                builder.account(&new)?;
            }
        }
        let rows = builder.rows;
        let mut by_address: FxHashMap<Address, Vec<u32>> = FxHashMap::default();
        for (place, row) in (0..).zip(&rows) {
            row.parties().for_each(|address| by_address.entry(address).or_default().push(place));
        }
        let largest_usd = rows.iter().filter_map(|row| row.shown.amount_usd).fold(0.0, f64::max);
        let labels = labels(ledger, item, by_address.keys())?;
        Ok(Self { rows, by_address, largest_usd, changes, labels })
    }

    /// Adds the label of the counterparty to a row.
    pub fn labelled(&self, mut row: TransferRow) -> TransferRow {
        let summary = row.counterparty.as_ref().and_then(|address| self.labels.get(&**address));
        row.counterparty_label = summary.and_then(|summary| summary.entity.clone());
        row
    }

    /// Returns whether a party of a movement has one of these labels.
    pub fn has_label(&self, row: &TransferRow, wanted: &[String]) -> bool {
        let sides = row.from_address.iter().chain(&row.to_address).chain(row.counterparties.iter().flatten());
        let mut summaries = sides.filter_map(|address| self.labels.get(&**address));
        summaries.any(|summary| summary.codes.iter().any(|code| wanted.iter().any(|wanted| wanted == code)))
    }
}

/// Returns the labels of the addresses that have any.
fn labels<'a>(
    ledger: &dyn Ledger,
    item: &FeedItem,
    addresses: impl Iterator<Item = &'a Address>,
) -> Result<FxHashMap<String, LabelSummary>, Error> {
    let mut found = FxHashMap::default();
    if ledger.labels().is_empty() {
        return Ok(found);
    }
    let present = Labels::present(ledger, item.chain);
    for address in addresses {
        let aggregate = present.of(address)?;
        if !aggregate.codes.is_empty() || aggregate.entity.is_some() {
            let codes = aggregate.codes.iter().map(|code| code.code.name()).collect();
            found.insert(address.to_string(), LabelSummary { entity: aggregate.entity.map(str::to_owned), codes });
        }
    }
    Ok(found)
}

/// The rows of an item, while they are made.
struct RowBuilder<'a> {
    book: AssetBook<'a>,
    valuer: Valuer,
    rows: Vec<Row>,
}

impl RowBuilder<'_> {
    fn account(&mut self, new: &NewTransaction) -> Result<(), Error> {
        let (transaction, facts) = (&new.transaction, &new.transaction.facts);
        if facts.status == Some(Status::Failed) {
            return Ok(());
        }
        if let Some(body) = facts.body
            && new.before.as_ref().is_none_or(|before| before.body.is_none())
        {
            let sides = (body.from, body.to.or(facts.created));
            let creates = body.from.is_some() && body.to.is_none();
            let name = (MovementKind::Native, Ordinal::Indexed(0));
            self.movement(transaction, name, sides, (Asset::Native, body.value), creates)?;
        }
        let gained = new.before.as_ref().map(|before| new_movements(before, facts));
        let mut movements = Vec::with_capacity(facts.movements.len());
        for (place, movement) in facts.movements.iter().enumerate() {
            let kind = match movement.kind {
                MovementFact::Internal => MovementKind::Internal,
                MovementFact::Token => MovementKind::Token,
                MovementFact::NonFungible | MovementFact::Opening => continue,
            };
            if gained.as_ref().is_none_or(|gained| gained.contains(&place)) {
                movements.push((kind, movement.ordinal, movement));
            }
        }
        movements.sort_by_key(|(kind, ordinal, _)| (*kind, *ordinal));
        for (kind, ordinal, movement) in movements {
            let sides = (movement.from, movement.to);
            self.movement(transaction, (kind, ordinal), sides, (movement.asset, movement.amount), false)?;
        }
        Ok(())
    }

    fn movement(
        &mut self,
        transaction: &Transaction,
        (kind, ordinal): (MovementKind, Ordinal),
        (from, to): (Option<Address>, Option<Address>),
        (asset, amount): (Asset, Amount),
        creates_contract: bool,
    ) -> Result<(), Error> {
        if amount.is_zero() {
            return Ok(());
        }
        let number = self.book.of_asset(asset)?;
        let head = transaction.head;
        let made = head.hash.is_made().then_some(Status::Success);
        let parts = RowParts {
            head,
            kind,
            ordinal,
            from,
            to,
            asset: self.book.view(number),
            amount,
            status: transaction.facts.status.or(made),
            creates_contract,
            approximate: transaction.is_approximate(kind, ordinal),
            rebases: self.book.rebases(number)?,
            seen: None,
        };
        let row = shortened(parts.row(&self.valuer, &Output::Own));
        let cause = Cause { hash: head.hash, kind, place: CausePlace::Ordinal(ordinal) };
        self.rows.push(Row { shown: row, cause, asset, sides: Sides::Account { from, to } });
        Ok(())
    }

    /// Adds one row per address: its loss or its gain. Of a transaction that is not new, only rows of new parties.
    fn utxo(&mut self, new: NewTransaction) -> Result<(), Error> {
        let NewTransaction { transaction, before } = new;
        let attributed = Attribution::of_transaction(&transaction);
        let known: FxHashSet<Address> = match before {
            Some(before) => {
                let before = Transaction { facts: before, ..transaction.clone() };
                Attribution::of_transaction(&before).changes().iter().map(|change| change.address).collect()
            }
            None => FxHashSet::default(),
        };
        let native = self.book.of_asset(Asset::Native)?;
        let is_coinbase = transaction.facts.utxo.as_ref().is_some_and(|utxo| utxo.coinbase);
        let head = transaction.head;
        let shared = Arc::new((transaction, attributed));
        for (ordinal, change) in (0..).zip(shared.1.changes()) {
            let direction = match (change.net_in(), change.net_out()) {
                (0, 0) => Direction::Own,
                (0, _) => Direction::In,
                _ => Direction::Out,
            };
            let amount = Amount::from_u128(change.net_in().max(change.net_out()));
            if amount.is_zero() || known.contains(&change.address) {
                continue;
            }
            let owner = change.address;
            let (from, to) = match direction {
                Direction::In => (None, Some(owner)),
                Direction::Out => (Some(owner), None),
                Direction::Own => (Some(owner), Some(owner)),
            };
            let parts = RowParts {
                head,
                kind: MovementKind::Utxo,
                ordinal: Ordinal::Indexed(ordinal),
                from,
                to,
                asset: self.book.view(native),
                amount,
                status: Some(Status::Success),
                creates_contract: false,
                approximate: false,
                rebases: false,
                seen: None,
            };
            let mut row = parts.row(&self.valuer, &Output::Own);
            if is_coinbase {
                row.transfer_type = TransferType::Coinbase;
            }
            let cause = Cause { hash: head.hash, kind: MovementKind::Utxo, place: CausePlace::Owner(owner) };
            let sides = Sides::Utxo { owner, direction, transaction: Arc::clone(&shared) };
            self.rows.push(Row { shown: row, cause, asset: Asset::Native, sides });
        }
        Ok(())
    }
}

fn shortened(mut row: TransferRow) -> TransferRow {
    if let Some(symbol) = &mut row.symbol
        && let Some((cut, _)) = symbol.char_indices().nth(MAX_SYMBOL)
    {
        symbol.truncate(cut);
    }
    row
}
