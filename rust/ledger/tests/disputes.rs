//! Disputes of claims: what they are about, how long they last, and where they are kept.

use std::sync::Arc;

use headwater_ledger::labels::{Claim, ClaimSelection, Code, Dispute, DisputeAction, DisputeRequest, Level, Scope};
use headwater_ledger::read::{Generation, Generations, Labels};
use headwater_ledger::store::{LabelImport, MemoryStore, Writer};
use headwater_ledger::{Cancel, DisputeRefusal, LedgerError, Store};
use headwater_testkit::{Chainlet, address, label_import};
use headwater_types::{Address, Chain, Timestamp};

const CHAIN: Chain = Chain::ETHEREUM;

/// A claim of the list `group` about account `number`.
fn claim(number: u64, code: Code, group: &str) -> Claim {
    headwater_testkit::claim(CHAIN, address(CHAIN, number), code, Level::Forensic, group)
}

/// Everything that is said of account `number`.
fn all(number: u64) -> ClaimSelection {
    ClaimSelection { address: address(CHAIN, number), chain: None, source: None, code: None }
}

fn request(action: DisputeAction, claims: ClaimSelection, secs: i64) -> DisputeRequest {
    let dispute = Dispute { by: "cli:ada".into(), at: Timestamp::new(secs), reason: Arc::from(format!("why {secs}")) };
    DisputeRequest { action, claims, dispute }
}

fn dispute(claims: ClaimSelection, secs: i64) -> DisputeRequest {
    request(DisputeAction::Dispute, claims, secs)
}

fn confirm(claims: ClaimSelection, secs: i64) -> DisputeRequest {
    request(DisputeAction::Confirm, claims, secs)
}

/// Source, code and time of dispute of each claim about account `number`, in order.
fn marks(ledger: &impl Labels, number: u64) -> Vec<(String, Option<Code>, Option<i64>)> {
    let claims = ledger.labels().claims(CHAIN, &address(CHAIN, number)).unwrap();
    let mark =
        |claim: &Claim<&str>| (claim.source.to_owned(), claim.code, claim.dispute.map(|dispute| dispute.at.secs()));
    let mut marks: Vec<_> = claims.iter().map(mark).collect();
    marks.sort();
    marks
}

fn mark(source: &str, code: Code, disputed_at: Option<i64>) -> (String, Option<Code>, Option<i64>) {
    (source.to_owned(), Some(code), disputed_at)
}

fn refusal(error: LedgerError) -> DisputeRefusal {
    match error {
        LedgerError::Dispute(refusal) => refusal,
        other => panic!("{other}"),
    }
}

/// Two lists about account 1, of which the second says two things.
fn two_lists() -> MemoryStore {
    let mut store = MemoryStore::default();
    store.import_labels(label_import("a", vec![claim(1, Code::Phishing, "a")], 100)).unwrap();
    let second = vec![claim(1, Code::Mixer, "b"), claim(1, Code::Phishing, "b"), claim(2, Code::Exchange, "b")];
    store.import_labels(label_import("b", second, 100)).unwrap();
    store
}

#[test]
fn dispute_marks_every_claim_of_the_address() {
    let mut store = two_lists();
    let recorded = store.dispute(&dispute(all(1), 200)).unwrap();
    assert_eq!(recorded.len(), 3);
    let ledger = store.snapshot();
    let expected =
        [mark("a", Code::Phishing, Some(200)), mark("b", Code::Phishing, Some(200)), mark("b", Code::Mixer, Some(200))];
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(marks(&*ledger, 1), expected);
    assert_eq!(marks(&*ledger, 2), [mark("b", Code::Exchange, None)]);
    let found = ledger.labels().claims(CHAIN, &address(CHAIN, 1)).unwrap();
    let dispute = found[0].dispute.unwrap();
    assert_eq!((dispute.by, dispute.reason), ("cli:ada", "why 200"));
}

