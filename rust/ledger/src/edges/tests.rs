//! Records of every shape come back from their file.

use headwater_types::{Amount, Chain, Network, Timestamp, Usd};
use proptest::prelude::*;

use super::file::{DATA, EdgeFile, STARTS, STEPS, SUMMARY, Summary};
use super::pack::{Encoder, places_by, selected};
use super::records::{EdgeFlows, EdgeOrder, EdgeSide};
use super::tally::{AccountEdges, AssetRow, PairRow};
use crate::segment::{Container, SegmentFile};

const BASE: Timestamp = Timestamp::new(1_000);

// Choices are made by a number: a strategy of several others begins a random generator for each of them, and so takes
// longer than all that is tested.

fn side() -> impl Strategy<Value = EdgeSide> {
    let usd = (0..4_u8, any::<u128>()).prop_map(|(form, raw)| match form {
        0 => 0,
        1 => (raw % 1_000).cast_signed(),
        2 => (raw >> 64).cast_signed(),
        _ => (raw >> 2).cast_signed(),
    });
    (0..4_u64, 0..4_u64, any::<u64>(), usd).prop_map(|(transfers, fewer, unpriced, usd)| EdgeSide {
        transfers,
        transactions: transfers.saturating_sub(fewer).max(u64::from(transfers > 0)),
        unpriced: unpriced % (transfers + 1),
        usd: if transfers > 0 { Usd::from_raw(usd) } else { Usd::ZERO },
    })
}

fn flows() -> impl Strategy<Value = EdgeFlows> {
    (side(), side(), any::<u32>(), 0..5_u32, any::<bool>()).prop_map(|(received, sent, first, span, shared)| {
        if received.transfers + sent.transfers == 0 {
            return EdgeFlows::NONE;
        }
        let first = BASE.secs() + i64::from(first);
        let both = received.transactions.min(sent.transactions);
        EdgeFlows {
            received,
            sent,
            transactions: received.transactions + sent.transactions - if shared { both } else { 0 },
            first: Timestamp::new(first),
            last: Timestamp::new(first + i64::from(span)),
        }
    })
}

fn amount() -> impl Strategy<Value = Option<Amount>> {
    (0..5_u8, any::<[u128; 2]>(), 0..20_u32).prop_map(|(form, [high, low], zeros)| match form {
        0 => Some(Amount::from_u128((low >> 64) * 10_u128.pow(zeros % 19))),
        1 => {
            let mut bytes = [0; 32];
            bytes[..16].copy_from_slice(&high.to_be_bytes());
            bytes[16..].copy_from_slice(&low.to_be_bytes());
            Some(Amount::from_be_bytes(bytes))
        }
        2 => Some(Amount::from_u128(low)),
        3 => Some(Amount::MAX),
        _ => None,
    })
}

fn row() -> impl Strategy<Value = AssetRow> {
    let flows = flows().prop_filter("an asset row has a movement", |flows| flows.transfers() > 0);
    (0..300_u32, flows, amount(), amount()).prop_map(|(asset, flows, received, sent)| AssetRow {
        asset,
        received: if flows.received.transfers > 0 { received } else { Some(Amount::ZERO) },
        sent: if flows.sent.transfers > 0 { sent } else { Some(Amount::ZERO) },
        flows,
    })
}

/// Pairs in their order, one with one row in scope having the flows of that row.
fn account(pairs: usize) -> impl Strategy<Value = AccountEdges> {
    let pair = (any::<u32>(), flows(), prop::collection::vec(row(), 1..3));
    prop::collection::vec(pair, 0..pairs).prop_map(|held| {
        let mut held: Vec<_> = held
            .into_iter()
            .map(|(other, flows, rows)| {
                let flows = if rows.len() == 1 && flows.transfers() > 0 { rows[0].flows } else { flows };
                (PairRow { other, flows, assets: u32::try_from(rows.len()).unwrap() }, rows)
            })
            .collect();
        held.sort_by(|(one, _), (other, _)| {
            let weight = |pair: &PairRow| pair.flows.weight(EdgeOrder::Total);
            weight(other).cmp(&weight(one)).then_with(|| one.other.cmp(&other.other))
        });
        held.dedup_by_key(|(pair, _)| pair.other);
        let (pairs, rows): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        AccountEdges { pairs, rows: rows.into_iter().flatten().collect() }
    })
}

fn file(accounts: &[AccountEdges]) -> EdgeFile {
    let (mut starts, mut steps, mut data) = (Vec::new(), Vec::new(), Vec::new());
    let mut encoder = Encoder::default();
    for (place, edges) in accounts.iter().enumerate() {
        if place % 64 == 0 {
            starts.push(data.len() as u64);
        }
        steps.push(u32::try_from(data.len() as u64 - starts[place / 64]).unwrap());
        if !edges.pairs.is_empty() {
            encoder.encode(edges, BASE, &mut data);
        }
    }
    starts.push(data.len() as u64);
    let accounts = accounts.len() as u64;
    let summary = Summary { stamp: 7, accounts, pairs: 0, rows: 0, transactions: 0, movements: 0, base: BASE.secs() };
    let mut bytes = Vec::new();
    let mut out = SegmentFile::begin(&mut bytes, Chain::ETHEREUM, Network::Mainnet).unwrap();
    out.put(SUMMARY, &[summary]).unwrap();
    out.put(STARTS, &starts).unwrap();
    out.put(STEPS, &steps).unwrap();
    out.put(DATA, &data).unwrap();
    out.finish().unwrap();
    EdgeFile::read(Container::from_bytes("edges of a test", &bytes).unwrap()).unwrap()
}

fn check(accounts: &[AccountEdges]) {
    let file = file(accounts);
    for (id, edges) in (0..).zip(accounts) {
        let Some(record) = file.account(id).unwrap() else {
            assert!(edges.pairs.is_empty());
            continue;
        };
        assert_eq!(record.all().unwrap(), *edges);
        for order in [EdgeOrder::Total, EdgeOrder::Sent, EdgeOrder::Received] {
            for limit in [1, 5, 100, usize::MAX] {
                let expected = selected(edges, places_by(&edges.pairs, order), limit);
                assert_eq!(record.first(order, limit).unwrap(), expected, "{order:?} {limit}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn small_records_come_back(accounts in prop::collection::vec(account(5), 0..150)) {
        check(&accounts);
    }

    #[test]
    fn long_records_come_back(accounts in prop::collection::vec(account(600), 1..3)) {
        check(&accounts);
    }
}
