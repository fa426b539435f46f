//! The rules of the engine against the plain ones, over every address of the demo economy.

use std::collections::BTreeMap;

use headwater_intel::behaviour::{Behaviour as Rule, HistoryGather, OthersInLedger};
use headwater_intel::label::Moment;
use headwater_intel::risk::Parameters;
use headwater_ledger::Cancel;
use headwater_ledger::labels::{Action, Claim, Code, Level, Link, Scope};
use headwater_ledger::read::Generations;
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy, in_memory};
use headwater_metrics::sweep::fold_addresses_with;
use headwater_simulate::truth::{Behaviour, Role};
use headwater_types::{Address, Chain, Timestamp};

use super::{VIEW, holds};
use crate::DEMO;

/// The claims of a list that contains all mixers, bridges and exchanges.
fn known() -> Vec<Claim> {
    let code = |role: Role| match role {
        Role::MixerPool | Role::MixerRelayer => Some(Code::Mixer),
        Role::BridgeVault => Some(Code::Bridge),
        Role::ExchangeHot | Role::ExchangeCold | Role::ExchangeGas => Some(Code::Exchange),
        Role::ExchangeDeposit => Some(Code::Deposit),
        _ => None,
    };
    let claim = |row: &headwater_simulate::truth::AddressTruth| {
        Some(Claim {
            address: row.address,
            scope: Scope::Chain(row.chain),
            code: Some(code(row.role)?),
            name: None,
            entity: Some(row.owner.as_str().into()),
            source: "truth".into(),
            source_url: None,
            group: "truth".into(),
            level: Level::Ownership,
            reliability: Level::Ownership.thousandths(),
            link: Link::Exact,
            asserted_at: None,
            date_basis: None,
            last_seen: None,
            valid_until: None,
            action: Action::Add,
            dispute: None,
        })
    };
    DEMO.truth.addresses.iter().filter_map(claim).collect()
}

#[test]
fn the_rules_of_the_engine_hold_where_the_plain_ones_do() {
    let mut store = in_memory(DEMO.batches.clone(), DEMO.tokens.clone(), DEMO.prices.clone()).unwrap();
    let now = Timestamp::new(0);
    let import = LabelImport {
        source: "truth".to_owned(),
        list: "truth".to_owned(),
        licence: None,
        imported_at: now,
        ended_at: now,
        claims: known(),
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Refused,
        sanctions_of: Vec::new(),
    };
    std::sync::Arc::get_mut(&mut store).unwrap().import_labels(import).unwrap();
    let ledger = store.current().unwrap();

    let parameters = Parameters::standard();
    let mut wrong: BTreeMap<(&str, bool), Vec<String>> = BTreeMap::new();
    let (mut judged, mut held, mut undecided) = (0, 0, 0);
    for chain in [Chain::ETHEREUM, Chain::BSC, Chain::TRON] {
        let moment = Moment::present(ledger.labels(), ledger.coverage()[&chain].last_time);
        let make = || HistoryGather::new(&*ledger, chain, moment, &parameters.scan.stablecoins, usize::MAX);
        let cancel = Cancel::new();
        let found = fold_addresses_with(&*ledger, chain, &cancel, make, |all: &mut Vec<_>, address, history| {
            let others = OthersInLedger::new(&*ledger, make(), parameters.scan.others, &cancel);
            let findings = parameters.behaviours.scan(address, history, &others).unwrap();
            let found = findings.found.into_iter().map(|(rule, _)| rule).collect::<Vec<_>>();
            all.push((*address, history.valued.len(), found, findings.deferred));
        });
        for (address, valued, found, deferred) in found.unwrap().into_iter().flatten() {
            if address.is_zero() || valued == 0 {
                continue;
            }
            // A pool swaps with whoever comes: its own movements look like those of a trader.
            let is_pool = matches!(VIEW.roles.get(&address), Some((Role::DexPool | Role::DexRouter, _)));
            for &behaviour in Behaviour::ALL {
                if is_pool && behaviour == Behaviour::AssetHopping {
                    continue;
                }
                let rule = Rule::from_code(behaviour.code()).unwrap();
                if deferred.contains(&rule) {
                    undecided += 1;
                    continue;
                }
                judged += 1;
                let plainly = plain(chain, address, behaviour);
                held += usize::from(plainly);
                if plainly != found.contains(&rule) {
                    wrong.entry((behaviour.code(), plainly)).or_default().push(format!("{chain} {address}"));
                }
            }
        }
    }
    let shown: Vec<_> =
        wrong.iter().map(|(case, all)| format!("{case:?}: {} {:?}", all.len(), &all[..all.len().min(3)])).collect();
    assert!(held > 100, "{held} of {judged}");
    assert!(undecided * 20 < judged, "{undecided} were deferred, {judged} decided");
    assert!(wrong.is_empty(), "{held} of {judged} hold; differences:\n{}", shown.join("\n"));
}

/// The plain rule; of a poisoning target without dust, of which the target alone cannot show that many others got it too.
fn plain(chain: Chain, address: Address, behaviour: Behaviour) -> bool {
    match behaviour {
        Behaviour::PoisoningTarget => super::fraud::is_poisoned(&VIEW, chain, address),
        _ => holds(&VIEW, chain, address, behaviour),
    }
}
