//! The rules of postings and holdings once more, straight from the facts and without any column.

use std::collections::BTreeMap;

use headwater_types::{Address, Amount, Asset, Timestamp};

use crate::facts::{AmountOf, Movement, MovementFact, TransactionFacts};
use crate::read::{
    Accounts, Assets, Direction, Holding, MovementKind, Ordinal, Posting, PostingKey, Scan, ScanOrder, Status,
    Transactions,
};
use crate::segment::SegmentInput;
use crate::{Cancel, Snapshot};

/// A posting with everything behind its handles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: PostingKey,
    time: Timestamp,
    direction: Direction,
    counterparty: Option<Address>,
    asset: Asset,
    amount: Amount,
    status: Option<Status>,
    creates_contract: bool,
    approximate: bool,
}

pub(super) fn row(ledger: &Snapshot, posting: &Posting) -> Row {
    let head = ledger.transaction_head(posting.transaction).unwrap();
    assert_eq!((head.block, head.time), (posting.block, posting.time));
    Row {
        key: PostingKey {
            block: head.block,
            index: head.index,
            hash: head.hash,
            kind: posting.kind,
            ordinal: posting.ordinal,
        },
        time: posting.time,
        direction: posting.direction,
        counterparty: posting.counterparty.map(|account| ledger.address(account).unwrap()),
        asset: ledger.asset(posting.asset).unwrap(),
        amount: posting.amount,
        status: posting.status,
        creates_contract: posting.creates_contract,
        approximate: posting.approximate,
    }
}

/// Opening, what came in with it, what went out, and the fees among that.
pub(super) type Sums = (Amount, Amount, Amount, Amount);

#[derive(Default)]
pub(super) struct Oracle {
    pub(super) rows: BTreeMap<Address, Vec<Row>>,
    pub(super) holdings: BTreeMap<Address, BTreeMap<Asset, Sums>>,
    /// Blocks of the latest openings.
    openings: BTreeMap<Asset, u64>,
    pub(super) movements: u64,
}

impl Oracle {
    pub(super) fn new(input: &SegmentInput) -> Self {
        let mut oracle = Self::default();
        for facts in &input.transactions {
            for movement in facts.movements.iter().filter(|movement| is_opening(movement)) {
                let block = oracle.openings.entry(movement.asset).or_default();
                *block = facts.block.max(*block);
            }
        }
        for facts in &input.transactions {
            let time = input.blocks.iter().find(|block| block.number == facts.block).unwrap().time;
            oracle.add(facts, time, &numbered(input, facts));
        }
        for rows in oracle.rows.values_mut() {
            rows.sort_by_key(|row| row.key);
        }
        oracle
    }

    fn add(&mut self, facts: &TransactionFacts, time: Timestamp, ordinals: &[Ordinal]) {
        let is_utxo = facts.utxo.is_some();
        let row = |kind, ordinal, asset, amount| Row {
            key: PostingKey { block: facts.block, index: facts.index, hash: facts.hash, kind, ordinal },
            time,
            direction: Direction::Own,
            counterparty: None,
            asset,
            amount,
            status: if is_utxo { Some(Status::Success) } else { facts.status },
            creates_contract: false,
            approximate: false,
        };
        if let Some(body) = facts.body {
            let mut native = row(MovementKind::Native, Ordinal::Indexed(0), Asset::Native, body.value);
            native.creates_contract = body.to.is_none() && body.from.is_some();
            native.approximate = facts.approximate.contains(&AmountOf::Value);
            self.both_sides(&native, body.from, body.to.or(facts.created));
            let gas = facts
                .gas_used
                .zip(facts.effective_gas_price.or(facts.gas_price))
                .and_then(|(used, price)| price.checked_mul(Amount::from(used)));
            if let (Some(payer), Some(fee)) = (body.from, facts.fee.or(gas)) {
                let sums = self.holdings.entry(payer).or_default().entry(Asset::Native).or_default();
                sums.2 = add(sums.2, fee);
                sums.3 = add(sums.3, fee);
            }
        }
        for (movement, ordinal) in facts.movements.iter().zip(ordinals) {
            let kind = match movement.kind {
                MovementFact::Internal => MovementKind::Internal,
                MovementFact::Token => MovementKind::Token,
                MovementFact::NonFungible => continue,
                MovementFact::Opening => {
                    if is_opening(movement)
                        && let Some(holder) = movement.to
                        && self.openings[&movement.asset] == facts.block
                    {
                        let sums = self.holdings.entry(holder).or_default().entry(movement.asset).or_default();
                        sums.0 = add(sums.0, movement.amount);
                        sums.1 = add(sums.1, movement.amount);
                    }
                    continue;
                }
            };
            let mut row = row(kind, *ordinal, movement.asset, movement.amount);
            row.approximate = AmountOf::of_fact(movement).is_some_and(|name| facts.approximate.contains(&name));
            self.both_sides(&row, movement.from, movement.to);
        }
        let Some(utxo) = &facts.utxo else { return };
        let mut owners: Vec<Address> = Vec::new();
        let mut net: BTreeMap<Address, i128> = BTreeMap::new();
        let spent = utxo.inputs.iter().filter_map(|input| input.spent.as_ref()).map(|output| (output, -1));
        for (output, sign) in spent.chain(utxo.outputs.iter().map(|output| (output, 1))) {
            if let Some(owner) = output.owner {
                if !owners.contains(&owner) {
                    owners.push(owner);
                }
                *net.entry(owner).or_default() += sign * i128::from(output.amount);
            }
        }
        for (place, owner) in owners.into_iter().enumerate() {
            self.movements += 1;
            let change = net[&owner];
            let amount = Amount::from_u128(change.unsigned_abs());
            let mut row = row(MovementKind::Utxo, Ordinal::Indexed(place as u64), Asset::Native, amount);
            row.direction = match change {
                1.. => Direction::In,
                0 => Direction::Own,
                _ => Direction::Out,
            };
            self.one_side(owner, row);
        }
    }

