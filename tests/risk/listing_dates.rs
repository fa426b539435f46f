//! From files to scores: the date of an address decides whether a payment was one to a sanctioned address.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_engine::{Intelligence, QueryEngine, endpoint};
use headwater_ingest::labels::{ImportTerms, LabelOptions, import_core_lists, import_labels, read_labels};
use headwater_ingest::{FeedItems, LoadOptions, Options, Silent, load};
use headwater_ledger::store::{ShrinkPolicy, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_types::Timestamp;
use serde_json::{Value, json};

/// The exploiter of the Ronin bridge: of the Lazarus Group, which OFAC listed on 2019-09-13; the address on 2022-04-14.
const RONIN: &str = "0x098b716b8aaf21512996dc57eb0615e2383e2f96";
const PAYER: &str = "0x2222222222222222222222222222222222222222";
const USDT: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
/// 2021-06-01 and 2022-04-20.
const BEFORE: i64 = 1_622_505_600;
const AFTER: i64 = 1_650_412_800;
/// 2026-09-01, ten days after the data of the core list of OFAC's addresses.
const IMPORTED: Timestamp = Timestamp::new(1_788_220_800);

/// Loads one payment of 1,000 USDT to the exploiter, as Etherscan exports it.
fn paid_at(folder: &Path, secs: i64) -> PathBuf {
    let hash = format!("0x{}", "ab".repeat(32));
    let block = 12_500_000;
    let columns =
        "blockNumber,timeStamp,hash,nonce,blockHash,transactionIndex,gas,gasPrice,gasUsed,input,from,to,value";
    let common = format!("{block},{secs},{hash},1,0x{},3,90000,1,50000,0xa9059cbb,{PAYER}", "cd".repeat(32));
    let transactions = format!("{columns},isError,txreceipt_status\n{common},{USDT},0,0,1\n");
    let transfers = format!(
        "{columns},contractAddress,tokenName,tokenSymbol,tokenDecimal\n{common},{RONIN},1000000000,{USDT},Tether USD,USDT,6\n"
    );
    let files = [("transactions.csv", transactions), ("transfers.csv", transfers)].map(|(name, text)| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    let store = folder.join("store");
    let options = LoadOptions { reading: Options::default(), feed: FeedItems::None, imported_at: IMPORTED };
    load(&store, &files, &options, &Silent, &Cancel::new()).unwrap();
    store
}

/// Writes OFAC's list of 2026-08-25, which dates the entity.
fn sdn_advanced(folder: &Path) -> PathBuf {
    let text = format!(
        "<Sanctions><DateOfIssue><Year>2026</Year><Month>8</Month><Day>25</Day></DateOfIssue><ReferenceValueSets>\
         <FeatureTypeValues><FeatureType ID=\"345\">Digital Currency Address - ETH</FeatureType></FeatureTypeValues>\
         <ListValues><List ID=\"1550\">SDN List</List></ListValues></ReferenceValueSets><DistinctParties><DistinctParty>\
         <Profile ID=\"27307\"><Feature FeatureTypeID=\"345\"><FeatureVersion><VersionDetail>{RONIN}</VersionDetail>\
         </FeatureVersion></Feature></Profile></DistinctParty></DistinctParties><SanctionsEntries>\
         <SanctionsEntry ProfileID=\"27307\" ListID=\"1550\"><EntryEvent><Date><Year>2019</Year><Month>9</Month><Day>13</Day>\
         </Date></EntryEvent></SanctionsEntry></SanctionsEntries></Sanctions>"
    );
    let path = folder.join("sdn_advanced.xml");
    std::fs::write(&path, text).unwrap();
    path
}

/// The lists in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lists {
    /// OFAC's file, as it is.
    EntityDates,
    /// OFAC's file, imported as a user does.
    Imported,
    /// The core lists.
    Core,
    /// Both.
    Both,
}

fn risk(secs: i64, lists: Lists, now_secs: fn() -> i64) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let store = paid_at(folder.path(), secs);
    let file = sdn_advanced(folder.path());
    let mut writer = Writer::open_or_create(&store).unwrap();
    if lists == Lists::EntityDates {
        let labels = read_labels(&[file], &LabelOptions::default()).unwrap();
        writer.import_labels(labels.into_import(IMPORTED, ShrinkPolicy::Refused)).unwrap();
    } else if lists != Lists::Core {
        let terms = ImportTerms { imported_at: IMPORTED, shrinking: ShrinkPolicy::Refused };
        import_labels(&mut writer, &[file], &LabelOptions::default(), terms).unwrap();
    }
    if matches!(lists, Lists::Core | Lists::Both) {
        import_core_lists(&mut writer, IMPORTED).unwrap();
    }
    drop(writer);
    let intelligence = Intelligence { now_secs: Some(now_secs), ..Intelligence::default() };
    let engine = QueryEngine::new(Arc::new(Store::open(&store).unwrap())).with_intelligence(intelligence);
    let request = json!({"address": PAYER, "blockchain": "ethereum"});
    let answer = engine.answer(endpoint("address-risk").unwrap(), request, &Cancel::new()).unwrap();
    serde_json::to_value(&answer).unwrap()
}

fn is_gated(answer: &Value) -> bool {
    answer["data"]["decision"]["gate_reason"] == "direct_sanctioned_edge"
}

fn listed_since(answer: &Value) -> i64 {
    answer["data"]["dimensions"]["graph"]["edge"]["risky_neighbors"][0]["listed_since"].as_i64().unwrap()
}

fn on_import() -> i64 {
    IMPORTED.secs()
}

#[test]
fn payment_before_the_address_was_listed_opens_no_gate() {
    // By the date of the entity the payer dealt with a sanctioned address.
    assert!(is_gated(&risk(BEFORE, Lists::EntityDates, on_import)));
    for lists in [Lists::Imported, Lists::Core, Lists::Both] {
        let answer = risk(BEFORE, lists, on_import);
        assert!(!is_gated(&answer), "{lists:?}: {answer:#}");
        assert_eq!(listed_since(&answer), 1_649_894_400, "{lists:?}: 2022-04-14");
    }
    // By the core lists the address is that of a theft too, and the payment counts as one to a thief.
    let answer = risk(BEFORE, Lists::Imported, on_import);
    assert!(answer.to_string().contains("before the listing"), "{answer:#}");
}

#[test]
fn payment_after_the_address_was_listed_opens_the_gate() {
    for lists in [Lists::EntityDates, Lists::Imported, Lists::Core, Lists::Both] {
        assert!(is_gated(&risk(AFTER, lists, on_import)), "{lists:?}");
    }
}

#[test]
fn sanctions_older_than_ninety_days_are_warned_of() {
    const DAY: i64 = 86_400;
    /// 2026-08-20, the date of the core list.
    const EDITION: i64 = 1_787_184_000;
    let old = |answer: &Value| {
        let warnings = answer["meta"]["warnings"].as_array().cloned().unwrap_or_default();
        warnings.into_iter().find(|warning| warning["code"] == "sanctions_old")
    };
    assert_eq!(old(&risk(AFTER, Lists::Core, || EDITION + 90 * DAY)), None);
    let warning = old(&risk(AFTER, Lists::Core, || EDITION + 91 * DAY)).unwrap();
    assert_eq!(
        warning["message"],
        "the sanctions of ofac are 91 days old: the newest list in force is of 2026-08-20 (list ofac of core); import a \
         current one with `headwater labels import`"
    );
    // OFAC's own file of 2026-08-25 is newer.
    assert_eq!(old(&risk(AFTER, Lists::Both, || EDITION + 91 * DAY)), None);
}
