//! Single bits that flip in the files of a state: found at the start or by a check, or where nothing is kept; never
//! served in silence, and never a panic.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use headwater_state::{Home, Options, State, StateLocation};
use rusqlite::Connection;

use crate::support::faults::Chance;
use crate::support::{Process, QUIET, is_full, random, run, run_json, small_store};

const FILES: [&str; 5] = ["gateway.sqlite", "gateway.sqlite-wal", "gateway.watermark", "key.pepper", "master.key"];

/// The one table whose row neither the ledger nor a MAC nor a checksum covers: a count of commits that grew by itself only
/// misses less.
const UNCOVERED: &str = "commit_count";

/// The files of a state whose server was killed: with a log of commits that is not brought into the database yet.
fn killed_state(place: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    let store = small_store(place);
    let at = store.to_str().unwrap();
    let mut keys = Vec::new();
    for number in 0..8 {
        let name = format!("customer {number}");
        let made = run_json(&["keys", "create", "--json", "--store", at, "--name", &name, "--credits", "100000"]);
        keys.push((made["id"].as_str().unwrap().to_owned(), made["key"].as_str().unwrap().to_owned()));
    }
    assert!(run(&["keys", "revoke", &keys[7].0, "--store", at]).status.success());
    run_json(&["admin", "create", "--json", "--store", at, "--name", "bea"]);
    let home = Home::in_folder(&Home::beside(&store)).unwrap();
    let plan = r#"{"heavy": {"per_second": 9, "burst": 9}}"#;
    home.admin("t", |admin| admin.set_plan("pro", plan)).unwrap();
    home.admin("t", |admin| admin.assign_plan(&keys[1].0, "pro")).unwrap();
    let mut server = Process::start(&store, &["--admin-listen", "none"]);
    let mut client = server.client().unwrap();
    for call in 0..250 {
        let key = keys[call % 7].1.as_str();
        if call % 10 == 0 {
            let idempotency_key = format!("call-{call}");
            let headers =
                [("X-API-Key", key), ("Content-Type", "application/json"), ("Idempotency-Key", &idempotency_key)];
            assert_eq!(client.send("POST", "/v1/transactions", &headers, QUIET.as_bytes()).unwrap().status, 200);
        } else {
            assert_eq!(client.post("/v1/transactions", key, QUIET).unwrap().status, 200);
        }
    }
    client.send("GET", "/v1/usage", &[("X-API-Key", &keys[0].1)], b"").unwrap();
    server.kill();
    let state = Home::beside(&store);
    FILES.into_iter().map(|name| (name, fs::read(state.join(name)).unwrap())).collect()
}

fn put(files: &BTreeMap<&'static str, Vec<u8>>, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).unwrap();
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

type Content = BTreeMap<String, BTreeSet<String>>;

/// Every row of every table, and the definitions of the tables; an error where they cannot be read.
fn content(folder: &Path) -> rusqlite::Result<Content> {
    let database = Connection::open(folder.join("gateway.sqlite"))?;
    let mut schema = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let tables: Vec<(String, String)> =
        schema.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
    let mut all = Content::new();
    let mut names = BTreeSet::new();
    for (name, sql) in tables {
        let mut rows = database.prepare(&format!("SELECT * FROM \"{name}\" NOT INDEXED"))?;
        let columns = rows.column_count();
        let rows = rows.query_map([], |row| {
            // Text as bytes: a flipped bit may leave none that is text.
            (0..columns).map(|column| Ok(format!("{:?}", row.get_ref(column)?))).collect::<rusqlite::Result<Vec<_>>>()
        })?;
        all.insert(name.clone(), rows.map(|row| Ok(row?.join("|"))).collect::<rusqlite::Result<_>>()?);
        names.insert(sql);
    }
    all.insert("sqlite_schema".to_owned(), names);
    Ok(all)
}

/// The tables that are not what they were.
fn differing(sound: &Content, found: &Content) -> BTreeSet<String> {
    sound.keys().filter(|table| found.get(*table) != sound.get(*table)).cloned().collect()
}

/// Returns where the damage is that a report names: the file, or the table with the row, since `SQLite` says
/// of no row where in the file it is. `None` for a report that names neither, or something that is sound.
fn names(said: &str, folder: &Path, file: &str, damaged: Option<&BTreeSet<String>>) -> Option<&'static str> {
    let names_file = |name: &str| said.contains(&format!("{}", folder.join(name).display()));
    // What cannot be read as a whole cannot be held against what it was.
    let lies_in = |tables: &[&str]| damaged.is_none_or(|damaged| tables.iter().any(|table| damaged.contains(*table)));
    let row =
        said.strip_prefix("the row ").and_then(|rest| rest.split_once(" of ")).and_then(|(_, of)| of.split_once(' '));
    match file {
        "gateway.sqlite-wal" if names_file("gateway.sqlite") && said.contains("log of commits") => {
            Some("the log of commits")
        }
        "gateway.sqlite" if names_file("gateway.sqlite") => Some("the database"),
        "gateway.sqlite" if said.starts_with("the credit ledger of account ") => {
            lies_in(&["account", "credit_ledger"]).then_some("an account and an entry of its ledger")
        }
        "gateway.sqlite" if row.is_some() => lies_in(&[row?.0, "row_mac"]).then_some("a table and a row"),
        "gateway.sqlite" if names_file("key.pepper") || names_file("master.key") => {
            lies_in(&["setting"]).then_some("the secret whose digest in the database does not fit")
        }
        "key.pepper" | "master.key" | "gateway.watermark" if names_file(file) => Some("the secret"),
        _ => None,
    }
}

