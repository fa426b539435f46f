//! Answers that a ledger must give, worked out from facts without any index: slow, short, and independent of the store.

use std::collections::BTreeMap;

use headwater_ledger::facts::{AmountOf, MovementFact, TransactionFacts};
use headwater_ledger::read::{Direction, MovementKind, Status};
use headwater_types::{Address, Amount, Asset, TxHash};

/// One movement of an account as the oracle sees it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct OracleRow {
    /// Block number.
    pub block: u64,
    /// Position in the block; unknown sorts last.
    pub index: u32,
    /// The transaction.
    pub hash: TxHash,
    /// Kind of movement.
    pub kind: MovementKind,
    /// Log index or trace ordinal; `u64::MAX` where the source gave none.
    pub ordinal: u64,
    /// The asset.
    pub asset: Asset,
    /// The direction.
    pub direction: Direction,
    /// The other side.
    pub counterparty: Option<Address>,
    /// The amount.
    pub amount: Amount,
    /// True if the transaction is known to have failed.
    pub failed: bool,
    /// True if the amount is known to the precision of a double only.
    pub approximate: bool,
}

/// The holding of an account in one asset as the oracle computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OracleHolding {
    /// The balance when the history of the asset begins.
    pub opening: Amount,
    /// All that came in since.
    pub received: Amount,
    /// All that went out, fees included.
    pub sent: Amount,
    /// The fees among it.
    pub fees: Amount,
}

/// The movements of an account, oldest first. Rows without an ordinal are in order of content.
///
/// # Panics
/// When sums of a transaction pass 256 bits.
#[must_use]
pub fn rows_of(transactions: &[TransactionFacts], account: &Address) -> Vec<OracleRow> {
    let mut rows: Vec<_> = transactions.iter().flat_map(|facts| rows_in(facts, account)).collect();
    rows.sort();
    rows
}

/// The block at whose end the history of each asset begins with stated balances: the latest there is.
fn openings_of(transactions: &[TransactionFacts]) -> BTreeMap<Asset, u64> {
    let mut blocks: BTreeMap<Asset, u64> = BTreeMap::new();
    for facts in transactions {
        for movement in facts.movements.iter().filter(|movement| movement.kind == MovementFact::Opening) {
            let block = blocks.entry(movement.asset).or_default();
            *block = facts.block.max(*block);
        }
    }
    blocks
}

/// The holdings of an account by asset: failed transactions count only by their fee, self transfers not at all, and neither do
/// amounts that are approximate and what moved at the block of an opening or before not either.
///
/// # Panics
/// When a sum passes 256 bits.
#[must_use]
pub fn holdings_of(transactions: &[TransactionFacts], account: &Address) -> BTreeMap<Asset, OracleHolding> {
    let mut holdings: BTreeMap<Asset, OracleHolding> = BTreeMap::new();
    let add = |sum: &mut Amount, amount| *sum = sum.checked_add(amount).expect("sums of a test fit");
    let openings = openings_of(transactions);
    for facts in transactions {
        for movement in facts.movements.iter().filter(|movement| movement.kind == MovementFact::Opening) {
            if movement.to == Some(*account) && openings[&movement.asset] == facts.block {
                add(&mut holdings.entry(movement.asset).or_default().opening, movement.amount);
            }
        }
    }
    let is_in_opening = |row: &&OracleRow| openings.get(&row.asset).is_some_and(|block| row.block <= *block);
    let rows = rows_of(transactions, account);
    for row in rows.iter().filter(|row| !row.failed && !row.approximate && !is_in_opening(row)) {
        let holding = holdings.entry(row.asset).or_default();
        match row.direction {
            Direction::In => add(&mut holding.received, row.amount),
            Direction::Out => add(&mut holding.sent, row.amount),
            Direction::Own => {}
        }
    }
    for facts in transactions {
        let pays = facts.body.is_some_and(|body| body.from == Some(*account));
        let price = facts.effective_gas_price.or(facts.gas_price);
        let by_gas = price.zip(facts.gas_used).and_then(|(price, gas)| price.checked_mul(Amount::from(gas)));
        if let Some(fee) = facts.fee.or(by_gas).filter(|_| pays) {
            let holding = holdings.entry(Asset::Native).or_default();
            add(&mut holding.sent, fee);
            add(&mut holding.fees, fee);
        }
    }
    holdings
}

fn rows_in(facts: &TransactionFacts, account: &Address) -> Vec<OracleRow> {
    let row = |kind, ordinal, asset, direction, counterparty, amount| OracleRow {
        block: facts.block,
        index: facts.index.unwrap_or(u32::MAX),
        hash: facts.hash,
        kind,
        ordinal,
        asset,
        direction,
        counterparty,
        amount,
        failed: facts.status == Some(Status::Failed),
        approximate: false,
    };
    let sides = |from: Option<Address>, to: Option<Address>| match (from == Some(*account), to == Some(*account)) {
        (true, true) => Some((Direction::Own, Some(*account))),
        (true, false) => Some((Direction::Out, to)),
        (false, true) => Some((Direction::In, from)),
        (false, false) => None,
    };

    let mut rows = Vec::new();
    if let Some(body) = &facts.body
        && let Some((direction, other)) = sides(body.from, body.to.or(facts.created))
    {
        let native = row(MovementKind::Native, 0, Asset::Native, direction, other, body.value);
        rows.push(OracleRow { approximate: facts.approximate.contains(&AmountOf::Value), ..native });
    }
    for movement in &facts.movements {
        let kind = match movement.kind {
            MovementFact::Internal => MovementKind::Internal,
            MovementFact::Token => MovementKind::Token,
            MovementFact::NonFungible | MovementFact::Opening => continue,
        };
        if let Some((direction, other)) = sides(movement.from, movement.to) {
            let ordinal = movement.ordinal.shown().unwrap_or(u64::MAX);
            let row = row(kind, ordinal, movement.asset, direction, other, movement.amount);
            let approximate = AmountOf::of_fact(movement).is_some_and(|name| facts.approximate.contains(&name));
            rows.push(OracleRow { approximate, ..row });
        }
    }
    rows.extend(
        net_change(facts, account).map(|(ordinal, direction, amount)| {
            row(MovementKind::Utxo, ordinal, Asset::Native, direction, None, amount)
        }),
    );
    rows
}

/// Place of the address among those of the transaction, direction and size of its net change.
fn net_change(facts: &TransactionFacts, account: &Address) -> Option<(u64, Direction, Amount)> {
    let utxo = facts.utxo.as_ref()?;
    let inputs = || utxo.inputs.iter().filter_map(|input| input.spent.as_ref());
    let owners = inputs().chain(&utxo.outputs).filter_map(|output| output.owner);
    let mut seen = Vec::new();
    owners.for_each(|owner| {
        if !seen.contains(&owner) {
            seen.push(owner);
        }
    });
    let place = seen.iter().position(|owner| owner == account)?;
    let mine = |output: &&headwater_ledger::facts::OutputFacts| output.owner == Some(*account);
    let sent: u64 = inputs().filter(mine).map(|output| output.amount).sum();
    let received: u64 = utxo.outputs.iter().filter(mine).map(|output| output.amount).sum();
    let direction = match received.cmp(&sent) {
        std::cmp::Ordering::Greater => Direction::In,
        std::cmp::Ordering::Less => Direction::Out,
        std::cmp::Ordering::Equal => Direction::Own,
    };
    Some((place as u64, direction, Amount::from(received.abs_diff(sent))))
}
