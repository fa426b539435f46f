//! Small transactions from terse rows.

use headwater_intel::bitcoin::TransactionView;
use headwater_intel::bitcoin::change::{Abstention, Case, rule};
use headwater_ledger::facts::{InputFacts, OutPoint, OutputFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;
use headwater_testkit::address;
use headwater_types::{Chain, Timestamp, TxHash};

/// The first of June 2024, behind every date that a rule knows.
pub const TIME: Timestamp = Timestamp::new(1_717_200_000);
pub const BLOCK: u64 = 846_000;

/// An output of so many satoshis to account `number`.
pub fn output(number: u64, amount: u64) -> OutputFacts {
    form(ScriptType::P2wpkh, number, amount)
}

/// The same in another form.
pub fn form(script: ScriptType, number: u64, amount: u64) -> OutputFacts {
    OutputFacts { owner: Some(address(Chain::BITCOIN, number)), amount, script, data: None }
}

/// A data output.
pub fn note() -> OutputFacts {
    OutputFacts { owner: None, amount: 0, script: ScriptType::OpReturn, data: Some(vec![1]) }
}

/// An input that spends what is held.
pub fn spends(spent: OutputFacts) -> InputFacts {
    let mut bytes = [7; 32];
    bytes[..8].copy_from_slice(&spent.amount.to_be_bytes());
    InputFacts::new(OutPoint { hash: TxHash::new(bytes), index: 0 }, Some(spent))
}

/// An input of which nothing is held.
pub fn unknown() -> InputFacts {
    InputFacts::new(OutPoint { hash: TxHash::new([9; 32]), index: 3 }, None)
}

/// A transaction from accounts with amounts to accounts with amounts.
pub fn payment(inputs: &[(u64, u64)], outputs: &[(u64, u64)]) -> UtxoFacts {
    let spent = |&(number, amount): &(u64, u64)| spends(output(number, amount));
    let paid = |&(number, amount): &(u64, u64)| output(number, amount);
    UtxoFacts::new(false, inputs.iter().map(spent).collect(), outputs.iter().map(paid).collect())
}

pub fn view(facts: &UtxoFacts) -> TransactionView<'_> {
    TransactionView::new(facts, BLOCK, TIME)
}

/// What a rule leaves of a transaction.
pub fn left(name: &str, case: &Case<'_>) -> Result<Vec<usize>, Abstention> {
    rule(name).unwrap().candidates(case).map(|candidates| candidates.iter().collect())
}

/// What a rule leaves of a transaction of which nothing else is known.
pub fn left_of(name: &str, facts: &UtxoFacts) -> Result<Vec<usize>, Abstention> {
    left(name, &Case::new(view(facts)))
}