#[test]
fn dispute_of_one_source_or_code_marks_that_claim() {
    let mut store = two_lists();
    store.dispute(&dispute(ClaimSelection { source: Some("a".into()), ..all(1) }, 200)).unwrap();
    let mut expected =
        vec![mark("a", Code::Phishing, Some(200)), mark("b", Code::Phishing, None), mark("b", Code::Mixer, None)];
    expected.sort();
    assert_eq!(marks(&*store.snapshot(), 1), expected);
    store.dispute(&dispute(ClaimSelection { code: Some(Code::Mixer), ..all(1) }, 300)).unwrap();
    let at =
        |code| marks(&*store.snapshot(), 1).into_iter().find(|mark| mark.1 == Some(code) && mark.0 == "b").unwrap();
    assert_eq!((at(Code::Mixer).2, at(Code::Phishing).2), (Some(300), None));
}

#[test]
fn dispute_of_one_chain_leaves_other_chains() {
    let account = address(CHAIN, 1);
    let on = |scope| Claim { scope, ..claim(1, Code::Phishing, "a") };
    let claims = vec![on(Scope::Chain(Chain::ETHEREUM)), on(Scope::Chain(Chain::BSC))];
    let mut store = MemoryStore::default();
    store.import_labels(label_import("a", claims, 100)).unwrap();
    store.dispute(&dispute(ClaimSelection { chain: Some(Chain::BSC), ..all(1) }, 200)).unwrap();
    let of = |chain| store.snapshot().labels().claims(chain, &account).unwrap()[0].dispute.map(|dispute| dispute.at);
    assert_eq!((of(Chain::ETHEREUM), of(Chain::BSC)), (None, Some(Timestamp::new(200))));
}

#[test]
fn dispute_lasts_through_editions_and_rollbacks() {
    let mut store = two_lists();
    let of_a = || ClaimSelection { source: Some("a".into()), ..all(1) };
    store.dispute(&dispute(of_a(), 200)).unwrap();
    // The same file again, then one that names the entity and gives another address: still the same claim.
    store.import_labels(label_import("a", vec![claim(1, Code::Phishing, "a")], 300)).unwrap();
    let corrected = Claim { entity: Some(Arc::from("Somebody")), ..claim(1, Code::Phishing, "a") };
    let third = store.import_labels(label_import("a", vec![corrected, claim(3, Code::Phishing, "a")], 400)).unwrap();
    assert!(marks(&*store.snapshot(), 1).contains(&mark("a", Code::Phishing, Some(200))));
    assert_eq!(marks(&*store.snapshot(), 3), [mark("a", Code::Phishing, None)]);
    // An edition without the claim ends it: what is left of it stays disputed. Then everything is rolled back.
    let fourth = store.import_labels(label_import("a", vec![claim(3, Code::Phishing, "a")], 500)).unwrap();
    assert!(marks(&*store.snapshot(), 1).contains(&mark("a", Code::Phishing, Some(200))));
    for version in [fourth, third, 3, 1] {
        store.roll_back_import(version).unwrap();
    }
    assert!(!marks(&*store.snapshot(), 1).iter().any(|mark| mark.0 == "a"), "nobody makes the claim");
    // Whoever makes it again makes a disputed one; a confirmation needs no claim.
    let last = store.import_labels(label_import("a", vec![claim(1, Code::Phishing, "a")], 600)).unwrap();
    assert!(marks(&*store.snapshot(), 1).contains(&mark("a", Code::Phishing, Some(200))));
    store.roll_back_import(last).unwrap();
    assert_eq!(store.dispute(&confirm(all(1), 700)).unwrap().len(), 1);
}

