//! Every operation on the disk fails once: with an error, by a loss of power, by a full disk. What was acknowledged is
//! there afterwards, and the store opens without repair.
#![expect(clippy::disallowed_methods, reason = "the environment names the small volume")]

mod disk;
mod story;

use std::path::Path;

use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError, Store};

use disk::{Fault, Loss, Model, Operation};
use story::{CHAIN, STEPS, digest};

/// The digest after each step, the first before any; and the operations of the whole story.
fn reference() -> (Vec<String>, Vec<Operation>) {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::new(Fault::None, 0);
    let mut writer = Writer::open_on(folder.path(), Box::new(model.clone())).unwrap();
    let mut digests = vec![digest(folder.path())];
    for step in STEPS {
        step(&mut writer).unwrap();
        digests.push(digest(folder.path()));
    }
    (digests, model.operations())
}

/// Lives the story on from where the store is until it ends or the disk fails; gives the steps that are acknowledged.
fn live(folder: &Path, model: &Model, digests: &[String], acknowledged: usize) -> usize {
    let Ok(mut writer) = Writer::open_on(folder, Box::new(model.clone())) else { return acknowledged };
    let mut done = held(folder, digests, acknowledged);
    while let Some(step) = STEPS.get(done) {
        match step(&mut writer) {
            Ok(()) => done += 1,
            // Latched when it was a merge after the step before that failed: no step fails for its merge.
            Err(LedgerError::Io { .. } | LedgerError::Latched { .. }) => return done,
            Err(error) => panic!("step {done}: {error}"),
        }
    }
    done
}

/// Returns the number of steps in the store: those that are acknowledged, or one more.
fn held(folder: &Path, digests: &[String], acknowledged: usize) -> usize {
    let found = digest(folder);
    let place = (acknowledged..=acknowledged + 1).rev().find(|place| digests.get(*place) == Some(&found));
    place.unwrap_or_else(|| panic!("the store holds neither {acknowledged} steps nor one more"))
}

fn check_sound(folder: &Path) {
    let report = Store::open(folder).unwrap().verify(&|_, _| {}, &Cancel::new()).unwrap();
    assert!(report.is_sound(), "{report:?}");
}

/// Every how many-th operation is tried: so many, or each of them in the long run.
fn stride(usual: usize) -> usize {
    if headwater_testkit::is_full() { 1 } else { usual }
}

#[test]
fn power_loss_at_any_operation_loses_nothing_acknowledged() {
    let (digests, operations) = reference();
    assert!(operations.len() > 150, "the story has {} operations", operations.len());
    for (loss, offset) in [(Loss::Kept, 0), (Loss::Dropped, 2), (Loss::Torn, 4)] {
        for at in (offset..operations.len()).step_by(stride(17)) {
            let reported = format!("{loss:?} at {at} ({:?})", operations[at]);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path();
            let first = Model::new(Fault::Power, at);
            let mut acknowledged = live(path, &first, &digests, 0);
            first.lose(loss, at as u64);
            // And again while it gets over that: each time at another operation.
            let second = Model::new(Fault::Power, at % 29);
            if Store::open(path).is_ok() {
                acknowledged = held(path, &digests, acknowledged);
            } else {
                assert_eq!(acknowledged, 0, "{reported}");
            }
            acknowledged = live(path, &second, &digests, acknowledged);
            second.lose(loss, at as u64 + 1);
            let mut writer = Writer::open_on(path, Box::new(Model::default())).expect(&reported);
            check_sound(path);
            for step in &STEPS[held(path, &digests, acknowledged)..] {
                step(&mut writer).expect(&reported);
            }
            assert_eq!(digest(path), digests[STEPS.len()], "{reported}");
            check_sound(path);
        }
    }
}

#[test]
fn disk_error_leaves_whole_steps_and_the_next_writer_works() {
    let (digests, operations) = reference();
    for at in (0..operations.len()).step_by(stride(7)) {
        let folder = tempfile::tempdir().unwrap();
        let model = Model::new(Fault::Error, at);
        let acknowledged = live(folder.path(), &model, &digests, 0);
        if Store::open(folder.path()).is_err() {
            assert_eq!(acknowledged, 0);
        } else {
            held(folder.path(), &digests, acknowledged);
        }
        let done = live(folder.path(), &model, &digests, acknowledged);
        assert_eq!(done, STEPS.len(), "{:?} at {at}", operations[at]);
        assert_eq!(digest(folder.path()), digests[done]);
        check_sound(folder.path());
    }
}

