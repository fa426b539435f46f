//! Nomad's withdrawals from Moonbeam to ethereum with their ids hidden: receiver, token, amount and time alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;

use headwater_types::{Address, Amount, Timestamp, TxHash};

use super::{chain_named, corpus_bytes, fixed, wilson};
use crate::half::{Half, LinkKey, MatchClass, Step, Token};
use crate::matching::LegTable;
use crate::party::Party;

/// The rows of a packed table, by column.
fn rows(file: &str, separator: char) -> Vec<HashMap<String, String>> {
    let mut text = String::new();
    let packed = corpus_bytes(&format!("nomad/{file}"));
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    let mut lines = text.lines();
    let names: Vec<String> = lines.next().unwrap().split(separator).map(str::to_owned).collect();
    lines.map(|line| names.iter().cloned().zip(line.split(separator).map(str::to_owned)).collect()).collect()
}

/// A leg whose only key is its content.
fn leg(step: Step, row: &HashMap<String, String>, columns: (&str, &str), id: u64) -> Half {
    let (chain, other) = match step {
        Step::Sent => ("moonbeam", "ethereum"),
        _ => ("ethereum", "moonbeam"),
    };
    let (time, hash) = (&row[columns.0], &row[columns.1]);
    let receiver = Party::Account(Address::Evm(fixed(&row["beneficiary"])));
    let amount = Amount::parse_raw(&row["amount"]).unwrap();
    let time: i64 = time.parse().unwrap();
    Half {
        family: "nomad".into(),
        bridge: "Nomad".into(),
        event: "".into(),
        step,
        class: MatchClass::Content,
        keys: vec![LinkKey::new(format!("{receiver}:{}:{amount}", row["dst_token"]))],
        chain: chain_named(chain),
        block: u64::try_from(time).unwrap(),
        time: Timestamp::new(time),
        transaction: TxHash::new(fixed(hash)),
        // Several withdrawals of one transaction need an index each.
        log_index: id,
        other_chain: Some(chain_named(other)),
        other_transaction: None,
        sender: None,
        receiver: Some(receiver),
        token: Some(Token::contract(Address::Evm(fixed(&row["dst_token"])))),
        amount: Some(amount),
        other_token: None,
        other_amount: None,
    }
}

#[test]
fn corpus_nomad_withdrawals_join_without_their_ids() {
    let number = |row: &HashMap<String, String>| row["withdrawal_id"].parse::<u64>().unwrap();
    let pairs = rows("cctxs_withdrawals.csv.gz", ',');
    let mut table = LegTable::default();
    for file in ["TC_ValidERC20TokenWithdrawal.tsv.gz", "TC_ValidNativeTokenWithdrawal.tsv.gz"] {
        let sources = rows(file, '\t');
        table.extend(sources.iter().map(|row| leg(Step::Sent, row, ("timestamp", "transaction_hash"), number(row))));
    }
    // Destinations: the events of that time, and those of the pairs that came later.
    let mut destinations = BTreeMap::new();
    for row in rows("SC_ValidERC20TokenWithdrawal.tsv.gz", '\t') {
        let half = leg(Step::Received, &row, ("timestamp", "transaction_hash"), number(&row));
        destinations.insert((half.transaction, number(&row)), half);
    }
    for row in &pairs {
        let half = leg(Step::Received, row, ("dst_timestamp", "dst_tx_hash"), number(row));
        destinations.entry((half.transaction, number(row))).or_insert(half);
    }
    table.extend(destinations.into_values());

    let truth: BTreeSet<(TxHash, TxHash, u64)> = pairs
        .iter()
        .map(|row| (TxHash::new(fixed(&row["orig_tx_hash"])), TxHash::new(fixed(&row["dst_tx_hash"])), number(row)))
        .collect();
    let joined: Vec<_> = table
        .transfers()
        .into_iter()
        .filter_map(|transfer| {
            let (source, destination) = (transfer.source?, transfer.destinations.first()?);
            Some(((source.transaction, destination.transaction, source.log_index), transfer.confidence()))
        })
        .collect();
    let right = joined.iter().filter(|(pair, _)| truth.contains(pair)).count();
    println!(
        "nomad: {} legs; precision {right}/{} {:.5} 95 % {:.5?}; recall {right}/{} {:.5} 95 % {:.5?}",
        table.len(),
        joined.len(),
        share(right, joined.len()),
        wilson(right, joined.len()),
        truth.len(),
        share(right, truth.len()),
        wilson(right, truth.len()),
    );
    for (name, ambiguous) in [("alone", false), ("one of several", true)] {
        let of = joined.iter().filter(|(_, confidence)| (*confidence < 0.9) == ambiguous);
        let (right, all) =
            of.fold((0, 0), |(right, all), (pair, _)| (right + usize::from(truth.contains(pair)), all + 1));
        println!("  {name}: {right}/{all} 95 % {:.5?}", wilson(right, all));
    }
    assert_eq!((truth.len(), joined.len()), (2_294, 2_294));
    assert!(share(right, joined.len()) >= 0.999 && share(right, truth.len()) >= 0.999, "{right}");
}

fn share(hits: usize, of: usize) -> f64 {
    f64::from(u32::try_from(hits).unwrap()) / f64::from(u32::try_from(of).unwrap())
}