#[test]
fn confirmation_ends_a_dispute_and_history_keeps_both() {
    let mut store = two_lists();
    let mixer = || ClaimSelection { code: Some(Code::Mixer), ..all(1) };
    store.dispute(&dispute(mixer(), 200)).unwrap();
    store.dispute(&confirm(all(1), 300)).unwrap();
    assert!(marks(&*store.snapshot(), 1).iter().all(|mark| mark.2.is_none()));
    store.dispute(&dispute(mixer(), 400)).unwrap();
    let ledger = store.snapshot();
    let history = ledger.labels().disputes();
    let acts: Vec<_> = history.iter().map(|entry| (entry.action, entry.dispute.at.secs(), entry.code)).collect();
    let mixer = Some(Code::Mixer);
    let expected = [
        (DisputeAction::Dispute, 200, mixer),
        (DisputeAction::Confirm, 300, mixer),
        (DisputeAction::Dispute, 400, mixer),
    ];
    assert_eq!(acts, expected);
    assert!(marks(&*ledger, 1).contains(&mark("b", Code::Mixer, Some(400))));
}

#[test]
fn copies_within_one_group_are_one_claim() {
    let copy = Claim { source: Arc::from("mirror"), ..claim(1, Code::Phishing, "a") };
    let mut store = MemoryStore::default();
    store.import_labels(label_import("a", vec![claim(1, Code::Phishing, "a")], 100)).unwrap();
    store.import_labels(label_import("mirror", vec![copy], 100)).unwrap();
    let recorded = store.dispute(&dispute(ClaimSelection { source: Some("mirror".into()), ..all(1) }, 200)).unwrap();
    assert_eq!(recorded.len(), 1);
    let expected = [mark("a", Code::Phishing, Some(200)), mark("mirror", Code::Phishing, Some(200))];
    assert_eq!(marks(&*store.snapshot(), 1), expected);
}

#[test]
fn refusals_name_what_is_there() {
    let mut store = two_lists();
    let none = store.dispute(&dispute(all(9), 200)).unwrap_err().to_string();
    assert!(none.contains("no list in force names it; `headwater labels list`"), "{none}");
    let other = ClaimSelection { code: Some(Code::Sanction), ..all(1) };
    let other = store.dispute(&dispute(other, 200)).unwrap_err().to_string();
    let named =
        "has no claim of code sanction: its claims are mixer of b (ethereum), phishing of a (ethereum), phishing of b";
    assert!(other.contains(named), "{other}");
    let early = store.dispute(&confirm(all(1), 200)).unwrap_err().to_string();
    assert!(early.ends_with("has no disputed claim: all of its claims count in full"), "{early}");

    let mixer = || ClaimSelection { code: Some(Code::Mixer), ..all(1) };
    store.dispute(&dispute(mixer(), 1_600_000_000)).unwrap();
    let again = store.dispute(&dispute(mixer(), 1_600_000_001)).unwrap_err().to_string();
    assert!(
        again.contains("is disputed already, by cli:ada since ") && again.contains("\"why 1600000000\""),
        "{again}"
    );
    let phishing = ClaimSelection { code: Some(Code::Phishing), ..all(1) };
    let wrong = store.dispute(&confirm(phishing, 300)).unwrap_err().to_string();
    assert!(wrong.contains("no disputed claim of code phishing: disputed are mixer of b (ethereum)"), "{wrong}");
    // Of three claims one is disputed: the other two are recorded.
    assert_eq!(store.dispute(&dispute(all(1), 400)).unwrap().len(), 2);
    assert!(matches!(
        refusal(store.dispute(&dispute(all(1), 500)).unwrap_err()),
        DisputeRefusal::AlreadyDisputed { .. }
    ));
    for reason in ["", "  ", "two\nlines", &"x".repeat(1001)] {
        let mut request = dispute(all(2), 600);
        request.dispute.reason = Arc::from(reason);
        let refused = refusal(store.dispute(&request).unwrap_err());
        assert!(matches!(refused, DisputeRefusal::BadReason { .. }), "{reason:?}");
    }
}

