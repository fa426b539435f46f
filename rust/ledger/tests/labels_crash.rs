//! kill -9 while labels are imported and disputed: the store opens and holds exactly what was acknowledged of both, or
//! one more.
#![expect(clippy::disallowed_methods, reason = "the test passes a folder to the process it starts")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use headwater_ledger::labels::{
    Action, Claim, ClaimSelection, Code, Dispute, DisputeAction, DisputeRequest, Level, Link, Scope,
};
use headwater_ledger::read::Labels;
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_types::{Address, Chain, Timestamp};

const FOLDER: &str = "HEADWATER_LABEL_CRASH_FOLDER";
/// Claims of an import.
const CLAIMS: u32 = 20_000;

fn address(number: u32) -> Address {
    let mut bytes = [0; 20];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Address::Evm(bytes)
}

/// Import `number` of two lists in turn: it moves on by one address, so that one claim ends.
fn import(number: u32) -> LabelImport {
    let claim = |place: u32| Claim {
        address: address(place),
        scope: Scope::Chain(Chain::ETHEREUM),
        code: Some(Code::Phishing),
        name: None,
        entity: None,
        source: Arc::from("list"),
        source_url: None,
        group: Arc::from("list"),
        level: Level::Forensic,
        reliability: 500,
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    };
    let time = Timestamp::new(i64::from(number) + 1);
    LabelImport {
        source: "source".to_owned(),
        list: format!("list {}", number % 2),
        licence: None,
        imported_at: time,
        ended_at: time,
        claims: (number..number + CLAIMS).map(claim).collect(),
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Refused,
        sanctions_of: Vec::new(),
    }
}

/// A dispute of the first claim of import `number`.
fn dispute(number: u32) -> DisputeRequest {
    let claims = ClaimSelection { address: address(number), chain: None, source: None, code: None };
    let (by, reason) = (Arc::from("cli:ada"), Arc::from("the page that it cites is gone"));
    let dispute = Dispute { by, at: Timestamp::new(i64::from(number)), reason };
    DisputeRequest { action: DisputeAction::Dispute, claims, dispute }
}

/// The process that is killed; does nothing when run as an ordinary test.
#[test]
fn victim() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut writer = Writer::open_or_create(Path::new(&folder)).unwrap();
    for number in u32::try_from(writer.import_versions().len()).unwrap().. {
        writer.import_labels(import(number)).unwrap();
        println!("acknowledged {number}");
        std::io::stdout().flush().unwrap();
        writer.dispute(&dispute(number)).unwrap();
        println!("disputed {number}");
        std::io::stdout().flush().unwrap();
    }
}

fn acknowledged(line: &str) -> Option<u32> {
    line.split("acknowledged ").nth(1)?.trim().parse().ok()
}

#[test]
fn kill_9_within_an_import_leaves_the_acknowledged_imports() {
    let folder = tempfile::tempdir().unwrap();
    let (mut known, mut disputes) = (0, 0);
    for moment in 0..8 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["victim", "--exact", "--nocapture", "--test-threads=1"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let first = lines.by_ref().map_while(Result::ok).find_map(|line| acknowledged(&line));
        known = known.max(first.expect("the victim imports") + 1);
        std::thread::sleep(Duration::from_millis(7 * moment));
        victim.kill().unwrap();
        victim.wait().unwrap();
        for line in lines.map_while(Result::ok) {
            known = acknowledged(&line).map_or(known, |last| known.max(last + 1));
            disputes += usize::from(line.contains("disputed "));
        }

        let store = Store::open(folder.path()).unwrap();
        let held = u32::try_from(store.stats().unwrap().imports.len()).unwrap();
        assert!(held == known || held == known + 1, "{held} held, {known} acknowledged");
        known = held;
        assert!(store.verify(&|_, _| {}, &Cancel::new()).unwrap().is_sound());
        let snapshot = store.snapshot().unwrap();
        let recorded = snapshot.labels().disputes().len();
        assert!(recorded == disputes || recorded == disputes + 1, "{recorded} recorded, {disputes} acknowledged");
        disputes = recorded;
        for entry in snapshot.labels().disputes() {
            let claims = snapshot.labels().claims(Chain::ETHEREUM, &entry.address).unwrap();
            assert!(!claims.is_empty() && claims.iter().all(|claim| claim.dispute.is_some()));
        }
        let ended = |place: u32| {
            let claims = snapshot.labels().claims(Chain::ETHEREUM, &address(place)).unwrap();
            claims.iter().filter(|claim| claim.valid_until.is_some()).count()
        };
        let last = held - 1;
        assert_eq!(ended(last + CLAIMS - 1), 0, "the last import is whole");
        assert_eq!(snapshot.labels().claims(Chain::ETHEREUM, &address(last + CLAIMS)).unwrap().len(), 0);
        // The last import ended it in its list; the one before in the other.
        if last >= 3 {
            assert_eq!(ended(last - 2), 2, "what the imports before them of both lists said has ended");
        }
    }
}
