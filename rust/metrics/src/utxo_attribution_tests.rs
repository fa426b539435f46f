use headwater_types::address::{UtxoAddress, UtxoPayload};
use headwater_types::{Address, Amount, Network};
use proptest::prelude::*;

use super::{Attribution, Shape};

type Inputs = Vec<(Option<Address>, Option<u64>)>;
type Outputs = Vec<(Option<Address>, u64)>;

fn address(number: u8) -> Address {
    Address::Utxo(UtxoAddress { network: Network::Mainnet, payload: UtxoPayload::PublicKeyHash([number; 20]) })
}

fn known(number: u8, amount: u64) -> (Option<Address>, Option<u64>) {
    (Some(address(number)), Some(amount))
}

fn to(number: u8, amount: u64) -> (Option<Address>, u64) {
    (Some(address(number)), amount)
}

fn ordinary(inputs: &[(Option<Address>, Option<u64>)], outputs: &[(Option<Address>, u64)]) -> Attribution {
    super::pairs(inputs, outputs, Shape::Ordinary)
}

fn raw(found: &Attribution, from: u8, to: u8) -> Option<u128> {
    found.value(&address(from), &address(to)).map(|value| value.to_u128().unwrap())
}

#[test]
fn the_published_two_input_transaction_is_shared_by_input() {
    // Transaction 5 of the GraphSense mini-chain; an output of 150 000 has two owners. 1 480 000 · 1 325 000 /
    // 3 980 000 = 492 713.57, 2 500 000 · 1 325 000 / 3 980 000 = 832 286.43.
    let found = ordinary(
        &[known(3, 1_480_000), known(2, 2_500_000)],
        &[(None, 150_000), to(7, 1_325_000), to(8, 100_000), to(9, 2_350_000)],
    );
    assert_eq!((raw(&found, 3, 7), raw(&found, 2, 7)), (Some(492_714), Some(832_286)));
    assert_eq!((raw(&found, 3, 9), raw(&found, 2, 9)), (Some(873_869), Some(1_476_131)));
    assert_eq!((raw(&found, 3, 8), raw(&found, 2, 8)), (Some(37_186), Some(62_814)));
}

#[test]
fn an_input_without_an_owner_keeps_its_weight() {
    // Transaction 8: 495 000 of 4 495 000 pay 473 526 of 4 300 000, though 1 500 000 have no single owner.
    let found = ordinary(
        &[(None, Some(1_500_000)), known(5, 495_000), known(6, 2_500_000)],
        &[to(12, 4_300_000), to(13, 149_000)],
    );
    assert_eq!(raw(&found, 5, 12), Some(473_526));
    assert_eq!(raw(&found, 6, 12), Some(2_391_546));
    assert_eq!((raw(&found, 5, 13), raw(&found, 6, 13)), (Some(16_408), Some(82_870)));
    assert_eq!(found.all().count(), 4);
}

#[test]
fn change_back_to_an_input_address_disappears() {
    // Transaction 6: 495 000 in, 345 000 back; the fee of 10 000 is attributed to nobody.
    let found = ordinary(&[known(4, 495_000)], &[to(10, 140_000), to(4, 345_000)]);
    assert_eq!(raw(&found, 4, 10), Some(140_000));
    assert_eq!(raw(&found, 4, 4), None);
    assert_eq!(found.change(&address(4)).unwrap().net_in(), 150_000);
}

#[test]
fn address_with_a_net_gain_is_not_a_sender() {
    // A PayJoin: 2 puts in 10 and gets 40. Only 1 is a sender: denominator 100 - 110 + ... = net 90 of address 1.
    let found = ordinary(&[known(1, 100), known(2, 10)], &[to(2, 40), to(1, 10), to(3, 55)]);
    assert_eq!(raw(&found, 1, 2), Some(30));
    assert_eq!(raw(&found, 1, 3), Some(55));
    assert_eq!(raw(&found, 2, 3), None);
    let of_receiver: Vec<_> = found.of(&address(2)).collect();
    assert_eq!(of_receiver.len(), 1);
    assert_eq!((of_receiver[0].from, of_receiver[0].value), (address(1), Amount::from(30)));
}

#[test]
fn nothing_is_guessed_where_an_input_amount_is_unknown() {
    let found = ordinary(&[known(1, 100), (None, None)], &[to(2, 40)]);
    assert_eq!(found.unresolved_inputs(), 1);
    assert!(!found.has_pairs());
    assert_eq!(found.all().count(), 0);
    assert_eq!(found.change(&address(2)).unwrap().net_out(), 40);
}

#[test]
fn a_coinjoin_makes_no_pairs_and_a_coinbase_has_no_sender() {
    let joined = super::pairs(&[known(1, 5), known(2, 5)], &[to(3, 5), to(4, 5)], Shape::CoinJoin);
    assert!(!joined.has_pairs());
    assert_eq!(joined.all().count(), 0);
    let minted = ordinary(&[], &[to(1, 50)]);
    assert_eq!(minted.all().count(), 0);
    assert_eq!(minted.change(&address(1)).unwrap().net_out(), 50);
}

