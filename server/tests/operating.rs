//! The work of an operator: keys that expire, usage by month, figures of the process, log lines of one format, and a
//! doctor that names what is open, too widely readable, or cannot be read.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::support::{Client, Process, QUIET, Server, headwater, own_port, run, run_json, small_store, within};

fn now_secs() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap()
}

#[test]
fn expired_key_is_refused_on_an_open_connection() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--json", "--store", store.to_str().unwrap()];
    let with = |more: &[&str]| run_json(&[&at, more].concat());
    let server = Process::start(&store, &[]);
    let end = now_secs() + 6;
    let made = with(&["keys", "create", "--credits", "1000000", "--expires", &end.to_string()]);
    assert_eq!(made["expires_at"], end);
    let (id, key) = (made["id"].as_str().unwrap(), made["key"].as_str().unwrap());
    let mut client = server.client().unwrap();
    within(Duration::from_secs(5), "the key is known", || {
        client.post("/v1/transactions", key, QUIET).unwrap().status == 200
    });
    let status = || with(&["keys", "list"])["keys"][0]["status"].clone();
    assert_eq!(status(), "active");
    within(Duration::from_secs(20), "the key expires", || {
        client.post("/v1/transactions", key, QUIET).unwrap().status == 401
    });
    assert!(now_secs() >= end);
    let refused = client.post("/v1/transactions", key, QUIET).unwrap();
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("the API key expired at 20") && message.contains("ask the operator"), "{message}");
    assert_eq!(status(), "expired");
    let human = run(&["keys", "list", "--store", store.to_str().unwrap()]);
    assert!(String::from_utf8(human.stdout).unwrap().contains("expired"));
    // The rest of the account is used under a key with another end.
    let refused = run(&["keys", "rotate", id, "--store", store.to_str().unwrap()]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("--expires"));
    let rotated = with(&["keys", "rotate", id, "--expires", "90d"]);
    let left = rotated["expires_at"].as_i64().unwrap() - now_secs();
    assert!((90 * 86_400 - 60..=90 * 86_400).contains(&left), "{left}");
    let next = rotated["key"].as_str().unwrap();
    within(Duration::from_secs(5), "the new key is known", || {
        client.post("/v1/transactions", next, QUIET).unwrap().status == 200
    });
}

#[test]
fn end_of_a_key_is_set_over_http() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    let ask = |method: &str, path: &str, body: &Value| server.ask_admin(method, path, &admin, &body.to_string());
    let end = now_secs() + 3600;
    let made = ask("POST", "/admin/v1/keys", &json!({"name": "ada", "expires_at": end})).json()["data"].clone();
    assert_eq!(made["expires_at"], end);
    let id = made["id"].as_str().unwrap();
    let shown = server.ask_admin("GET", &format!("/admin/v1/keys/{id}"), &admin, "").json()["data"].clone();
    assert_eq!((&shown["expires_at"], &shown["status"]), (&json!(end), &json!("active")));
    let rotate = |id: &str, body: Value| ask("POST", &format!("/admin/v1/keys/{id}/rotate"), &body);
    let next = rotate(id, json!({})).json()["data"].clone();
    assert_eq!(next["expires_at"], end, "it has the end of the old one");
    let last = rotate(next["id"].as_str().unwrap(), json!({"expires_at": "never"})).json()["data"].clone();
    assert_eq!(last["expires_at"], Value::Null);
    for wrong in [json!(1), json!("soon"), json!(end * 1000), json!(1.5)] {
        let refused = ask("POST", "/admin/v1/keys", &json!({"expires_at": wrong}));
        assert_eq!(
            (refused.status, &refused.json()["error"]["details"]["field"]),
            (400, &json!("expires_at")),
            "{wrong}"
        );
    }
}