#[test]
fn writer_stops_after_a_failed_sync_or_rename() {
    let (digests, operations) = reference();
    let unsure = [Operation::Sync, Operation::Rename, Operation::SyncFolder];
    let places: Vec<usize> = (0..operations.len()).filter(|at| unsure.contains(&operations[*at])).collect();
    let mut latched = 0;
    for at in places.into_iter().step_by(stride(4)) {
        let folder = tempfile::tempdir().unwrap();
        let model = Model::new(Fault::Error, at);
        let Ok(mut writer) = Writer::open_on(folder.path(), Box::new(model.clone())) else { continue };
        // A merge that fails after a commit fails no commit: then it is the next step that is refused.
        let failed = STEPS.iter().position(|step| step(&mut writer).is_err());
        let Some(failed) = failed else { continue };
        let before = model.operations().len();
        for step in &STEPS[failed..] {
            assert!(matches!(step(&mut writer), Err(LedgerError::Latched { .. })), "{:?} at {at}", operations[at]);
        }
        assert_eq!(model.operations().len(), before, "nothing is tried again");
        drop(writer);
        held(folder.path(), &digests, failed);
        drop(Writer::open_or_create(folder.path()).unwrap());
        check_sound(folder.path());
        latched += 1;
    }
    assert!(latched > 20, "{latched}");
}

#[test]
fn full_disk_refuses_commits_until_there_is_space() {
    let (digests, _) = reference();
    let folder = tempfile::tempdir().unwrap();
    let model = Model::new(Fault::Full { bytes: 0 }, 0);
    assert!(Writer::open_on(folder.path(), Box::new(model.clone())).is_err(), "no room for a manifest");
    model.set_space(20_000);
    let mut writer = Writer::open_on(folder.path(), Box::new(model.clone())).unwrap();
    let mut refused = 0;
    for (done, step) in STEPS.iter().enumerate() {
        loop {
            match step(&mut writer) {
                Ok(()) => break,
                Err(LedgerError::Io { action: "cannot write", source, .. }) => {
                    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
                    assert_eq!(digest(folder.path()), digests[done], "what is refused leaves no trace");
                    check_sound(folder.path());
                    model.set_space(model.appended() + 25_000);
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
    assert!(refused > 1, "{refused}");
    assert_eq!(digest(folder.path()), digests[STEPS.len()]);
    let names = walk(folder.path());
    assert!(names.iter().all(|name| Path::new(name).extension().is_none_or(|ending| ending != "tmp")), "{names:?}");
}

fn walk(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            names.extend(walk(&entry));
        } else {
            names.push(entry.display().to_string());
        }
    }
    names
}

/// `HEADWATER_SMALL_VOLUME` names a folder on a volume of a few megabytes that nobody else uses; `make test` mounts one
/// where it may.
#[test]
#[ignore = "needs a volume of a few megabytes in HEADWATER_SMALL_VOLUME"]
fn full_volume_refuses_commits_until_there_is_space() {
    let volume = std::env::var_os("HEADWATER_SMALL_VOLUME").expect("HEADWATER_SMALL_VOLUME names a small volume");
    let store = Path::new(&volume).join("store");
    let ballast = Path::new(&volume).join("ballast");
    let mut writer = Writer::open_or_create(&store).unwrap();
    let mut file = std::fs::File::create(&ballast).unwrap();
    // All but a little of the volume is taken by somebody else.
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    let length = file.metadata().unwrap().len();
    file.set_len(length.saturating_sub(64 << 10)).unwrap();
    let batch = |round: u64| {
        let chain = headwater_testkit::Chainlet::new(CHAIN).at_block(1 + 50 * round);
        (0..50).fold(chain, |chain, number| chain.transfer(number % 5, 7, number)).batch()
    };
    let mut held = 0;
    let error = loop {
        match writer.commit(batch(held), &Cancel::new()) {
            Ok(_) => held += 1,
            Err(error) => break error,
        }
        assert!(held < 10_000, "the volume is not small");
    };
    let full = |error: &LedgerError| matches!(error, LedgerError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull);
    assert!(full(&error), "{error:?}");
    assert!(held > 0);
    let transactions = || Store::open(&store).unwrap().stats().unwrap().chains[&CHAIN].coverage.transactions;
    assert_eq!(transactions(), 50 * held);
    check_sound(&store);
    file.set_len(0).unwrap();
    for round in held..held + 3 {
        writer.commit(batch(round), &Cancel::new()).unwrap();
    }
    assert_eq!(transactions(), 50 * (held + 3));
    check_sound(&store);
}