#[test]
fn shares_past_128_bits_in_between_are_exact() {
    // u64::MAX twice in and out: each of two senders pays half of each, (2^64 - 1) / 2 rounded up.
    let half = u128::from(u64::MAX).div_ceil(2);
    let found = ordinary(&[known(1, u64::MAX), known(2, u64::MAX)], &[to(3, u64::MAX), to(4, u64::MAX)]);
    assert_eq!((raw(&found, 1, 3), raw(&found, 2, 4)), (Some(half), Some(half)));
    // (3 · 2^64)² passes 128 bits; the whole goes to the one receiver.
    let full = [known(1, u64::MAX), known(1, u64::MAX), known(1, u64::MAX)];
    let found = ordinary(&full, &[to(3, u64::MAX), to(3, u64::MAX), to(3, u64::MAX)]);
    assert_eq!(raw(&found, 1, 3), Some(3 * u128::from(u64::MAX)));
}

#[test]
fn changes_are_in_order_of_first_occurrence_inputs_first() {
    let found = ordinary(&[known(9, 1), known(2, 1), known(9, 1)], &[to(5, 1), to(2, 1)]);
    let order: Vec<_> = found.changes().iter().map(|change| change.address).collect();
    assert_eq!(order, [address(9), address(2), address(5)]);
    assert_eq!(found.change(&address(9)).unwrap().gross_in, 2);
}

fn owner() -> impl Strategy<Value = Option<Address>> {
    proptest::option::weighted(0.85, (0u8..6).prop_map(address))
}

/// A transaction whose outputs never exceed its inputs.
fn transaction() -> impl Strategy<Value = (Inputs, Outputs)> {
    let input = (owner(), 1u64..1_000_000);
    let output = (owner(), 1u64..1_000_000);
    (proptest::collection::vec(input, 1..8), proptest::collection::vec(output, 1..8)).prop_map(|(inputs, outputs)| {
        let total_in: u64 = inputs.iter().map(|(_, amount)| amount).sum();
        let total_out: u64 = outputs.iter().map(|(_, amount)| amount).sum();
        let outputs = outputs
            .into_iter()
            .map(|(owner, amount)| {
                let scaled = u128::from(amount) * u128::from(total_in) / u128::from(total_out.max(total_in));
                (owner, u64::try_from(scaled).unwrap())
            })
            .collect();
        (inputs.into_iter().map(|(owner, amount)| (owner, Some(amount))).collect(), outputs)
    })
}

/// The rule written down once more, naively: the denominator as `methods.md` states it, each sum made anew.
fn by_the_book(inputs: &Inputs, outputs: &Outputs, from: Address, to: Address) -> Option<u128> {
    let gross_in = |who| {
        inputs
            .iter()
            .filter(|(owner, _)| *owner == Some(who))
            .map(|(_, amount)| i128::from(amount.unwrap()))
            .sum::<i128>()
    };
    let net = |who| {
        outputs.iter().filter(|(owner, _)| *owner == Some(who)).map(|(_, amount)| i128::from(*amount)).sum::<i128>()
            - gross_in(who)
    };
    let everybody: Vec<Address> = (0u8..6).map(address).collect();
    let total: i128 = inputs.iter().map(|(_, amount)| i128::from(amount.unwrap())).sum();
    let denominator = total - everybody.iter().map(|who| gross_in(*who)).sum::<i128>()
        + everybody.iter().map(|who| (-net(*who)).max(0)).sum::<i128>();
    let (lost, gained) = (-net(from), net(to));
    (lost > 0 && gained > 0).then(|| u128::try_from((2 * lost * gained + denominator) / (2 * denominator)).unwrap())
}

#[test]
fn bounded_shares_sum_to_what_the_payee_got() {
    // Each of three inputs of 1 paid two thirds, which is 1 when it is rounded.
    let found = ordinary(&[known(1, 1), known(2, 1), known(3, 1)], &[to(9, 2)]);
    let values = |of: u8| -> Vec<u128> {
        let counterparties = found.bounded_counterparties(&address(of));
        counterparties.iter().map(|(_, value)| value.to_u128().unwrap()).collect()
    };
    assert_eq!(values(9), [1, 1, 0]);
    assert_eq!([values(1), values(2), values(3)], [[1], [1], [0]]);
}

proptest! {
    #[test]
    fn every_pair_is_the_rule_by_the_book((inputs, outputs) in transaction()) {
        let found = ordinary(&inputs, &outputs);
        for from in 0..6 {
            for to in 0..6 {
                prop_assert_eq!(raw(&found, from, to), by_the_book(&inputs, &outputs, address(from), address(to)));
            }
        }
    }

    #[test]
    fn all_pairs_and_the_pairs_of_each_address_are_the_same((inputs, outputs) in transaction()) {
        let found = ordinary(&inputs, &outputs);
        let mut from_each: Vec<_> = (0..6)
            .flat_map(|number| found.of(&address(number)).filter(move |pair| pair.from == address(number)))
            .collect();
        let mut all: Vec<_> = found.all().collect();
        all.sort_by_key(|pair| (pair.from, pair.to));
        from_each.sort_by_key(|pair| (pair.from, pair.to));
        prop_assert_eq!(all, from_each);
    }

    #[test]
    fn nobody_is_paid_more_than_gained_but_for_rounding((inputs, outputs) in transaction()) {
        let found = ordinary(&inputs, &outputs);
        for change in found.changes() {
            let paid: Vec<_> = found.of(&change.address).map(|pair| pair.value.to_u128().unwrap()).collect();
            let bound = change.net_in().max(change.net_out());
            prop_assert!(paid.iter().sum::<u128>() <= bound + paid.len() as u128);
        }
    }
}