#[test]
fn month_of_usage_is_a_table_csv_and_json() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--store", store.to_str().unwrap()];
    let make = |name: &str| {
        let made = run_json(&[&["--json", "keys", "create", "--credits", "100", "--name", name], &at[..]].concat());
        (made["id"].as_str().unwrap().to_owned(), made["key"].as_str().unwrap().to_owned())
    };
    let (ada, bob) = (make("ada"), make("bob, the \"builder\""));
    let mut server = Process::start(&store, &["--set", "metrics.open=true"]);
    let mut client = server.client().unwrap();
    let month = || chrono::DateTime::from_timestamp(now_secs(), 0).unwrap().format("%Y-%m").to_string();
    let this_month = month();
    for (key, body) in [(&ada.1, QUIET), (&ada.1, QUIET), (&ada.1, "{}"), (&bob.1, QUIET)] {
        client.post("/v1/transactions", key, body).unwrap();
    }
    server.terminate();
    server.wait();
    if month() != this_month {
        // The calls are in two months then, and nothing here would be as it says.
        return;
    }
    // A light call costs 5; one that is refused costs nothing.
    let report = run_json(&[&["--json", "usage", "--month", &this_month], &at[..]].concat());
    let line = |id: &str, name: &str, calls: i64, failed: i64, credits: i64| {
        json!({
            "key_id": id, "name": name, "endpoint": "/v1/transactions", "calls": calls, "failed": failed, "credits": credits
        })
    };
    let (first, second) = (line(&ada.0, "ada", 3, 1, 10), line(&bob.0, "bob, the \"builder\"", 1, 0, 5));
    assert_eq!(report["usage"], json!([first, second]));
    assert_eq!((&report["calls"], &report["failed"], &report["credits"]), (&json!(4), &json!(1), &json!(15)));
    assert_eq!((&report["complete"], &report["month"]), (&json!(false), &json!(this_month)));
    let said = |more: &[&str]| run(&[&["usage", "--month", &this_month], more, &at[..]].concat());
    let csv = said(&["--csv"]);
    let expected = format!(
        "month,key_id,name,endpoint,calls,failed,credits\n{this_month},{},ada,/v1/transactions,3,1,10\n\
         {this_month},{},\"bob, the \"\"builder\"\"\",/v1/transactions,1,0,5\n",
        ada.0, bob.0
    );
    assert_eq!(String::from_utf8(csv.stdout).unwrap(), expected);
    assert!(String::from_utf8(csv.stderr).unwrap().contains("not complete"));
    let table = String::from_utf8(said(&[]).stdout).unwrap();
    assert!(table.contains("not complete") && table.contains("ada") && table.contains("15"), "{table}");
    let one = run_json(&[&["--json", "usage", &bob.0, "--month", &this_month], &at[..]].concat());
    assert_eq!(one["usage"].as_array().unwrap().len(), 1);
    let past = run_json(&[&["--json", "usage", "--month", "2020-02"], &at[..]].concat());
    assert_eq!(
        (&past["complete"], &past["usage"], &past["period_end"]),
        (&json!(true), &json!([]), &json!(1_583_020_799))
    );
    for (wrong, code) in [("9999-12", 1), ("2026-13", 2), ("november", 2)] {
        let refused = run(&[&["usage", "--month", wrong], &at[..]].concat());
        let error = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(code) && error.contains("2026-11"), "{wrong}: {error}");
    }
    assert_eq!(run(&[&["usage"], &at[..]].concat()).status.code(), Some(2));
}

#[test]
fn month_of_usage_is_there_over_http() {
    let server = Server::start();
    let (_, admin) = server.admin_key();
    let (id, key) = server.key(100);
    server.send("POST", "/v1/transactions", &[("X-API-Key", &key), ("Content-Type", "application/json")], QUIET);
    server.flush();
    let month = chrono::DateTime::from_timestamp(now_secs(), 0).unwrap().format("%Y-%m").to_string();
    let ask = |path: &str| server.ask_admin("GET", path, &admin, "");
    let report = ask(&format!("/admin/v1/usage/{month}?key_id={id}")).json()["data"].clone();
    assert_eq!((&report["usage"][0]["key_id"], &report["credits"]), (&json!(id), &json!(5)));
    for (path, status) in [
        ("/admin/v1/usage/2026-13", 400),
        ("/admin/v1/usage/9999-12", 400),
        ("/admin/v1/usage/2020-01?key_id=nobody", 404),
        ("/admin/v1/usage/2020-01?key=x", 400),
    ] {
        assert_eq!(ask(path).status, status, "{path}");
    }
}

