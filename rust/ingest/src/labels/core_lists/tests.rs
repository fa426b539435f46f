//! Tests of the contents of the core lists: the counts of `sources/SOURCES.md`, and known addresses.

use std::collections::BTreeMap;

use headwater_ledger::labels::{Claim, Code, DateBasis, Level, Scope};
use headwater_types::Chain;

use super::*;
use crate::labels::outcome::is_listed;

/// All packed files together may have so many bytes.
const MAX_BYTES: usize = 3_000_000;

fn list(name: &str) -> Labels {
    LISTS.iter().find(|list| list.name == name).unwrap().read().unwrap()
}

fn about<'l>(labels: &'l Labels, address: &str) -> Vec<&'l Claim> {
    let is_it = |claim: &&Claim| claim.address.to_string().eq_ignore_ascii_case(address);
    labels.claims.iter().filter(is_it).collect()
}

fn codes(labels: &Labels) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for claim in &labels.claims {
        *counts.entry(claim.code.map_or("", Code::name)).or_default() += 1;
    }
    counts
}

fn dated(labels: &Labels, address: &str) -> Vec<(String, Option<DateBasis>)> {
    let date = |claim: &&Claim| (claim.asserted_at.unwrap().to_string()[..10].to_owned(), claim.date_basis);
    about(labels, address).iter().map(date).collect()
}

#[test]
fn packed_lists_fit_the_budget() {
    let bytes: usize = LISTS.iter().map(|list| list.packed.len()).sum();
    assert!(bytes < MAX_BYTES, "{bytes} bytes");
}

#[test]
fn ofac_has_the_counts_of_its_sources() {
    let ofac = list(OFAC);
    let mut listed: BTreeMap<&str, std::collections::BTreeSet<_>> = BTreeMap::new();
    for claim in ofac.claims.iter().filter(|claim| is_listed(claim)) {
        listed.entry(claim.scope.name()).or_default().insert(claim.address);
    }
    let listed: Vec<_> = listed.into_iter().map(|(scope, addresses)| (scope, addresses.len())).collect();
    // SOURCES.md counts rows of a chain, second tickers and second entities among them.
    assert_eq!(listed, [("bitcoin", 529), ("evm", 104), ("tron", 277)]);
    assert_eq!(ofac.counts.other_ticker, 50, "961 without one id, which is not an address");
    assert_eq!(codes(&ofac), BTreeMap::from([("sanction", 911), ("sanction_delisted", 92)]));
    assert!(ofac.claims.iter().all(|claim| claim.level == Level::SanctionsList && &*claim.group == "ofac"));
}

#[test]
fn ofac_dates_the_address_not_the_entity() {
    let ofac = list(OFAC);
    let address = |day: &str| vec![(day.to_owned(), Some(DateBasis::Address))];
    // The Lazarus Group was listed in 2019, Garantex in 2022, Bank Markazi in 2010.
    assert_eq!(dated(&ofac, "0x098B716B8Aaf21512996dC57EB0615e2383E2f96"), address("2022-04-14"));
    for (entity, day) in [("GARANTEX", "2025-08-14"), ("BANK MARKAZI", "2026-")] {
        let late = ofac.claims.iter().filter(|claim| {
            claim.entity.as_deref().is_some_and(|name| name.to_uppercase().contains(entity))
                && claim.asserted_at.unwrap().to_string().starts_with(day)
                && claim.date_basis == Some(DateBasis::Address)
        });
        assert!(late.count() > 0, "{entity}");
    }
    let unconfirmed = ofac.claims.iter().filter(|claim| claim.date_basis == Some(DateBasis::Entity)).count();
    assert!((200..=245).contains(&unconfirmed), "{unconfirmed}");
}

#[test]
fn ofac_address_under_two_tickers_is_one_claim() {
    let ofac = list(OFAC);
    assert_eq!(about(&ofac, "0x4f47bc496083c727c5fbe3ce9cdf2b0f6496270c").len(), 1);
    assert_eq!(about(&ofac, "1H939dom7i4WDLCKyGbXUp3fs9CSTNRzgL").len(), 2, "two entities");
    let tron = about(&ofac, "TUCsTq7TofTCJRRoHk6RvhMoS2mJLm5Yzq");
    assert_eq!(tron[0].scope, Scope::Chain(Chain::TRON));
    let id = "5be5543ff73456ab9f2d207887e2af87322c651ea1a873c5b25b7ffae456c320";
    assert!(ofac.foreign.iter().all(|foreign| foreign.address != id));
}

#[test]
fn tornado_cash_is_a_mixer_and_delisted() {
    let (ofac, graphsense) = (list(OFAC), list("graphsense"));
    let pool = "0xd96f2B1c14Db8458374d9Aca76E26c3D18364307";
    let codes = |labels: &Labels| about(labels, pool).iter().map(|claim| claim.code).collect::<Vec<_>>();
    assert_eq!(codes(&ofac), [Some(Code::SanctionDelisted)]);
    assert_eq!(codes(&graphsense), [Some(Code::Mixer)]);
    assert_eq!(dated(&ofac, pool)[0].0, "2025-03-21");
    assert_eq!(about(&ofac, pool)[0].name.as_deref(), Some("On OFAC's list from 2022-08-08 to 2025-03-21"));
}

