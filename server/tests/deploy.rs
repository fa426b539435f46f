//! The files of `deploy/`: they name metrics, labels and settings that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_ledger::store::{LiveState, LiveStatus, Writer};
use headwater_state::now_ms;
use headwater_testkit::{Chainlet, followed};
use headwater_types::Chain;
use serde_json::Value;

use crate::support::{Client, Process, made_key, within};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of metrics in an expression.
fn names(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words
        .filter(|word| ["headwater_", "process_"].iter().any(|prefix| word.starts_with(prefix)))
        .map(str::to_owned)
        .collect()
}

/// The labels that an expression groups or filters by, apart from those that Prometheus adds.
fn labels(expression: &str) -> BTreeSet<String> {
    let grouped = expression.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
    let filtered = expression.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    let name = |pair: &str| pair.split(['=', '!']).next().unwrap_or_default().trim().to_owned();
    let pairs = grouped.chain(filtered).flat_map(|list| list.split(','));
    pairs.map(name).filter(|label| !["", "instance", "job"].contains(&label.as_str())).collect()
}

/// The figures of a server with traffic, a refusal, and a followed chain with a reorganisation.
fn figures() -> String {
    let place = tempfile::tempdir().unwrap();
    let path: PathBuf = place.path().join("demo");
    let mut writer = Writer::open_or_create(&path).unwrap();
    let block = |number| followed(Chainlet::ethereum().at_block(number).transfer(1, 2, 10).batch(), 1, 1);
    writer.append_tail_block(block(5)).unwrap();
    let key = made_key(&path, 100);
    let server = Process::start(&path, &["--set", "metrics.open=true"]);
    let written_ms = u64::try_from(now_ms()).unwrap();
    let status = LiveStatus {
        chain: Chain::ETHEREUM,
        state: LiveState::Following,
        head_block: 9,
        final_block: 4,
        written_ms,
        silent: Vec::new(),
    };
    status.write(&path).unwrap();
    let mut client = server.client().unwrap();
    assert_eq!(client.post("/v1/transactions", "wrong", "{}").unwrap().status, 401);
    assert_eq!(client.send("GET", "/v1/chains", &[("X-API-Key", &key)], b"").unwrap().status, 200);
    let ask = || {
        let reply = Client::connect(server.admin.unwrap()).unwrap().send("GET", "/metrics", &[], b"").unwrap();
        String::from_utf8(reply.body).unwrap()
    };
    within(Duration::from_secs(10), "a reorganisation is counted", || {
        writer.append_tail_block(block(6)).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        writer.roll_back_tail(Chain::ETHEREUM, 5).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        ask().contains("headwater_chain_reorgs_total")
    });
    ask()
}

/// The expressions of the dashboard and the alerts, with the place of each.
fn expressions() -> Vec<(String, String)> {
    let dashboard: Value = serde_json::from_str(&file("grafana-dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let mut list: Vec<(String, String)> = panels
        .flat_map(|panel| {
            let title = panel["title"].as_str().unwrap();
            let targets = panel["targets"].as_array().into_iter().flatten();
            targets.map(|target| (title.to_owned(), target["expr"].as_str().unwrap().to_owned()))
        })
        .collect();
    let alerts = file("alerts.yml");
    let mut alert = String::new();
    for line in alerts.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("- alert: ") {
            name.clone_into(&mut alert);
        } else if let Some(expression) = line.strip_prefix("expr: ") {
            list.push((alert.clone(), expression.to_owned()));
        }
    }
    assert!(list.len() > 25, "{} expressions", list.len());
    list
}

#[test]
fn dashboard_and_alerts_name_metrics_that_are_served() {
    let figures = figures();
    let mut served: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in figures.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let pairs = line.split_once('{').map_or("", |(_, rest)| rest.rsplit_once('}').unwrap().0);
        let labels = pairs.split("\",").filter_map(|pair| pair.split_once("=\"")).map(|(label, _)| label);
        served.entry(name).or_default().extend(labels);
    }
    for (place, expression) in expressions() {
        let names = names(&expression);
        assert!(!names.is_empty() || expression.starts_with("up{"), "{place}: {expression}");
        let known = |label: &str| names.iter().any(|name| served[name.as_str()].contains(label));
        for name in &names {
            assert!(served.contains_key(name.as_str()), "{place}: the server has no metric {name} in\n{figures}");
        }
        for label in labels(&expression) {
            assert!(known(&label), "{place}: {label} in {expression}");
        }
    }
}

#[test]
fn container_files_name_settings_that_exist() {
    let mut keys = BTreeSet::from(["HEADWATER_STORE".to_owned(), "HEADWATER_STATE".to_owned()]);
    let (settings, mut section) = (file("headwater.toml"), String::new());
    for line in settings.lines() {
        if let Some(name) = line.strip_prefix('[') {
            name.trim_end_matches(']').clone_into(&mut section);
        } else if let Some((key, _)) = line.trim_start_matches("# ").split_once(" = ") {
            keys.insert(format!("headwater_{section}_{key}").to_uppercase());
        }
    }
    for name in ["Dockerfile", "compose.yaml"] {
        let text = file(name);
        let words = text.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
        let used: BTreeSet<&str> = words.filter(|word| word.starts_with("HEADWATER_")).collect();
        assert!(used.len() >= 4, "{name}: {used:?}");
        for key in used {
            assert!(keys.contains(key), "{name}: {key} is not a setting");
        }
    }
}
