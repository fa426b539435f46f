//! A serving process beside commands of other processes.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use headwater_state::Home;

use crate::support::live::{LiveStore, Socket};
use crate::support::{
    Process, QUIET, TRANSACTIONS, is_full, logged, made_key, reader, resident, run, run_json, small_store, within,
};

#[test]
fn keys_credits_and_commits_of_other_processes_are_seen() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let server = Process::start(&store, &[]);
    let made = run_json(&["keys", "create", "--json", "--store", at, "--name", "late", "--credits", "5"]);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let mut client = server.client().unwrap();
    let mut call = || client.post("/v1/transactions", key, QUIET).unwrap();
    within(Duration::from_secs(20), "the new key is known", || call().status != 401);
    within(Duration::from_secs(20), "its credits are spent", || call().status == 402);
    assert_eq!(run_json(&["credits", "add", id, "20", "--json", "--store", at])["credits"], 20);
    within(Duration::from_secs(20), "the new credits are known", || call().status == 200);
    let held = |client: &mut crate::support::Client| {
        let body = r#"{"blockchain":"ethereum","address":"0xa1e4380a3b1f749673e270229993ee55f35663b4"}"#;
        let reply = client.post("/v1/transactions", key, body).unwrap();
        (reply.status, reply.json()["data"]["datas"].as_array().map_or(0, Vec::len))
    };
    let mut second = server.client().unwrap();
    assert_eq!(held(&mut second), (200, 1));
    let more = TRANSACTIONS
        .replace("0x5c504ed4", "0x6c504ed4")
        .replace(",0,0x4e3a", ",1,0x4e3a")
        .replace(",46147,0,", ",46147,1,");
    fs::write(place.path().join("more.csv"), more).unwrap();
    run_json(&["ingest", "--json", "--store", at, place.path().join("more.csv").to_str().unwrap()]);
    assert_eq!(held(&mut second), (200, 2));
    assert_eq!(run_json(&["keys", "list", "--json", "--store", at])["keys"][0]["credits"], 5);
    assert!(run(&["keys", "revoke", id, "--store", at]).status.success());
    within(Duration::from_secs(20), "the key is refused", || {
        second.post("/v1/transactions", key, QUIET).unwrap().status == 401
    });
}

#[test]
fn server_following_commits_holds_few_generations_open() {
    let commits = if is_full() { 5000 } else { 200 };
    let mut live = LiveStore::new();
    let key = made_key(&live.store(), 0);
    let server = Process::start(&live.store(), &[]);
    let mut stream = Socket::open(server.address, "", &[("X-API-Key", &key)]).unwrap();
    stream.subscribe(None).unwrap();
    let mut before = 0;
    for number in 0..commits {
        live.block(1);
        assert!(stream.event().is_ok(), "it follows every one of them");
        if number == commits / 5 {
            before = resident(server.id());
        }
    }
    let maps = fs::read_to_string(format!("/proc/{}/maps", server.id())).unwrap();
    let open: BTreeSet<&str> = maps.split_whitespace().filter(|word| word.ends_with(".segment")).collect();
    let written = fs::read_dir(live.store().join("segments")).unwrap().count();
    let grown = resident(server.id()).saturating_sub(before) >> 10;
    println!("followed {commits} commits: {} of {written} segments are open, memory +{grown} KiB", open.len());
    assert!(open.len() < 150, "{}", open.len());
    assert!(grown < 64 << 10, "{grown}");
}

#[test]
fn two_servers_on_one_state_know_which_of_them_was_killed() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let key = made_key(&store, 1000);
    let home = Home::in_folder(&Home::beside(&store)).unwrap();
    let count = |sql: &str| reader(&home).query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let ended = "SELECT count(*) FROM server_run WHERE stopped_at_ms IS NOT NULL";
    let mut first = Process::start(&store, &[]);
    let mut client = first.client().unwrap();
    assert_eq!(client.post("/v1/transactions", &key, QUIET).unwrap().status, 200);
    let mut second = Process::start(&store, &[]);
    assert_eq!(count(ended), 0, "neither of two that live was killed");
    second.terminate();
    assert_eq!((second.wait(), count(ended)), (Some(0), 1));
    assert_eq!(client.post("/v1/transactions", &key, QUIET).unwrap().status, 200);
    assert!(run(&["state", "check", "--store", store.to_str().unwrap()]).status.success());
    first.kill();
    let third = Process::start(&store, &[]);
    assert_eq!(count(ended), 2, "the next one counts it");
    assert!(third.id() > 0);
}

#[test]
fn a_signal_while_it_starts_stops_a_server_as_one_later_does() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    made_key(&store, 0);
    let home = Home::in_folder(&Home::beside(&store)).unwrap();
    let runs = |which: &str| {
        let sql = format!("SELECT count(*) FROM server_run WHERE {which}");
        reader(&home).query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    // Later each time, until some had begun something that they had to end.
    let mut milliseconds = 0;
    while runs("stopped_at_ms IS NOT NULL") < 5 {
        let mut server = Command::new(env!("CARGO_BIN_EXE_headwater"))
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store.to_str().unwrap()])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(milliseconds));
        let _ = Command::new("kill").args(["-TERM", &server.id().to_string()]).status();
        let ended = server.wait().unwrap();
        assert_eq!(runs("stopped_at_ms IS NULL"), 0, "{ended} after {milliseconds} ms");
        milliseconds += 2;
        assert!(milliseconds < 2000, "no start got so far");
    }
}

#[test]
fn a_hangup_ends_nothing_where_there_is_no_certificate_to_read() {
    let place = tempfile::tempdir().unwrap();
    let server = Process::start(&small_store(place.path()), &["--set", "auth.required=false"]);
    let hangup = Command::new("kill").args(["-HUP", &server.id().to_string()]).status().unwrap();
    assert!(hangup.success());
    thread::sleep(Duration::from_millis(200));
    assert_eq!(server.client().unwrap().send("GET", "/healthz", &[], b"").unwrap().status, 200);
}

#[test]
fn request_cut_off_by_the_drain_is_recorded() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let key = made_key(&store, 10);
    let mut server = Process::start(&store, &["--set", "server.drain_secs=1"]);
    let mut client = server.client().unwrap();
    let head = format!(
        "POST /v1/transactions HTTP/1.1\r\nHost: x\r\nX-API-Key: {key}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\nExpect: 100-continue\r\n\r\n"
    );
    client.raw(head.as_bytes());
    // The server asks for the body, so the request is under way.
    assert_eq!(client.read(true).unwrap().status, 100);
    client.raw(b"{");
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let home = Home::in_folder(&Home::beside(&store)).unwrap();
    let recorded = "SELECT sum(requests) FROM request_sum WHERE endpoint = '/v1/transactions' AND status >= 400";
    assert_eq!(reader(&home).query_row(recorded, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn a_signal_ends_the_process_once_all_is_recorded() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let mut server = Process::start(&store, &["--set", "auth.required=false"]);
    let mut client = server.client().unwrap();
    for _ in 0..50 {
        assert_eq!(client.send("GET", "/v1/chains", &[], b"").unwrap().status, 200);
    }
    server.terminate();
    assert_eq!(server.wait(), Some(0));
    let home = Home::in_folder(&Home::beside(&store)).unwrap();
    let sql = "SELECT sum(requests) FROM request_sum";
    let requests: i64 = reader(&home).query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!((requests, logged(&Home::beside(&store)).len()), (50, 50));
}