/// Starts a state as a server does.
fn start(folder: &Path) -> Result<(), String> {
    let latched = std::sync::Arc::new(AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&latched);
    let started = Home::open_existing(&StateLocation::Folder(folder.to_owned()), None)
        .and_then(|home| State::start(&home, Options::default(), Box::new(move || seen.store(true, Ordering::SeqCst))));
    match started {
        Ok(state) => {
            state.close();
            if latched.load(Ordering::SeqCst) { Err("the writer stopped".to_owned()) } else { Ok(()) }
        }
        Err(error) => Err(format!("{error}")),
    }
}

#[test]
fn flipped_bit_in_the_state_is_found_or_in_unused_space() {
    let flips = if is_full() { 10_000 } else { 60 };
    let place = tempfile::tempdir().unwrap();
    let files = killed_state(place.path());
    let folder = place.path().join("flipped");
    put(&files, &folder);
    start(&folder).unwrap();
    put(&files, &folder);
    let sound = content(&folder).unwrap();
    let sizes: Vec<(&str, usize)> = files.iter().map(|(name, bytes)| (*name, bytes.len())).collect();
    let seed = random();
    println!("seed {seed}, files {sizes:?}");
    let mut chance = Chance::new(seed);
    let (mut at_start, mut by_check, mut nowhere, mut panics) = (0, 0, 0, 0);
    let mut unnoticed: BTreeMap<String, usize> = BTreeMap::new();
    let (mut silent, mut unplaced) = (Vec::new(), Vec::new());
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..flips {
        // Every file has its share, however small it is.
        let name = match chance.below(20) {
            0 => "key.pepper",
            1 => "master.key",
            2 => "gateway.watermark",
            3..=10 => "gateway.sqlite-wal",
            _ => "gateway.sqlite",
        };
        let (offset, bit) = (chance.below(files[name].len() as u64), chance.below(8));
        let mut flipped = files.clone();
        flipped.get_mut(name).unwrap()[usize::try_from(offset).unwrap()] ^= 1 << bit;
        put(&flipped, &folder);
        let found = content(&folder);
        put(&flipped, &folder);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if let Err(error) = start(&folder) {
                return Some((true, error));
            }
            let home = Home::open_existing(&StateLocation::Folder(folder.clone()), None).unwrap();
            home.check().err().map(|error| (false, error.to_string()))
        }));
        match (outcome, found) {
            (Err(_), _) => panics += 1,
            (Ok(Some((early, said))), found) => {
                let damaged = found.map(|found| differing(&sound, &found)).ok();
                match names(&said, &folder, name, damaged.as_ref()) {
                    Some(what) => *named.entry(what).or_default() += 1,
                    None => unplaced.push(format!("{name} {offset}.{bit}, tables {damaged:?}: {said}")),
                }
                *(if early { &mut at_start } else { &mut by_check }) += 1;
            }
            (Ok(None), Ok(found)) if found == sound => nowhere += 1,
            (Ok(None), found) => {
                let tables: Vec<String> = match &found {
                    Ok(found) => differing(&sound, found).into_iter().collect(),
                    Err(error) => vec![error.to_string()],
                };
                for table in tables {
                    if table != UNCOVERED {
                        silent.push(format!("{name} {offset}.{bit}: {table}"));
                    }
                    *unnoticed.entry(table).or_default() += 1;
                }
            }
        }
    }
    println!(
        "{flips} flipped bits: found at the start {at_start}, found by `state check` {by_check}, where nothing is kept \
         {nowhere}, unnoticed {unnoticed:?} (of these nothing has to be said in {UNCOVERED}), panics {panics}; what was \
         found names {named:?}"
    );
    assert_eq!(panics, 0);
    assert!(unplaced.is_empty(), "{unplaced:#?}");
    assert!(silent.is_empty(), "{silent:#?}");
}