#[test]
fn process_figures_have_the_names_of_prometheus() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let begun = now_secs();
    let server = Process::start(&store, &["--set", "metrics.open=true"]);
    let admin = server.admin.unwrap();
    let text = Client::connect(admin).unwrap().send("GET", "/metrics", &[], b"").unwrap();
    let text = String::from_utf8(text.body).unwrap();
    let figure = |name: &str| -> f64 {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("{name} "))).collect();
        assert_eq!(lines.len(), 1, "{name} in {text}");
        lines[0].split(' ').nth(1).unwrap().parse().unwrap()
    };
    assert!(figure("process_cpu_seconds_total") > 0.0);
    let (resident, size) = (figure("process_resident_memory_bytes"), figure("process_virtual_memory_bytes"));
    assert!(resident > 1e6 && size > resident, "{resident} of {size}");
    let (open, most) = (figure("process_open_fds"), figure("process_max_fds"));
    // Standard streams, two listeners and the database at least.
    assert!(open >= 6.0 && open < most, "{open} of {most}");
    assert!(figure("process_threads") >= 3.0);
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 have ten digits")]
    let since = figure("process_start_time_seconds") - begun as f64;
    assert!((-2.0..30.0).contains(&since), "{since}");
    assert!(text.contains("# TYPE process_cpu_seconds counter\n") && text.contains("# TYPE process_open_fds gauge\n"));
    let build = format!("headwater_build_info{{version=\"{}\"}} 1\n", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&build) && text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1, "{text}");
}

/// Checks that each line is a record in JSON, and returns messages.
fn json_lines(text: &str) -> Vec<String> {
    let record = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let names: Vec<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["timestamp", "level", "target", "message", "fields"], "{line}");
        assert!(chrono::DateTime::parse_from_rfc3339(record["timestamp"].as_str().unwrap()).is_ok(), "{line}");
        assert!(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&record["level"].as_str().unwrap()), "{line}");
        assert!(!record["target"].as_str().unwrap().is_empty() && record["fields"].is_object(), "{line}");
        record["message"].as_str().unwrap().to_owned()
    };
    text.lines().map(record).collect()
}

/// Checks that each line is a record in the text format, and returns what follows its head.
fn text_lines(text: &str) -> Vec<String> {
    let record = |line: &str| {
        let mut words = line.splitn(2, 'Z');
        let time = words.next().unwrap().to_owned() + "Z";
        assert!(chrono::DateTime::parse_from_rfc3339(&time).is_ok(), "{line}");
        let rest = words.next().unwrap().trim_start();
        let (level, rest) = rest.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(["ERROR", "WARN", "INFO", "DEBUG", "TRACE"].contains(&level), "{line}");
        let (target, rest) = rest.split_once(": ").unwrap_or_else(|| panic!("{line}"));
        assert!(!target.is_empty() && !target.contains(' '), "{line}");
        rest.to_owned()
    };
    text.lines().map(record).collect()
}

/// The environment variable that a test of this process is run apart with.
const APART: &str = "OPERATING_APART";