    fn both_sides(&mut self, row: &Row, from: Option<Address>, to: Option<Address>) {
        self.movements += 1;
        if let (Some(from), Some(to)) = (from, to)
            && from == to
        {
            return self.one_side(from, Row { counterparty: Some(to), ..row.clone() });
        }
        if let Some(from) = from {
            self.one_side(from, Row { direction: Direction::Out, counterparty: to, ..row.clone() });
        }
        if let Some(to) = to {
            self.one_side(to, Row { direction: Direction::In, counterparty: from, ..row.clone() });
        }
    }

    fn one_side(&mut self, account: Address, row: Row) {
        let is_in_opening = self.openings.get(&row.asset).is_some_and(|block| row.key.block <= *block);
        if row.status != Some(Status::Failed) && !row.approximate && !is_in_opening {
            let sums = self.holdings.entry(account).or_default().entry(row.asset).or_default();
            match row.direction {
                Direction::In => sums.1 = add(sums.1, row.amount),
                Direction::Out => sums.2 = add(sums.2, row.amount),
                Direction::Own => {}
            }
        }
        self.rows.entry(account).or_default().push(row);
    }

    /// Returns what a scan must show.
    pub(super) fn scan(&self, account: &Address, scan: &Scan) -> Vec<Row> {
        let mut rows: Vec<Row> = self
            .rows
            .get(account)
            .into_iter()
            .flatten()
            .filter(|row| scan.window.contains(row.time))
            .filter(|row| scan.assets.as_ref().is_none_or(|assets| assets.contains(&row.asset)))
            .filter(|row| scan.from_block.is_none_or(|first| row.key.block >= first))
            .filter(|row| scan.up_to_block.is_none_or(|last| row.key.block <= last))
            .filter(|row| match (scan.after, scan.order) {
                (None, _) => true,
                (Some(after), ScanOrder::OldestFirst) => row.key > after,
                (Some(after), ScanOrder::NewestFirst) => row.key < after,
            })
            .cloned()
            .collect();
        if scan.order == ScanOrder::NewestFirst {
            rows.reverse();
        }
        rows
    }
}

/// The native coin has no opening; nor has anybody whom none names.
fn is_opening(movement: &Movement) -> bool {
    movement.kind == MovementFact::Opening && movement.to.is_some() && movement.asset != Asset::Native
}

pub(super) fn held(holdings: &[Holding]) -> BTreeMap<Asset, Sums> {
    assert!(holdings.is_sorted_by_key(|holding| holding.asset));
    holdings
        .iter()
        .map(|holding| {
            let balance = holding.balance;
            (holding.asset, (holding.opening, balance.received(), balance.sent(), holding.fees))
        })
        .collect()
}

fn add(sum: Amount, amount: Amount) -> Amount {
    sum.checked_add(amount).unwrap_or(Amount::MAX)
}

/// The ordinals of a transaction when it stands alone.
fn numbered(input: &SegmentInput, facts: &TransactionFacts) -> Vec<Ordinal> {
    let alone = SegmentInput { transactions: vec![facts.clone()], ..input.clone() };
    let bytes = crate::segment::build(&alone, &Cancel::new()).unwrap();
    let segment = crate::segment::Segment::from_bytes("memory", bytes).unwrap();
    let facts = segment.facts_with(0, crate::segment::MissingOrdinals::Numbered).unwrap();
    facts.movements.iter().map(|movement| movement.ordinal).collect()
}
