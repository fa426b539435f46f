//! Chains of steps, and where they end.

use headwater_intel::bitcoin::peel_chain::{PeelChain, PeelEnd, PeelRules, peel_chain, peel_chain_of};
use headwater_ledger::Cancel;
use headwater_ledger::read::{Accounts, Scan, Transactions};
use headwater_ledger::store::MemoryStore;
use headwater_testkit::{Chainlet, address, hash};
use headwater_types::{Address, Chain, TimeWindow};

/// A coin of 10,000,000 from which a tenth is peeled so many times, each by a transaction of the next block. Change goes
/// to accounts from 101 on, payments to accounts from 201 on.
fn peeled(steps: u64) -> Chainlet {
    let mut held = 10_000_000;
    (1..=steps).fold(Chainlet::bitcoin().mine(100, held), |chainlet, step| {
        let paid = held / 10;
        held -= paid + 100;
        // The change stands first in every second step.
        let outputs = [(100 + step, held), (200 + step, paid)];
        let place = |step: u64| u32::from(step > 1 && step.is_multiple_of(2));
        let outputs = if place(step + 1) == 0 { outputs } else { [outputs[1], outputs[0]] };
        chainlet.spend(&[(step, 0, place(step))], &outputs)
    })
}

fn found(chainlet: Chainlet, block: u64, rules: &PeelRules, service: Option<u64>) -> Option<PeelChain> {
    let mut store = MemoryStore::default();
    store.commit(chainlet.batch(), &Cancel::new()).unwrap();
    let service = service.map(|number| address(Chain::BITCOIN, number));
    let mut is_service = |address: &Address| Ok(Some(*address) == service);
    let ledger = store.snapshot();
    peel_chain(&*ledger, Chain::BITCOIN, &hash(block, 0), (rules, &mut is_service), &Cancel::new()).unwrap()
}

/// First and last block of a chain, and its end.
fn ends(chain: Option<PeelChain>) -> Option<(u64, u64, PeelEnd)> {
    let chain = chain?;
    Some((chain.steps.first()?.block, chain.steps.last()?.block, chain.end))
}

const RULES: fn() -> PeelRules = PeelRules::default;

#[test]
fn a_chain_is_found_from_each_of_its_steps() {
    for block in 2..=8 {
        let chain = found(peeled(7), block, &RULES(), None).unwrap();
        assert_eq!(chain.steps.len(), 7);
        // A tenth of 10,000,000, then of 10,000,000 - 1,000,100.
        let amounts: Vec<String> = chain.steps[..2].iter().map(|step| step.peeled_amount.to_string()).collect();
        assert_eq!(amounts, ["1000000", "899990"]);
        assert_eq!(chain.steps[0].rest_amount.to_string(), "8999900");
        assert_eq!((chain.steps[0].peeled, chain.steps[0].rest), (0, 1));
        assert_eq!(ends(Some(chain)), Some((2, 8, PeelEnd::Unspent)));
    }
    assert_eq!(found(peeled(7), 1, &RULES(), None), None, "the coinbase is no step");
}

#[test]
fn a_chain_has_five_steps_at_least() {
    assert_eq!(ends(found(peeled(5), 3, &RULES(), None)), Some((2, 6, PeelEnd::Unspent)));
    assert_eq!(found(peeled(4), 3, &RULES(), None), None);
    let shorter = PeelRules { least_steps: 4, ..RULES() };
    assert_eq!(ends(found(peeled(4), 3, &shorter, None)), Some((2, 5, PeelEnd::Unspent)));
}

/// Seven steps, the last output of which is spent by a transaction of these outputs.
fn then(outputs: &[(u64, u64)]) -> Option<(u64, u64, PeelEnd)> {
    let chainlet = peeled(7);
    let batch = chainlet.clone().batch();
    let last = batch.transactions.last().unwrap().utxo.as_ref().unwrap();
    let rest = last.outputs.iter().position(|output| output.amount > 3_000_000).unwrap();
    let chainlet = chainlet.spend(&[(8, 0, u32::try_from(rest).unwrap())], outputs);
    ends(found(chainlet, 5, &RULES(), None))
}

#[test]
fn a_step_peels_thirty_hundredths_at_most_and_no_dust() {
    // 30 and 70 of 100.
    assert_eq!(then(&[(300, 1_400_000), (301, 600_000)]), Some((2, 9, PeelEnd::Unspent)));
    assert_eq!(then(&[(300, 1_399_999), (301, 600_001)]), Some((2, 8, PeelEnd::OtherForm)));
    assert_eq!(then(&[(300, 1_400_000), (301, 1_000)]), Some((2, 9, PeelEnd::Unspent)));
    assert_eq!(then(&[(300, 1_400_000), (301, 999)]), Some((2, 8, PeelEnd::OtherForm)), "a mark of a token");
    assert_eq!(then(&[(300, 1_400_000)]), Some((2, 8, PeelEnd::OtherForm)), "swept");
    assert_eq!(then(&[(300, 1_400_000), (301, 5_000), (302, 5_001)]), Some((2, 8, PeelEnd::OtherForm)), "to three");
}

