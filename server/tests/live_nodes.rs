//! Followers of live nodes as callers, operators and their monitoring see them.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use headwater_ledger::store::{LiveState, LiveStatus, Writer};
use headwater_state::now_ms;
use headwater_testkit::{Chainlet, followed};
use headwater_types::{Chain, Timestamp};
use serde_json::{Value, json};

use crate::support::{Client, Process, own_port, run, within};

const ETH: Chain = Chain::ETHEREUM;
/// The time of block 6 of a chainlet.
const SIX: i64 = 1_600_000_000 + 6 * 12;

/// A store with the blocks 5 and 6 in its tail.
fn store(place: &Path) -> Writer {
    let mut writer = Writer::open_or_create(place.join("demo")).unwrap();
    for number in [5, 6] {
        append(&mut writer, number, 1, 1);
    }
    writer
}

fn append(writer: &mut Writer, number: u64, fork: u8, parent_fork: u8) {
    let block = Chainlet::ethereum().at_block(number).transfer(1, 2, 10 + u64::from(fork));
    writer.append_tail_block(followed(block.batch(), fork, parent_fork)).unwrap();
}

/// The status of a follower, with the time of its writing in milliseconds.
fn status(state: LiveState, head_block: u64, written_ms: u64) -> LiveStatus {
    LiveStatus { chain: ETH, state, head_block, final_block: 4, written_ms, silent: Vec::new() }
}

fn now() -> u64 {
    u64::try_from(now_ms()).unwrap()
}

fn halted() -> LiveState {
    LiveState::Halted { reason: "block 4 of the node is another one; compare it with other nodes".to_owned() }
}

fn ethereum(server: &Process) -> Value {
    let reply = server.client().unwrap().send("GET", "/v1/chains?include=none", &[], b"").unwrap();
    let chains = reply.json()["data"]["chains"].clone();
    chains.as_array().unwrap().iter().find(|chain| chain["chain"] == "ethereum").unwrap().clone()
}

#[test]
fn chains_have_the_newest_status_of_a_live_follower() {
    let place = tempfile::tempdir().unwrap();
    let mut writer = store(place.path());
    let path = place.path().join("demo");
    let server = Process::start(&path, &["--set", "auth.required=false"]);
    let seen = || {
        let chain = ethereum(&server);
        [chain["indexed_to_block"].clone(), chain["head_block"].clone(), chain["lag_seconds"].clone()]
    };
    assert_eq!(seen(), [json!(6), Value::Null, Value::Null]);
    let written = now();
    status(LiveState::Following, 8, written).write(&path).unwrap();
    let lag = i64::try_from(written / 1000).unwrap() - SIX;
    assert_eq!(seen(), [json!(6), json!(8), json!(lag)]);
    // No commit lies between the two, and still it is the newest.
    status(LiveState::Following, 9, written).write(&path).unwrap();
    assert_eq!(seen(), [json!(6), json!(9), json!(lag)]);
    append(&mut writer, 7, 1, 1);
    within(Duration::from_secs(5), "the block is seen", || seen() == [json!(7), json!(9), json!(lag - 12)]);
    status(LiveState::Following, 9, now() - 31_000).write(&path).unwrap();
    assert_eq!(seen(), [json!(7), Value::Null, Value::Null], "the follower ended");
    // The command line has the same fields.
    status(LiveState::Following, 9, written).write(&path).unwrap();
    let answer = run(&["query", "chains", "--store", path.to_str().unwrap(), "--param", "include=none", "--json"]);
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    let chains = answer["data"]["chains"].as_array().unwrap();
    let chain = chains.iter().find(|chain| chain["chain"] == "ethereum").unwrap();
    assert_eq!([&chain["head_block"], &chain["lag_seconds"]], [&json!(9), &json!(lag - 12)]);
}