/// Serves in this process while threads panic, and ends itself.
fn serve_with_panics(arguments: &str) {
    let arguments: Vec<String> = serde_json::from_str(arguments).unwrap();
    let address = arguments[arguments.iter().position(|one| one == "--listen").unwrap() + 1].clone();
    let served = thread::spawn(move || headwater_server::commands::run(arguments));
    within(Duration::from_mins(1), "it serves", || std::net::TcpStream::connect(&address).is_ok());
    for text in ["a text with\na second line", "another"] {
        let named = thread::Builder::new().name("doomed".to_owned());
        assert!(named.spawn(move || std::panic::panic_any(text)).unwrap().join().is_err());
    }
    log_of_a_library();
    assert!(Command::new("kill").arg(std::process::id().to_string()).status().unwrap().success());
    assert_eq!(served.join().unwrap(), 0);
}

/// Logs through the facade that libraries use.
fn log_of_a_library() {
    tracing::warn!(target: "a_library", number = 7, forged = "x\n2026-01-01T00:00:00Z  INFO a: b", "a library warns");
}

/// All that a server says which meets many things: a kill before it, wrong calls, nodes and collectors that are away, panics.
fn log_of_everything(test: &str, format: &str) -> String {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = store.to_str().unwrap();
    let mut killed = Process::start(&store, &[]);
    killed.kill();
    let listen = format!("127.0.0.1:{}", own_port());
    let format = format!("log.format={format}");
    let settings = [
        &format,
        "log.filter=debug",
        "auth.required=false",
        "intel.provider_url=http://127.0.0.1:1/claims",
        "telemetry.otlp=http://127.0.0.1:1",
        "webhooks.allow_private_targets=true",
        "server.drain_secs=1",
    ];
    let mut arguments = vec!["headwater", "serve", "--store", at, "--listen", &listen, "--admin-listen", "0.0.0.0:0"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    arguments.extend(["--follow", "ethereum=http://127.0.0.1:1"]);
    let mut apart = Command::new(std::env::current_exe().unwrap());
    apart.args(["--exact", test, "--nocapture"]).env("RUST_BACKTRACE", "1");
    apart.env(APART, json!(arguments).to_string());
    let output = apart.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    said
}

/// Returns the output of servers that do not start, each by itself: settings, files, ports and arguments that cannot be.
fn log_of_failed_starts(place: &Path, format: &str) -> Vec<String> {
    let store = small_store(place);
    let at = store.to_str().unwrap();
    let (broken, format) = (place.join("broken.toml"), format!("log.format={format}"));
    fs::write(&broken, "[log]\nformat = \"json\"\n[auth\n").unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let with = ["--set", format.as_str()];
    let starts = [
        vec!["serve", "--store", at, "--set", "auth.require=true"],
        vec!["serve", "--store", at, "--config", broken.to_str().unwrap()],
        vec!["serve"],
        vec!["serve", "--store", "/nowhere/store"],
        vec!["serve", "--store", at, "--listen", &taken],
        vec![
            "serve",
            "--store",
            at,
            "--set",
            "server.tls_cert=/nowhere/x.pem",
            "--set",
            "server.tls_key=/nowhere/y.pem",
        ],
    ];
    let failed = |arguments: &Vec<&str>| {
        let output = run(&[&arguments[..], &with[..]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)) && !said.is_empty(), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        said
    };
    starts.iter().map(failed).collect()
}

#[test]
fn log_in_json_is_json_in_every_line() {
    if let Ok(arguments) = std::env::var(APART) {
        return serve_with_panics(&arguments);
    }
    let said = log_of_everything("operating::log_in_json_is_json_in_every_line", "json");
    let messages: BTreeSet<String> = json_lines(&said).into_iter().collect();
    for expected in [
        "Headwater answers on",
        "the back office is on",
        "setting",
        "an earlier server ended without saying so",
        "panic: a text with\na second line",
        "a library warns",
        "the admin listener 0.0.0.0:0 is open to other machines",
        "webhooks.allow_private_targets is true",
        "stopped",
    ] {
        assert!(messages.iter().any(|message| message.contains(expected)), "{expected}: {messages:#?}");
    }
    let record =
        |part: &str| -> Value { serde_json::from_str(said.lines().find(|line| line.contains(part)).unwrap()).unwrap() };
    let library = record("a library warns");
    assert_eq!((&library["target"], &library["level"]), (&json!("a_library"), &json!("WARN")));
    assert_eq!(library["fields"], json!({"number": 7, "forged": "x\n2026-01-01T00:00:00Z  INFO a: b"}));
    let setting = record("\"server.drain_secs\"");
    assert_eq!(setting["fields"], json!({"key": "server.drain_secs", "value": "1"}));
    assert!(said.contains("ethereum"), "the follower reports its node");

    let place = tempfile::tempdir().unwrap();
    for said in log_of_failed_starts(place.path(), "json") {
        assert!(!json_lines(&said).is_empty(), "{said}");
    }
    for arguments in [vec!["serve", "--listn", "x"], vec!["serve", "--listen", "nowhere"]] {
        let output = headwater(&arguments).env("HEADWATER_LOG_FORMAT", "json").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), json_lines(&said).len(), output.stdout.len()), (Some(2), 1, 0), "{said}");
        assert!(said.contains("--list"), "{said}");
    }
}