#[test]
fn a_chain_ends_at_a_service() {
    // The change of the sixth step, in block 7, is the service's own.
    assert_eq!(ends(found(peeled(7), 4, &RULES(), Some(106))), Some((2, 7, PeelEnd::Service)));
    let from_behind = found(peeled(7), 8, &PeelRules { least_steps: 1, ..RULES() }, Some(106));
    assert_eq!(ends(from_behind), Some((8, 8, PeelEnd::Unspent)), "what the service pays is another chain");
}

#[test]
fn the_next_step_comes_within_three_days_unless_told_otherwise() {
    // A block of a chainlet takes 12 seconds: 21,600 blocks are three days.
    let late = |blocks: u64| {
        let first = peeled(5);
        let batch = first.clone().batch();
        let outputs = &batch.transactions.last().unwrap().utxo.as_ref().unwrap().outputs;
        let rest = outputs.iter().position(|output| output.amount > 5_000_000).unwrap();
        first.at_block(6 + blocks).spend(&[(6, 0, u32::try_from(rest).unwrap())], &[(300, 4_000_000), (301, 500_000)])
    };
    assert_eq!(ends(found(late(21_600), 4, &RULES(), None)), Some((2, 21_606, PeelEnd::Unspent)));
    assert_eq!(ends(found(late(21_601), 4, &RULES(), None)), Some((2, 6, PeelEnd::Gap)));
    let forensic = PeelRules { most_gap_secs: None, ..RULES() };
    assert_eq!(ends(found(late(21_601), 4, &forensic, None)), Some((2, 21_607, PeelEnd::Unspent)));
}

/// Steps of the chain that account `number` is in, with what is paid up to a block.
fn of_account(number: u64, until_block: i64, rules: &PeelRules) -> Option<Vec<u64>> {
    let mut store = MemoryStore::default();
    store.commit(peeled(7).batch(), &Cancel::new()).unwrap();
    let ledger = store.snapshot();
    let account = ledger.account(Chain::BITCOIN, &address(Chain::BITCOIN, number)).unwrap().unwrap();
    let first = ledger.block(Chain::BITCOIN, 1).unwrap().unwrap().time.secs();
    let until = first + 12 * (until_block - 1);
    let scan = Scan { window: TimeWindow::new(None, Some(until)).unwrap(), ..Scan::default() };
    let found = peel_chain_of(&*ledger, &account, &scan, (rules, &mut |_| Ok(false)), &Cancel::new()).unwrap();
    found.map(|chain| chain.steps.iter().map(|step| step.block).collect())
}

#[test]
fn an_address_is_in_the_chain_that_it_spends_in() {
    let whole = Some(vec![2, 3, 4, 5, 6, 7, 8]);
    for number in 100..107 {
        assert_eq!(of_account(number, 8, &RULES()), whole, "account {number} passes the coin on");
    }
    assert_eq!(of_account(107, 8, &RULES()), None, "the last one has not spent it");
    assert_eq!(of_account(203, 8, &RULES()), None, "who is paid is in no chain");
    // What happens after a window is left out.
    assert_eq!(of_account(100, 6, &RULES()), Some(vec![2, 3, 4, 5, 6]));
    assert_eq!(of_account(100, 5, &RULES()), None);
    // Two steps in each direction make five at most.
    let near = PeelRules { most_steps: 2, ..RULES() };
    assert_eq!(of_account(103, 8, &near), Some(vec![3, 4, 5, 6, 7]));
}

#[test]
fn coins_of_one_address_are_spent_together_and_others_are_not() {
    let with = |owner: u64| {
        let chainlet = peeled(5).mine(owner, 1_000_000);
        let batch = chainlet.clone().batch();
        let outputs = &batch.transactions[5].utxo.as_ref().unwrap().outputs;
        let rest = outputs.iter().position(|output| output.amount > 5_000_000).unwrap();
        let coins = [(6, 0, u32::try_from(rest).unwrap()), (7, 0, 0)];
        ends(found(chainlet.spend(&coins, &[(300, 5_000_000), (301, 500_000)]), 4, &RULES(), None))
    };
    assert_eq!(with(105), Some((2, 8, PeelEnd::Unspent)));
    assert_eq!(with(9), Some((2, 6, PeelEnd::OtherForm)));
}