#[test]
fn readyz_is_503_while_a_chain_is_halted() {
    let place = tempfile::tempdir().unwrap();
    drop(store(place.path()));
    let (path, log) = (place.path().join("demo"), place.path().join("log"));
    status(LiveState::Following, 6, now()).write(&path).unwrap();
    let server = Process::with_log(&path, &[], Stdio::from(File::create(&log).unwrap()));
    let ask = |address| Client::connect(address).unwrap().send("GET", "/readyz", &[], b"").unwrap();
    assert_eq!(ask(server.address).status, 200);
    let began = Instant::now();
    // A status of long ago: its follower ended with the halt.
    status(halted(), 6, 1).write(&path).unwrap();
    for address in [server.address, server.admin.unwrap()] {
        within(Duration::from_secs(5), "it is not ready", || ask(address).status == 503);
        let reply = ask(address);
        assert_eq!(reply.error(), ("service_unavailable".to_owned(), "halted".to_owned()));
        assert_eq!(reply.json()["error"]["details"]["value"], "ethereum");
        let message = "the service takes no traffic now: following ethereum is halted: block 4 of the node is another one; \
                       compare it with other nodes";
        assert_eq!(reply.json()["error"]["message"], message);
        assert_eq!(reply.header("retry-after"), "5");
    }
    assert!(began.elapsed() < Duration::from_secs(5));
    // What is held is still answered.
    assert_eq!(Client::connect(server.address).unwrap().send("GET", "/healthz", &[], b"").unwrap().status, 200);
    let logged = || std::fs::read_to_string(&log).unwrap();
    let begin =
        "ethereum: FOLLOWING IS HALTED, /readyz answers 503 until it continues: block 4 of the node is another one";
    within(Duration::from_secs(5), "the halt is logged", || logged().contains(begin));
    status(LiveState::Following, 7, now()).write(&path).unwrap();
    assert_eq!(ask(server.address).status, 200);
    let end = "ethereum: following its node at block 7 (no longer halted)";
    within(Duration::from_secs(5), "the end is logged", || logged().contains(end));
    assert_eq!((logged().matches(begin).count(), logged().matches(end).count()), (1, 1));
}

#[test]
fn readyz_is_503_while_a_followed_chain_lags() {
    let place = tempfile::tempdir().unwrap();
    drop(store(place.path()));
    let path = place.path().join("demo");
    let server = Process::start(&path, &["--set", "follow.max_lag_secs=3600"]);
    let ask = || server.client().unwrap().send("GET", "/readyz", &[], b"").unwrap();
    assert_eq!(ask().status, 200, "the chain is not followed");
    status(LiveState::CatchingUp, 900, now()).write(&path).unwrap();
    let reply = ask();
    assert_eq!((reply.status, reply.error().1.as_str()), (503, "lagging"));
    assert_eq!(reply.json()["error"]["details"]["value"], "ethereum");
    assert!(reply.json()["error"]["message"].as_str().unwrap().contains("the newest block of ethereum is "));
}

#[test]
fn figures_have_head_lag_state_and_reorgs_of_a_chain() {
    let place = tempfile::tempdir().unwrap();
    let mut writer = store(place.path());
    let path = place.path().join("demo");
    let server = Process::start(&path, &["--set", "metrics.open=true"]);
    let figures = || {
        let reply = Client::connect(server.admin.unwrap()).unwrap().send("GET", "/metrics", &[], b"").unwrap();
        String::from_utf8(reply.body).unwrap()
    };
    let has = |line: &str| figures().lines().any(|one| one == line);
    status(LiveState::Following, 9, now()).write(&path).unwrap();
    for line in [
        "headwater_chain_held_block{chain=\"ethereum\"} 6",
        "headwater_chain_head_block{chain=\"ethereum\"} 9",
        "headwater_chain_lag_blocks{chain=\"ethereum\"} 3",
        "headwater_chain_follower_state{chain=\"ethereum\",state=\"following\"} 1",
        "headwater_chain_follower_state{chain=\"ethereum\",state=\"halted\"} 0",
    ] {
        assert!(has(line), "{line} is not in {}", figures());
    }
    // The outbox begins with what comes now.
    within(Duration::from_secs(5), "the feed is followed", || {
        append(&mut writer, 7, 1, 1);
        std::thread::sleep(Duration::from_millis(300));
        writer.roll_back_tail(ETH, 6).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        figures().contains("headwater_chain_reorgs_total{chain=\"ethereum\"}")
    });
    let number = |name: &str| {
        let text = figures();
        let line =
            text.lines().find(|line| line.starts_with(name)).map(|line| line.rsplit_once(' ').unwrap().1.to_owned());
        line.map_or(0, |number| number.parse::<u64>().unwrap())
    };
    let [reorgs, blocks] = ["chain_reorgs_total", "chain_reorg_blocks_total"].map(|name| format!("headwater_{name}"));
    let (begun, removed) = (number(&reorgs), number(&blocks));
    append(&mut writer, 7, 2, 1);
    append(&mut writer, 8, 2, 2);
    writer.roll_back_tail(ETH, 6).unwrap();
    within(Duration::from_secs(5), "both blocks are counted", || number(&blocks) == removed + 2);
    assert_eq!(number(&reorgs), begun + 1);
    assert_eq!(number("headwater_chain_reorg_depth_max_blocks{"), 2);
    assert!(number("headwater_event_publish_seconds_count") >= 4);
    status(LiveState::Following, 9, 1).write(&path).unwrap();
    assert!(has("headwater_chain_follower_state{chain=\"ethereum\",state=\"stopped\"} 1"));
    let text = figures();
    assert!(!text.contains("headwater_chain_head_block{") && !text.contains("headwater_chain_lag_blocks{"), "{text}");
    status(halted(), 9, 1).write(&path).unwrap();
    assert!(has("headwater_chain_follower_state{chain=\"ethereum\",state=\"halted\"} 1"));
}