#[test]
fn log_in_text_is_one_line_for_each_record() {
    if let Ok(arguments) = std::env::var(APART) {
        return serve_with_panics(&arguments);
    }
    let said = log_of_everything("operating::log_in_text_is_one_line_for_each_record", "text");
    let lines = text_lines(&said);
    for expected in
        ["Headwater answers on", "setting key=\"server.drain_secs\" value=\"1\"", "panic: a text with\\na second line"]
    {
        assert!(lines.iter().any(|line| line.contains(expected)), "{expected}: {lines:#?}");
    }
    let place = tempfile::tempdir().unwrap();
    for said in log_of_failed_starts(place.path(), "text") {
        if !said.starts_with('{') {
            assert!(!text_lines(&said).is_empty(), "{said}");
        }
    }
}

/// Findings of `doctor` as level, what and remedy.
fn findings(output: &Output) -> Vec<[String; 3]> {
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap().iter();
    findings.map(|finding| ["level", "what", "remedy"].map(|name| text(finding, name))).collect()
}

fn has(findings: &[[String; 3]], level: &str, what: &str, remedy: &str) -> bool {
    findings.iter().any(|found| found[0] == level && found[1].contains(what) && found[2].contains(remedy))
}

#[test]
fn doctor_warns_of_what_is_open_to_others() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    let at = ["--json", "doctor", "--store", store.to_str().unwrap()];
    run_json(&["--json", "keys", "create", "--store", store.to_str().unwrap()]);
    let with = |settings: &[&str]| {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        findings(&run(&[&at[..], &settings].concat()))
    };
    let found = with(&[
        "server.listen=0.0.0.0:0",
        "server.admin_listen=0.0.0.0:0",
        "metrics.open=true",
        "webhooks.allow_private_targets=true",
    ]);
    assert!(has(&found, "warning", "0.0.0.0:0 is open to other machines without TLS", "server.tls_cert"), "{found:?}");
    assert!(has(&found, "warning", "metrics.open is true", "admin key"), "{found:?}");
    assert!(has(&found, "warning", "the admin listener", "127.0.0.1"), "{found:?}");
    assert!(has(&found, "warning", "webhooks.allow_private_targets is true", "remove"), "{found:?}");
    let quiet = with(&["server.listen=0.0.0.0:0", "server.trusted_proxies=10.0.0.0/8"]);
    assert!(!has(&quiet, "warning", "open to other machines", ""), "{quiet:?}");
}

