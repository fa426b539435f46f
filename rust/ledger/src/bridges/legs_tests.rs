//! Hand-worked cases of the output that a memo is about.

use headwater_bridge::Half;
use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};

use super::legs;
use crate::facts::{InputFacts, OutPoint, OutputFacts, TransactionFacts, UtxoFacts};
use crate::read::ScriptType;

const PAYER: &str = "1FDCgJ8m2xDyVmYuankk13XReVC2Zvs5cz";
const VAULT: &str = "1HxbaBMF2jXBVnagoHvaA6rLxmaYL8gb8T";
const MEMO: &str = "=:ETH.ETH:0x57bbebae9ad82bd7e06ba091ac12753d126a64aa:0";

fn output(owner: Option<&str>, amount: u64) -> OutputFacts {
    let owner = owner.map(|text| Address::parse(Chain::BITCOIN, text).unwrap());
    OutputFacts { owner, amount, script: ScriptType::Nonstandard, data: None }
}

fn memo() -> OutputFacts {
    OutputFacts { data: Some(MEMO.as_bytes().to_vec()), ..output(None, 0) }
}

/// The leg of a transaction in which the payer spends 100,000 satoshis.
fn leg(outputs: Vec<OutputFacts>) -> Half {
    let spent = output(Some(PAYER), 100_000);
    let previous = OutPoint { hash: TxHash::new([1; 32]), index: 0 };
    let utxo = UtxoFacts::new(false, vec![InputFacts::new(previous, Some(spent))], outputs);
    let facts = TransactionFacts { utxo: Some(utxo), ..TransactionFacts::new(TxHash::new([2; 32]), 7) };
    let [leg] = legs(Chain::BITCOIN, Timestamp::new(1_700_000_000), &facts).try_into().unwrap();
    leg
}

#[test]
fn a_memo_is_about_the_output_that_is_neither_data_nor_change() {
    let [vault, change] = [output(Some(VAULT), 70_000), output(Some(PAYER), 29_000)];
    for outputs in [
        vec![vault.clone(), change.clone(), memo()],
        vec![memo(), vault.clone(), change.clone()],
        vec![change, memo(), vault],
    ] {
        assert_eq!(leg(outputs).amount, Some(Amount::from(70_000)));
    }
}