#[test]
fn generation_keeps_its_disputes() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.import_labels(label_import("a", vec![claim(1, Code::Phishing, "a")], 100)).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let before = store.snapshot().unwrap();
    writer.dispute(&dispute(all(1), 200)).unwrap();
    let disputed = store.snapshot().unwrap();
    writer.dispute(&confirm(all(1), 300)).unwrap();
    let at = |generation: u64| store.generation(generation).unwrap();
    let first = before.generation();
    let found = [first, first + 1, first + 2].map(|number| {
        let ledger = at(number);
        let claims = ledger.labels().claims(CHAIN, &address(CHAIN, 1)).unwrap();
        claims[0].dispute.map(|dispute| dispute.at.secs())
    });
    assert_eq!(found, [None, Some(200), None]);
    assert_eq!(marks(&*disputed, 1), [mark("a", Code::Phishing, Some(200))], "a reader keeps its generation");
    let digests = [&before, &disputed, &store.snapshot().unwrap()].map(|ledger| ledger.labels().digest());
    assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2], "{digests:?}");
}

#[test]
fn disputes_outlast_merges_and_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    let bitcoin = address(Chain::BITCOIN, 1);
    let coins = headwater_testkit::claim(Chain::BITCOIN, bitcoin, Code::Mixer, Level::Forensic, "a");
    writer.import_labels(label_import("a", vec![claim(1, Code::Phishing, "a"), coins], 100)).unwrap();
    writer.dispute(&dispute(all(1), 200)).unwrap();
    writer.dispute(&dispute(ClaimSelection { address: bitcoin, ..all(1) }, 201)).unwrap();
    for number in 1..12 {
        let block = Chainlet::ethereum().at_block(number).transfer(1, 2, number);
        writer.commit(block.batch(), &Cancel::new()).unwrap();
    }
    writer.compact(CHAIN, &|_, _| {}, &Cancel::new()).unwrap();
    writer.collect_garbage().unwrap();
    drop(writer);

    let store = Store::open(folder.path()).unwrap();
    let ledger = store.snapshot().unwrap();
    assert_eq!(marks(&*ledger, 1), [mark("a", Code::Phishing, Some(200))]);
    let of_bitcoin = ledger.labels().claims(Chain::BITCOIN, &bitcoin).unwrap();
    assert_eq!(of_bitcoin[0].dispute.unwrap().at, Timestamp::new(201));
    assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
    let history: Vec<_> = ledger.labels().disputes().to_vec();
    drop((ledger, store));
    // A writer reads back what it wrote, to the letter.
    let writer = Writer::open_or_create(folder.path()).unwrap();
    assert_eq!(writer.snapshot().labels().disputes(), history);
    assert_eq!((&*history[0].dispute.reason, &*history[0].dispute.by), ("why 200", "cli:ada"));
}

#[test]
fn damaged_history_is_an_error_that_verify_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::open_or_create(folder.path()).unwrap();
    writer.import_labels(label_import("a", vec![claim(1, Code::Phishing, "a")], 100)).unwrap();
    writer.dispute(&dispute(all(1), 200)).unwrap();
    drop(writer);
    let file = std::fs::read_dir(folder.path().join("disputes")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, whole.replace("why 200", "why 201")).unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert!(matches!(store.snapshot(), Err(LedgerError::Corrupt { .. })), "no answer without the dispute");
    let report = store.verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert_eq!(report.problems.iter().map(|problem| &problem.file).collect::<Vec<_>>(), [&file]);
}

#[test]
fn change_of_an_import_has_the_disputes_of_its_time() {
    let mut store = MemoryStore::default();
    let edition = |secs| -> LabelImport { label_import("a", vec![claim(1, Code::Phishing, "a")], secs) };
    let versions = [100, 300].map(|secs| {
        let version = store.import_labels(edition(secs)).unwrap();
        let action = if secs == 100 { DisputeAction::Dispute } else { DisputeAction::Confirm };
        store.dispute(&request(action, all(1), secs + 50)).unwrap();
        version
    });
    let ledger = store.snapshot();
    let account: Address = address(CHAIN, 1);
    let after = versions.map(|version| {
        let change = ledger.labels().change((version, false), CHAIN, &account).unwrap().unwrap();
        change.after[0].dispute.map(|dispute| dispute.at.secs())
    });
    assert_eq!(after, [None, Some(150)]);
}