#[test]
fn doctor_warns_of_permissions_that_are_too_wide() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    run_json(&["--json", "keys", "create", "--store", store.to_str().unwrap()]);
    let state = place.path().join("demo.state");
    let examined = || findings(&run(&["--json", "doctor", "--store", store.to_str().unwrap()]));
    let good = examined();
    assert!(has(&good, "good", "can use its files", ""), "{good:?}");
    fs::set_permissions(&state, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(state.join("gateway.sqlite"), Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(&store, Permissions::from_mode(0o777)).unwrap();
    let found = examined();
    let chmod = |mode: &str, path: &Path| format!("`chmod {mode} {}`", path.display());
    assert!(has(&found, "warning", "demo.state has the mode 755", &chmod("700", &state)), "{found:?}");
    assert!(has(&found, "warning", "gateway.sqlite has the mode 640", &chmod("600", &state.join("gateway.sqlite"))));
    assert!(has(&found, "warning", "every user of this machine can change", &chmod("-R o-w", &store)), "{found:?}");
}

#[test]
fn doctor_never_restores_what_it_may_not_read() {
    let place = tempfile::tempdir().unwrap();
    // Root may read everything, so another user looks then, with a copy of the program where that user finds it.
    let is_root = run_is_root();
    let program = place.path().join("headwater");
    fs::copy(env!("CARGO_BIN_EXE_headwater"), &program).unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    let store = small_store(place.path());
    run_json(&["--json", "keys", "create", "--store", store.to_str().unwrap()]);
    let state = place.path().join("demo.state");
    let examined = || {
        let mut command = Command::new(&program);
        command.args(["--json", "doctor", "--deep", "--store", store.to_str().unwrap()]).stdin(Stdio::null());
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        findings(&command.output().unwrap())
    };
    let segment = any_segment(&store);
    let mut seen = 0;
    for path in [&state, &store, &segment] {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
        let found = examined();
        fs::set_permissions(path, before).unwrap();
        let broken: Vec<_> = found.iter().filter(|found| found[0] == "broken").collect();
        assert!(!broken.is_empty(), "{}: {found:?}", path.display());
        for [_, what, remedy] in &broken {
            seen += 1;
            assert!(!remedy.contains("restore") && !remedy.contains("copy"), "{what}: {remedy}");
            assert!(!remedy.contains("state init") && !remedy.contains("simulate"), "{what}: {remedy}");
        }
        let name = path.file_name().unwrap().to_str().unwrap();
        let named = |[_, what, _]: &&[String; 3]| what.contains(name) && what.contains("denied");
        assert!(broken.iter().any(named), "{name}: {broken:?}");
    }
    assert!(seen >= 3);
}

fn run_is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// A file of the store that is listed by its manifest.
fn any_segment(store: &Path) -> std::path::PathBuf {
    let mut folders = vec![store.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.into_iter().filter(|file| file.to_string_lossy().contains("segments")).max().expect("a store has a segment")
}

#[test]
fn doctor_separates_a_failing_read_from_damage() {
    let place = tempfile::tempdir().unwrap();
    let store = small_store(place.path());
    run_json(&["--json", "keys", "create", "--store", store.to_str().unwrap()]);
    let examined = || findings(&run(&["--json", "doctor", "--deep", "--store", store.to_str().unwrap()]));
    let segment = any_segment(&store);
    let bytes = fs::read(&segment).unwrap();
    // A folder in the place of the file opens, and every read of it fails, as on a mount that is gone.
    fs::remove_file(&segment).unwrap();
    fs::create_dir(&segment).unwrap();
    let failing = examined();
    assert!(has(&failing, "broken", "cannot be read by", "findmnt"), "{failing:?}");
    assert!(!has(&failing, "broken", "", "restore") && !has(&failing, "broken", "", "from a copy"), "{failing:?}");
    fs::remove_dir(&segment).unwrap();
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(&segment, &damaged).unwrap();
    let found = examined();
    assert!(has(&found, "broken", "at byte", "from a copy"), "{found:?}");
    fs::write(&segment, &bytes).unwrap();
    // Another process has the database.
    let database = rusqlite::Connection::open(place.path().join("demo.state/gateway.sqlite")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let busy = examined();
    assert!(has(&busy, "broken", "locked", "another process has it"), "{busy:?}");
    assert!(!has(&busy, "broken", "", "restore"), "{busy:?}");
}
