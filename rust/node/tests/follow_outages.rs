//! The reports and the behaviour of a follower whose nodes are slow, silent, behind, or of another chain.

use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use headwater_ledger::store::{LiveState, LiveStatus, Writer};
use headwater_ledger::{Cancel, Store};
use headwater_node::{FollowOptions, NodeError, Providers, compare_balances, follow};
use headwater_types::Chain;

use crate::fake::{FakeNode, digest};
use crate::follow::{FINALITY, ProgressLog, options, run};
use crate::follow_node::{Draws, Scene, SimulatedChain, locked, node};

fn chain_of(blocks: u64) -> SimulatedChain {
    let mut chain = SimulatedChain::new(FINALITY);
    chain.grow(blocks, &mut Draws::new(11));
    chain
}

fn status(store: &Path) -> LiveStatus {
    LiveStatus::read(store, Chain::ETHEREUM).unwrap().unwrap()
}

/// Follows until a condition on the store holds, and returns the progress.
fn follow_until(
    store: &Path,
    urls: &[String],
    options: &FollowOptions,
    is_reached: impl Fn() -> bool + Sync,
) -> ProgressLog {
    let (cancel, progress) = (Cancel::new(), ProgressLog::default());
    let providers = Providers::new(urls, None).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let began = Instant::now();
            while !is_reached() && began.elapsed() < Duration::from_mins(1) {
                thread::sleep(Duration::from_millis(5));
            }
            cancel.cancel();
        });
        follow(store, &providers, options, &progress, &cancel).unwrap();
    });
    assert!(is_reached(), "{:?}", progress.states.lock().unwrap());
    progress
}

fn waits_for(store: &Path, words: &str) -> bool {
    let status = LiveStatus::read(store, Chain::ETHEREUM).unwrap();
    status.is_some_and(|status| matches!(status.state, LiveState::Waiting { reason } if reason.contains(words)))
}

#[test]
fn step_counts_each_transaction_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let scene = Scene::calm(chain_of(20));
    let node = node(&scene);
    let (report, progress) = run(&store, &[&node], &options(Some(20)), &Cancel::new());
    report.unwrap();
    let counted: u64 = progress.steps.lock().unwrap().iter().map(|step| step.transactions).sum();
    let first = progress.steps.lock().unwrap()[0].from_block;
    let chain = locked(&scene).chain.lines();
    let blocks = chain.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let followed = blocks.filter(|block| {
        let number = block["number"].as_str().map(|text| u64::from_str_radix(&text[2..], 16).unwrap());
        number.is_some_and(|number| number >= first)
    });
    let expected: usize = followed.map(|block| block["transactions"].as_array().map_or(0, Vec::len)).sum();
    assert!(expected > 0);
    assert_eq!(counted, expected as u64);
}

#[test]
fn node_far_behind_another_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (fresh, stuck) = (Scene::calm(chain_of(30)), Scene::calm(chain_of(30)));
    let (first, second) = (node(&fresh), node(&stuck));
    run(&store, &[&first, &second], &options(Some(30)), &Cancel::new()).0.unwrap();
    locked(&fresh).chain.grow(40, &mut Draws::new(12));
    let urls = [first.url.clone(), second.url.clone()];
    follow_until(&store, &urls, &options(None), || waits_for(&store, "is 40 blocks behind the others"));
    assert!(waits_for(&store, second.url.trim_start_matches("http://")));
    locked(&stuck).chain = locked(&fresh).chain.clone();
    run(&store, &[&first, &second], &options(Some(70)), &Cancel::new()).0.unwrap();
}

#[test]
fn node_behind_the_store_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let node = node(&Scene::calm(chain_of(30)));
    // Nothing is held yet, and the first block is far above the newest one.
    let options = FollowOptions { from: Some(999), ..options(None) };
    follow_until(&store, std::slice::from_ref(&node.url), &options, || {
        waits_for(&store, "the next block is 999, and the newest block of the nodes is 30")
    });
}

#[test]
fn node_of_another_chain_is_an_error_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(&Scene::calm(chain_of(3)));
    let options = FollowOptions { chain: Chain::BSC, ..options(None) };
    let error = run(&folder.path().join("store"), &[&node], &options, &Cancel::new()).0.unwrap_err();
    assert!(matches!(&error, NodeError::NoAnswer { is_lasting: true, .. }), "{error}");
    assert!(error.to_string().contains("its chain id is 1, that of bsc is 56"), "{error}");
}

#[test]
fn silent_node_is_noted_and_listed_in_the_status() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let (one, other) = (Scene::calm(chain_of(30)), Scene::calm(chain_of(30)));
    let (first, second) = (node(&one), node(&other));
    run(&store, &[&first, &second], &options(Some(30)), &Cancel::new()).0.unwrap();
    let urls = [first.url.clone(), second.url.clone()];
    let name = second.url.trim_start_matches("http://").to_owned();
    // Nothing listens at the address any more.
    drop(second);
    locked(&one).chain.grow(2, &mut Draws::new(13));
    let slowly = FollowOptions { retry: Duration::from_secs(30), ..options(None) };
    let progress = follow_until(&store, &urls, &slowly, || status(&store).silent == [name.as_str()]);
    let notes = progress.notes.lock().unwrap();
    assert!(notes.iter().any(|note| note.contains(&name) && note.contains("1 of 2 nodes answer")), "{notes:?}");
}

#[test]
fn node_that_never_answers_is_waited_for_within_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let scene = Scene::calm(chain_of(12));
    let answering = node(&scene);
    run(&store, &[&answering], &options(Some(12)), &Cancel::new()).0.unwrap();
    // It takes connections, and reads nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let began = Instant::now();
    follow_until(&store, &[url], &options(None), || waits_for(&store, "no node answers"));
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

#[test]
fn follower_that_was_stopped_is_not_live() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let node = node(&Scene::calm(chain_of(12)));
    run(&store, &[&node], &options(Some(12)), &Cancel::new()).0.unwrap();
    assert_eq!(LiveStatus::read_live(&store, Chain::ETHEREUM).unwrap(), None);
    assert_eq!(status(&store).head_block, 12);
}

#[test]
fn first_block_of_a_followed_store_is_noted_as_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let scene = Scene::calm(chain_of(12));
    let node = node(&scene);
    run(&store, &[&node], &options(Some(12)), &Cancel::new()).0.unwrap();
    locked(&scene).chain.grow(1, &mut Draws::new(14));
    let later = FollowOptions { from: Some(2), ..options(Some(13)) };
    let (outcome, progress) = run(&store, &[&node], &later, &Cancel::new());
    outcome.unwrap();
    let notes = progress.notes.lock().unwrap();
    assert!(notes.iter().any(|note| note.contains("block 13 is next")), "{notes:?}");
}

#[test]
fn comparison_with_a_node_of_another_branch_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let scene = Scene::calm(chain_of(12));
    let node: FakeNode = node(&scene);
    run(&store, &[&node], &options(Some(12)), &Cancel::new()).0.unwrap();
    drop(Writer::open_or_create(&store).unwrap());
    let before = digest(&store);
    locked(&scene).chain.replace(4, 8, &mut Draws::new(15));
    let snapshot = Store::open(&store).unwrap().snapshot().unwrap();
    let providers = Providers::new(std::slice::from_ref(&node.url), None).unwrap();
    let compared = compare_balances(snapshot.as_ref(), Chain::ETHEREUM, 10, &providers, &|_, _| {}, &Cancel::new());
    let error = compared.unwrap_err().to_string();
    assert!(error.contains("block 12 as the store holds it: it is on another branch"), "{error}");
    assert_eq!(digest(&store), before);
}
