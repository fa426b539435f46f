//! Disputes through the back office and the command line: one store, one history, one audit.

use std::net::SocketAddr;
use std::path::Path;

use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, LedgerError};
use serde_json::{Value, json};

use crate::support::{Process, Reply, ask_admin, run, run_json, small_store};

const A: &str = "0xd86e1ea9ab69acf2abc60cb07a2d2d46f369b50b";
const B: &str = "0x0494c0950a34a7f024c18ad5dca185f4aa01d307";
const OPEN: &[&str] = &["--set", "auth.required=false", "--admin-listen", "127.0.0.1:0"];

/// A store with two lists about A, one of them about B too.
fn labelled(place: &Path) -> String {
    let store = small_store(place).to_str().unwrap().to_owned();
    for (source, code, addresses) in [("team", "phishing", [A, B].as_slice()), ("press", "mixer", &[A])] {
        let rows: Vec<_> = addresses.iter().map(|address| format!("{address},ethereum,{code}")).collect();
        let file = place.join(format!("{source}.csv"));
        std::fs::write(&file, format!("address,chain,code\n{}\n", rows.join("\n"))).unwrap();
        let list = file.to_str().unwrap();
        run_json(&["labels", "import", "--source", source, "--level", "forensic", list, "--json", "--store", &store]);
    }
    store
}

fn labels(store: &str, arguments: &[&str]) -> Value {
    run_json(&[&["labels"], arguments, &["--json", "--store", store]].concat())
}

fn text(arguments: &[&str]) -> String {
    let output = run(arguments);
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// A serving process over a store, and how its back office is asked.
pub struct BackOfficeClient {
    process: Process,
    id: String,
    key: String,
    /// The folder of the store, unless a test owns it.
    _place: Option<tempfile::TempDir>,
}

impl BackOfficeClient {
    fn over(store: &str) -> Self {
        Self::in_place(store, None)
    }

    fn in_place(store: &str, place: Option<tempfile::TempDir>) -> Self {
        let made = run_json(&["admin", "create", "--json", "--store", store]);
        let process = Process::start(Path::new(store), OPEN);
        let of = |name: &str| made[name].as_str().unwrap().to_owned();
        Self { process, id: of("id"), key: of("key"), _place: place }
    }

    /// One over a store of its own with labels.
    pub fn with_labels() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = labelled(place.path());
        Self::in_place(&store, Some(place))
    }

    /// Returns where its back office is, and a key for it.
    pub fn place(&self) -> (SocketAddr, &str) {
        (self.process.admin.unwrap(), &self.key)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        ask_admin(self.process.admin.unwrap(), method, path, &self.key, body)
    }

    /// Asks for what is refused: returns status, reason, message.
    fn refused(&self, path: &str, body: &Value) -> (u16, String, String) {
        let reply = self.ask("POST", path, &body.to_string());
        let error = reply.json()["error"].clone();
        let of = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (reply.status, of(&error["details"]["reason"]), of(&error["message"]))
    }

    /// Source, confidence and who disputes it of each claim about an address, as the public listener answers.
    fn sources(&self, address: &str) -> Vec<(String, f64, Value)> {
        let path = format!("/v1/labels?blockchain=ethereum&address={address}");
        let answer = self.process.client().unwrap().send("GET", &path, &[], b"").unwrap().json();
        let source = |of: &Value| {
            (
                of["source"].as_str().unwrap().to_owned(),
                of["confidence"].as_f64().unwrap(),
                of["disputed"]["by"].clone(),
            )
        };
        let mut sources: Vec<_> = answer["data"]["sources"].as_array().unwrap().iter().map(source).collect();
        sources.sort_by(|one, other| one.0.cmp(&other.0));
        sources
    }
}

impl Drop for BackOfficeClient {
    fn drop(&mut self) {
        self.process.terminate_if_alive();
    }
}