#[test]
fn graphsense_has_its_packs_with_level_and_entity() {
    let graphsense = list("graphsense");
    let binance = about(&graphsense, "34xp4vRoCGJym3xR7yCVPFHoCNxv4Twseo")[0];
    assert_eq!((binance.code, binance.level), (Some(Code::Exchange), Level::ServiceData));
    assert_eq!(binance.entity.as_deref(), Some("Binance"));
    assert!(binance.source_url.as_deref().unwrap().contains("our-commitment-to-transparency"));
    // A fund is not an exchange.
    assert_eq!(about(&graphsense, "1CKVszDdUp4ymGceAZpGzYEFr4RPNHYqaM")[0].code, Some(Code::ColdWallet));
    let sanctions = graphsense.claims.iter().filter(|claim| claim.code == Some(Code::Sanction)).count();
    assert_eq!(sanctions, 0);
    let counts = [
        ("", 247), // custody of CheckSig
        ("cold_wallet", 1),
        ("coinjoin", 2),
        ("darknet_market", 117),
        ("defi", 1_267),
        ("dex", 322),
        ("exchange", 166),
        ("exchange_hot_wallet", 7),
        ("hack", 44 + 6),
        ("mining_pool", 234),
        ("mixer", 45 + 2 + 66 + 38),
        ("phishing", 3),
        ("ponzi", 52),
        ("scam", 3),
    ];
    assert_eq!(codes(&graphsense), BTreeMap::from(counts));
}

#[test]
fn mining_pools_have_their_payout_addresses() {
    let pools = list("mining_pools");
    // Seven of the 217 addresses are of test networks.
    assert_eq!(codes(&pools), BTreeMap::from([("mining_pool", 210)]));
    let ultimus = about(&pools, "1EMVSMe1VJUuqv7D7SFzctnVXk4KdjXATi")[0];
    assert_eq!((ultimus.entity.as_deref(), ultimus.level), (Some("ULTIMUSPOOL"), Level::ServiceData));
}

#[test]
fn contracts_name_their_makers_and_nobody_else() {
    let aave = list("aave");
    let pool = about(&aave, "0x87870Bca3F3fD6335C3F4ce8392D69350B4fA4E2");
    assert_eq!((pool[0].code, pool[0].entity.as_deref()), (Some(Code::Defi), Some("Aave")));
    // `AaveV2Ethereum ASSETS KNC UNDERLYING` is the token of Kyber, and USDC that of Circle.
    for token in ["0xdd974D5C2e2928deA5F71b9825b8b646686BD200", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"] {
        assert_eq!(about(&aave, token), Vec::<&Claim>::new(), "{token}");
    }
    let uniswap = list("uniswap");
    let manager = about(&uniswap, "0x000000000004444c5dc75cB358380D2e3dE08A90")[0];
    assert_eq!((manager.code, manager.name.as_deref()), (Some(Code::Dex), Some("Uniswap: v4 pool manager")));
    let ether = about(&uniswap, "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")[0];
    assert_eq!((ether.code, ether.entity.as_deref()), (None, None));
    // `etherToken` of 0x is wrapped ether.
    assert_eq!(about(&list("zero_ex"), "0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2"), Vec::<&Claim>::new());
    let infrastructure = [list("safe"), list("multicall3"), list("entry_points")];
    let sizes: Vec<_> = infrastructure.iter().map(|labels| labels.claims.len()).collect();
    assert_eq!(sizes, [49, 1, 4]);
    assert!(infrastructure.iter().flat_map(|labels| &labels.claims).all(|claim| claim.code.is_none()));
    assert_eq!(infrastructure[1].claims[0].scope, Scope::Evm);
}

#[test]
fn every_list_has_licence_date_and_claims() {
    for labels in core_lists().unwrap() {
        assert!(labels.licence.is_some() && !labels.claims.is_empty(), "{}", labels.list);
        let edition = labels.list_date.unwrap();
        for claim in &labels.claims {
            assert!(claim.asserted_at <= Some(edition), "{}: {claim:?}", labels.list);
        }
    }
}

#[test]
fn address_dates_replace_those_of_entities_and_none() {
    let dates = AddressDates::read().unwrap();
    let ofac = list(OFAC);
    let ronin = about(&ofac, "0x098B716B8Aaf21512996dC57EB0615e2383E2f96")[0].clone();
    let at = |day: &str| read_date(day).unwrap();
    let after = |asserted_at: Option<Timestamp>, basis: Option<DateBasis>| {
        let claims = vec![Claim { asserted_at, date_basis: basis, ..ronin.clone() }];
        let mut labels = Labels { claims, ..list(OFAC) };
        dates.apply(&mut labels);
        (labels.claims[0].asserted_at, labels.claims[0].date_basis, labels.warnings.len())
    };
    let (listed, address, entity) = (at("2022-04-14"), Some(DateBasis::Address), Some(DateBasis::Entity));
    assert_eq!(after(at("2019-09-13"), entity), (listed, address, 1));
    assert_eq!(after(None, None), (listed, address, 1));
    assert_eq!(after(at("2023-01-01"), entity), (at("2023-01-01"), entity, 0), "the listing is a later one");
    assert_eq!(
        after(at("2022-05-01"), address),
        (at("2022-05-01"), address, 0),
        "the file has the date of the address"
    );
}