#[test]
fn doctor_reports_a_follower_that_halted_or_stopped() {
    let place = tempfile::tempdir().unwrap();
    drop(store(place.path()));
    let path = place.path().join("demo");
    let finding = |written: &LiveStatus| {
        written.write(&path).unwrap();
        let output = run(&["doctor", "--json", "--store", path.to_str().unwrap()]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["area"] == "live").unwrap();
        let text = |name: &str| found[name].as_str().unwrap_or_default().to_owned();
        (text("level"), text("what"), text("remedy"))
    };
    let (level, what, remedy) = finding(&status(halted(), 9, 1));
    assert_eq!(level, "broken");
    assert!(what.starts_with("ethereum: following is halted, and /readyz answers 503: block 4 of the node"), "{what}");
    assert!(remedy.contains("headwater follow --chain ethereum") && remedy.contains("live/ethereum.json"), "{remedy}");
    let (level, what, remedy) = finding(&status(LiveState::Following, 9, 1_600_000_000_000));
    assert_eq!(
        (level.as_str(), what.as_str()),
        ("warning", "ethereum: the follower stopped; its last status is of 2020-09-13T12:26:40Z")
    );
    assert!(remedy.contains("--follow ethereum=URL"), "{remedy}");
    let waiting = LiveState::Waiting { reason: "no answer".to_owned() };
    let (level, what, _) = finding(&status(waiting, 9, now()));
    assert_eq!((level.as_str(), what.as_str()), ("warning", "ethereum: the follower waits for its nodes: no answer"));
    let written = now();
    let (level, what, _) = finding(&status(LiveState::CatchingUp, 9, written));
    let lag = i64::try_from(written / 1000).unwrap() - Timestamp::new(SIX).secs();
    let expected = format!("ethereum: catching up at block 9 of the node, the newest held one is {lag} s old");
    assert_eq!((level.as_str(), what), ("good", expected));
}

#[test]
fn serve_follows_a_node_that_does_not_answer_and_stops() {
    let place = tempfile::tempdir().unwrap();
    let (path, log) = (place.path().join("new"), place.path().join("log"));
    // Nothing listens there.
    let node = format!("ethereum=http://me:canary@127.0.0.1:{}/canary", own_port());
    let mut server = Process::with_log(&path, &["--follow", &node], Stdio::from(File::create(&log).unwrap()));
    let logged = || std::fs::read_to_string(&log).unwrap();
    within(Duration::from_secs(10), "the reason is logged", || {
        logged().contains("ethereum: waiting for its nodes: no node answers")
    });
    let state = LiveStatus::read(&path, ETH).unwrap().unwrap();
    assert!(matches!(state.state, LiveState::Waiting { .. }) && state.head().is_none(), "{state:?}");
    assert_eq!(server.client().unwrap().send("GET", "/readyz", &[], b"").unwrap().status, 200);
    let began = Instant::now();
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(logged().contains("ethereum: following http://127.0.0.1:") && !logged().contains("canary"), "{}", logged());
    let wrong = run(&["serve", "--store", path.to_str().unwrap(), "--follow", "ethereum=canary"]);
    let error = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(2), "{error}");
    assert!(error.contains("--follow ethereum: expected addresses of nodes") && !error.contains("canary"), "{error}");
}