#[test]
fn back_office_disputes_and_confirms_claims() {
    let place = tempfile::tempdir().unwrap();
    let store = labelled(place.path());
    let office = BackOfficeClient::over(&store);
    let by = json!(format!("admin:{}", office.id));
    let ask = |path: &str, body: Value| {
        let reply = office.ask("POST", path, &body.to_string());
        assert_eq!(reply.status, 200, "{}", reply.json());
        reply.json()["data"].clone()
    };
    let made = ask("/admin/v1/labels/dispute", json!({"address": A, "source": "team", "reason": "the page is gone"}));
    let recorded = made["recorded"].as_array().unwrap();
    assert_eq!(recorded.len(), 1);
    let output = ["action", "code", "source", "by", "reason"].map(|field| recorded[0][field].clone());
    assert_eq!(output, [json!("dispute"), json!("phishing"), json!("team"), by.clone(), json!("the page is gone")]);
    // Every request after the answer sees it.
    let half = [("press".to_owned(), 0.5, Value::Null), ("team".to_owned(), 0.25, by.clone())];
    assert_eq!(office.sources(A), half);
    assert_eq!(office.sources(B), [("team".to_owned(), 0.5, Value::Null)]);

    ask("/admin/v1/labels/confirm", json!({"address": A, "reason": "an archive has the page"}));
    assert_eq!(office.sources(A)[1], ("team".to_owned(), 0.5, Value::Null));
    let listed = office.ask("GET", &format!("/admin/v1/labels/disputes?address={A}"), "").json();
    let rows = listed["data"]["disputes"].as_array().unwrap();
    let shown: Vec<_> = rows.iter().map(|row| (row["action"].clone(), row["in_force"].clone())).collect();
    assert_eq!(shown, [(json!("confirm"), json!(false)), (json!("dispute"), json!(false))]);
    let changes = office.ask("GET", "/admin/v1/changes?limit=2", "").json();
    let rows = changes["data"]["changes"].as_array().unwrap();
    let shown: Vec<_> =
        rows.iter().map(|row| (row["action"].clone(), row["target"].clone(), row["actor"].clone())).collect();
    let row = |action: &str| (json!(action), json!(A), by.clone());
    assert_eq!(shown, [row("labels.confirm"), row("labels.dispute")]);
    let after: Value = serde_json::from_str(rows[1]["after"].as_str().unwrap()).unwrap();
    assert_eq!(after, made["recorded"]);
}

#[test]
fn back_office_refuses_what_it_cannot_dispute() {
    let place = tempfile::tempdir().unwrap();
    let store = labelled(place.path());
    let office = BackOfficeClient::over(&store);
    let (dispute, confirm) = ("/admin/v1/labels/dispute", "/admin/v1/labels/confirm");
    let of_a = json!({"address": A, "code": "mixer", "reason": "why"});
    let early = office.refused(confirm, &of_a);
    assert_eq!((early.0, early.1.as_str()), (409, "not_disputed"));
    assert_eq!(office.ask("POST", dispute, &of_a.to_string()).status, 200);
    let again = office.refused(dispute, &of_a);
    assert_eq!((again.0, again.1.as_str()), (409, "already_disputed"));
    assert!(again.2.contains(&format!("by admin:{}", office.id)) && again.2.contains("\"why\""), "{}", again.2);
    let unknown = office.refused(dispute, &json!({"address": format!("0x{}", "12".repeat(20)), "reason": "why"}));
    assert_eq!(unknown.0, 404);
    assert!(unknown.2.contains("no list in force names it"), "{}", unknown.2);
    for (reason, body) in [
        ("missing_field", json!({"address": A})),
        ("missing_field", json!({"reason": "why"})),
        ("invalid_value", json!({"address": A, "reason": ""})),
        ("invalid_value", json!({"address": A, "reason": "why", "code": "bad"})),
        ("unknown_field", json!({"address": A, "reason": "why", "codes": "mixer"})),
        ("invalid_address", json!({"address": "nobody", "reason": "why"})),
        ("unsupported_chain", json!({"address": A, "reason": "why", "blockchain": "solana"})),
    ] {
        let refused = office.refused(dispute, &body);
        assert_eq!((refused.0, refused.1.as_str()), (400, reason), "{body}");
    }
    let mut writer = Writer::open_or_create(&store).unwrap();
    let meanwhile = |_: &mut Writer| Ok::<_, LedgerError>(office.refused(confirm, &of_a));
    let locked = writer.exclusively(&Cancel::new(), meanwhile).unwrap();
    assert_eq!((locked.0, locked.1.as_str()), (409, "store_locked"));
    assert!(!locked.2.contains(&store), "{}", locked.2);
    assert_eq!(ask_admin(office.process.admin.unwrap(), "POST", dispute, "hw_admin_no", "{}").status, 401);
    // What was refused is not a change.
    let changes = office.ask("GET", "/admin/v1/changes?limit=1000", "").json();
    let rows = changes["data"]["changes"].as_array().unwrap();
    let disputes = rows.iter().filter(|row| row["action"].as_str().unwrap().starts_with("labels."));
    assert_eq!(disputes.count(), 1);
}

