//! Logs and call data of any content: nothing panics, and what is cut off is left out.

use proptest::prelude::*;

use super::{OwnLog, OwnedTransaction, corpus_json, corpus_log, text};
use crate::Tables;
use crate::half::Half;

/// An event of the tables from a contract of its family, with any topics and data.
fn any_log() -> impl Strategy<Value = (String, OwnLog)> {
    let tables = Tables::builtin();
    let events = tables.events().len();
    let word = prop_oneof![
        any::<[u8; 32]>(),
        any::<u8>().prop_map(|byte| super::word(u128::from(byte))),
        (0_u128..20).prop_map(|offset| super::word(offset * 32)),
        any::<[u8; 20]>().prop_map(super::padded),
    ];
    let words = proptest::collection::vec(word.clone(), 0..24);
    (0..events, any::<prop::sample::Index>(), proptest::collection::vec(word, 3), words, 0_usize..32).prop_map(
        move |(event, contract, topics, words, cut)| {
            let event = &tables.events()[event];
            let family = tables.family_of(event);
            let contracts: Vec<_> = tables
                .contracts()
                .iter()
                .filter(|contract| family.names.iter().any(|(name, _)| **name == *contract.family()))
                .filter(|contract| contract.address().starts_with("0x") && contract.address().len() == 42)
                .collect();
            let (chain, account) = if contracts.is_empty() {
                ("ethereum".to_owned(), [9; 20])
            } else {
                let contract = contracts[contract.index(contracts.len())];
                (
                    contract.chain().map_or_else(|| "ethereum".to_owned(), |chain| chain.to_string()),
                    super::fixed(contract.address()),
                )
            };
            let topics = [&[*event.topic0()][..], &topics[..event.topic_count - 1]].concat();
            let mut data = words.concat();
            data.truncate(data.len().saturating_sub(cut));
            (chain, OwnLog { contract: account, topics, data, index: 0 })
        },
    )
}

fn check(legs: &[Half]) {
    for leg in legs {
        assert!(!leg.keys.is_empty() && !leg.key().as_str().is_empty(), "{leg:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn malformed_logs_never_panic(logs in proptest::collection::vec(any_log(), 1..4)) {
        let mut transaction = OwnedTransaction::on(&logs[0].0, 1);
        transaction.from = Some([1; 20]);
        transaction.logs = logs.into_iter().map(|(_, log)| log).collect();
        for (place, log) in transaction.logs.iter_mut().enumerate() {
            log.index = place as u64;
        }
        check(&transaction.legs());
    }

    #[test]
    fn malformed_call_data_never_panics(
        function in prop::sample::select(vec!["0175b1c4", "cdd1b25d", "c6878519", "ff200cde", "c3f511c1", "1c8475e4"]),
        contract in prop::sample::select(vec![
            ("bsc", "e1d592c3322f1f714ca11f05b6bc0efef1907859"),
            ("polygon", "88dcdc47d2f83a99cf0000fdf667a468bb958a78"),
            ("bsc", "b6f6d86a8f9879a9c87f643768d9efc38c1da6e7"),
        ]),
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let mut transaction = OwnedTransaction::on(contract.0, 1);
        transaction.to = Some(super::fixed(contract.1));
        transaction.input = [super::bytes(function), super::dynamic(&bytes)].concat();
        check(&transaction.legs());
        transaction.input = [super::bytes(function), bytes].concat();
        check(&transaction.legs());
    }
}

#[test]
fn corpus_logs_cut_anywhere_never_panic() {
    let vectors = corpus_json("log_decode_vectors.json");
    for vector in vectors["vectors"].as_array().unwrap() {
        let log = corpus_log(vector);
        for cut in (0..log.data.len()).step_by(7) {
            let mut transaction = OwnedTransaction::on(text(vector, "chain"), 1);
            transaction.logs = vec![OwnLog { data: log.data[..cut].to_vec(), ..log.clone() }];
            check(&transaction.legs());
        }
        for topics in 0..log.topics.len() {
            let mut transaction = OwnedTransaction::on(text(vector, "chain"), 1);
            transaction.logs = vec![OwnLog { topics: log.topics[..topics].to_vec(), ..log.clone() }];
            assert!(transaction.legs().is_empty(), "another number of topics is another event");
        }
    }
}