#[test]
fn command_line_disputes_and_says_by_whom() {
    let place = tempfile::tempdir().unwrap();
    let store = labelled(place.path());
    let name = std::process::Command::new("id").arg("-un").output().unwrap().stdout;
    let by = format!("cli:{}", String::from_utf8_lossy(&name).trim_end());
    let made = labels(&store, &["dispute", A, "--reason", "the page is gone"]);
    assert_eq!(made["recorded"].as_array().unwrap().len(), 2, "both lists");
    assert_eq!(made["recorded"][0]["by"], json!(by));
    let confirmed =
        labels(&store, &["confirm", A, "--chain", "ethereum", "--source", "press", "--reason", "asked them"]);
    assert_eq!(confirmed["recorded"][0]["code"], "mixer");
    let history = labels(&store, &["disputes", A]);
    let shown: Vec<_> = history["disputes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["action"], &row["source"], &row["in_force"]))
        .collect();
    let row = |action, source, in_force| (json!(action), json!(source), json!(in_force));
    let expected = [row("confirm", "press", false), row("dispute", "press", false), row("dispute", "team", true)];
    let expected: Vec<_> = expected.iter().map(|(action, source, holds)| (action, source, holds)).collect();
    assert_eq!(shown, expected);
    let table = text(&["labels", "disputes", "--store", &store]);
    assert!(table.contains("the page is gone") && table.contains("asked them") && table.contains(&by), "{table}");
    for (arguments, named) in [
        (["dispute", A, "--code", "phishing"].as_slice(), "is disputed already, by cli:"),
        (&["confirm", B], "no disputed claim: all of its claims count in full"),
        (&["dispute", "0x00000000000000000000000000000000000000aa"], "`headwater labels list` shows the lists"),
        (&["dispute", A, "--chain", "bsc"], "its claims are mixer of press (ethereum), phishing of team (ethereum)"),
    ] {
        let refused = text(&[&["labels"], arguments, &["--reason", "why", "--store", &store]].concat());
        assert!(refused.starts_with("error: ") && refused.contains(named), "{arguments:?}: {refused}");
    }
    assert!(text(&["labels", "dispute", A, "--store", &store]).contains("--reason"), "a reason is asked for");
    // In words, and with the score that half the weight comes to: 90 · 0.25 of the report, and the confirmed mixer.
    let risk = text(&["risk", "--store", &store, "--chain", "ethereum", A]);
    assert!(risk.contains(&format!("disputed by {by} on ")) && risk.contains("the page is gone"), "{risk}");
    assert!(risk.contains("severity 90 with confidence 0.250; a claim behind it is disputed"), "{risk}");
    let scored = run_json(&[
        "query",
        "address-risk",
        "--json",
        "--store",
        &store,
        "--body",
        &format!(r#"{{"blockchain": "ethereum", "address": "{A}"}}"#),
    ]);
    assert_eq!(scored["data"]["decision"]["gated"], false);
}
