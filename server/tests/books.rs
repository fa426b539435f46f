//! The state by itself: one text of SQL, two databases, one behaviour.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::Method;
use headwater_state::{
    Access, AnswerRecord, AuditRow, DEFAULT_PLAN, Environment, Expiry, Health, Home, KeyId, Options, RequestId, State,
    StateError, Tx, Usage, check_ledger,
};

use crate::support::postgres::Postgres;
use crate::support::within;

pub fn row(number: u32, key: &str, account: i64, cost: i64) -> AuditRow {
    AuditRow {
        request_id: RequestId::from(&format!("0000-{number:08}")).unwrap(),
        correlation_id: Some("job".to_owned()),
        key_id: KeyId::from(key).ok(),
        account: Some(account),
        method: Method::POST,
        endpoint: Some("/v1/transactions"),
        status: if cost > 0 { 200 } else { 400 },
        cost,
        duration_ms: 1,
        bytes: 10,
        parameter_hash: Some([7; 32]),
        parameters: None,
        ts_ms: 1_700_000_000_000,
    }
}

fn keep(key: &str) -> AnswerRecord {
    AnswerRecord {
        key: key.to_owned(),
        request_hash: [1; 32],
        answer: headwater_state::AnswerBody::Envelope(Arc::new(|balance| {
            format!(r#"{{"data":[],"meta":{{"credit_cost":5,"credit_remaining":{balance}}}}}"#).into_bytes()
        })),
    }
}

/// Everything that requests and the back office do, on a new state.
pub fn a_day_at_the_office(home: &Home) {
    let made = home.admin("t", |admin| admin.create_key("ada", Environment::Live, 100, None)).unwrap();
    assert!(matches!(
        home.admin("t", |admin| admin.create_key("x", Environment::Live, 0, Some("nope"))),
        Err(StateError::UnknownPlan(_))
    ));
    let state = State::start(home, Options::default(), Box::new(|| panic!("latched"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let caller = state.accounts().identify(made.key.expose(), 0).unwrap();
    let account = caller.account().id();
    runtime.block_on(async {
        for number in 0..3 {
            let hold = state.reserve(caller.account(), 5).await.unwrap().unwrap();
            let left = state.charge(hold, row(number, &made.id, account, 5), None).await.unwrap();
            assert_eq!(left, 95 - i64::from(number) * 5);
        }
        // The same idempotency key is paid once.
        let hold = state.reserve(caller.account(), 5).await.unwrap().unwrap();
        assert_eq!(state.charge(hold, row(3, &made.id, account, 5), Some(keep("k"))).await.unwrap(), 80);
        let hold = state.reserve(caller.account(), 5).await.unwrap().unwrap();
        let again = state.charge(hold, row(4, &made.id, account, 5), Some(keep("k"))).await;
        assert!(matches!(again, Err(StateError::Repeated)));
        // What is held cannot be held twice, and more than there is cannot be held.
        assert!(state.reserve(caller.account(), 81).await.unwrap().is_none());
        let hold = state.reserve(caller.account(), 80).await.unwrap().unwrap();
        assert!(state.reserve(caller.account(), 1).await.unwrap().is_none());
        drop(hold);
        state.record(row(5, &made.id, account, 0)).await.unwrap();
        state.record(row(6, &made.id, account, 0)).await.unwrap();
        state.flush().await.unwrap();
        // The back office of a running server, in one step with what requests see.
        let plan = r#"{"heavy": {"per_second": 9, "burst": 9}}"#;
        state.admin("admin:1", move |admin| admin.set_plan("pro", plan)).await.unwrap();
        let id = made.id.clone();
        state.admin("admin:1", move |admin| admin.assign_plan(&id, "pro")).await.unwrap();
        let pro = state.accounts().identify(made.key.expose(), 0).unwrap().plan().unwrap().clone();
        assert_eq!((pro.name.as_str(), pro.heavy.burst), ("pro", 9));
        let id = made.id.clone();
        let rotated = state.admin("admin:1", move |admin| admin.rotate_key(&id, 0, Expiry::Inherited)).await.unwrap();
        assert!(state.accounts().identify(rotated.key.expose(), 0).is_ok());
        let now = i64::try_from(std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs()).unwrap();
        assert!(state.accounts().identify(made.key.expose(), now + 1).is_err());
        let id = rotated.id.clone();
        state.admin("admin:1", move |admin| admin.revoke_key(&id)).await.unwrap();
        assert!(state.accounts().identify(rotated.key.expose(), 0).is_err());
        // A change that fails undoes itself and nothing else.
        let refused = state.write(|tx| {
            tx.execute("INSERT INTO setting (name, value) VALUES ('a', ?1)", &[(&[1_u8]).into()])?;
            tx.execute("INSERT INTO nowhere VALUES (1)", &[])
        });
        assert!(refused.await.is_err());
        let kept =
            state.write(|tx| tx.execute("INSERT INTO setting (name, value) VALUES ('b', ?1)", &[(&[1_u8]).into()]));
        assert_eq!(kept.await.unwrap(), 1);
    });
    let names = state.read(|tx| tx.rows("SELECT name FROM setting WHERE name IN ('a', 'b')", &[])).unwrap();
    assert_eq!(names.len(), 1);
    assert!(state.read(|tx| tx.execute("DELETE FROM setting", &[])).is_err(), "readers cannot write");
    let kept = state.kept(account, "k").unwrap().unwrap();
    assert_eq!(kept.request_id, "0000-00000003");
    assert_eq!(kept.body.unwrap(), br#"{"data":[],"meta":{"credit_cost":5,"credit_remaining":80}}"#);
    let common = state.read(|tx| tx.rows("SELECT DISTINCT key_id, method, endpoint, parameter_hash FROM audit", &[]));
    assert_eq!(common.unwrap().len(), 1, "the view says of each request what its page says once");
    let usage = state.read(|tx| Usage::read(tx, account, 1_700_000_000_000)).unwrap();
    assert_eq!((usage.credit_remaining, usage.plan.as_str()), (80, "pro"));
    let line = &usage.by_endpoint[0];
    assert_eq!((line.endpoint.as_str(), line.calls, line.failed, line.credits), ("/v1/transactions", 6, 2, 20));
    state.close();

    let admin = |refunded: &str| home.admin("t", |admin| admin.refund(refunded));
    assert_eq!(admin("0000-00000001").unwrap(), (5, 85));
    assert!(matches!(admin("0000-00000001"), Err(StateError::UnknownCharge(_))), "a charge is given back once");
    home.admin("t", |admin| admin.remove_plan("pro")).unwrap();
    assert_eq!(home.admin("t", |admin| admin.key(&made.id)).unwrap().plan, DEFAULT_PLAN);
    let admin = home.admin("t", |admin| admin.create_admin("bea")).unwrap();
    let shown = admin.key.expose();
    assert_eq!(home.admin("t", |admin| admin.identify_admin(shown)).unwrap(), Some(admin.id.clone()));
    home.admin("t", |service| service.revoke_admin(&admin.id)).unwrap();
    assert_eq!(home.admin("t", |admin| admin.identify_admin(shown)).unwrap(), None);
    let changes = home.admin("t", |admin| admin.changes(None, 100)).unwrap();
    let actions: Vec<&str> = changes.iter().rev().map(|change| change.action.as_str()).collect();
    assert_eq!(
        actions,
        [
            "keys.create",
            "plans.set",
            "plans.assign",
            "keys.rotate",
            "keys.revoke",
            "credits.refund",
            "plans.remove",
            "admin.create",
            "admin.revoke"
        ]
    );
    assert_eq!((changes[8].actor.as_str(), changes[5].actor.as_str()), ("t", "admin:1"));
    let audit = home
        .admin("t", |admin| admin.audit(&headwater_state::AuditFilter { limit: 10, ..Default::default() }))
        .unwrap();
    assert_eq!(audit.iter().map(|row| row.cost).sum::<i64>(), 20);
    let mut db = home.connect(Access::Write).unwrap();
    assert_eq!(check_ledger(&mut db).unwrap(), 6);
    assert!(db.transaction(|tx| tx.execute("DELETE FROM credit_ledger", &[])).is_err());
    assert!(db.transaction(|tx| tx.execute("UPDATE account SET balance = -1", &[])).is_err());
}

#[test]
fn an_embedded_state_does_all_that_a_state_does() {
    let place = tempfile::tempdir().unwrap();
    a_day_at_the_office(&Home::in_folder(place.path()).unwrap());
}

#[test]
fn postgres_does_all_that_a_state_does() {
    let place = tempfile::tempdir().unwrap();
    let server = Postgres::start();
    a_day_at_the_office(&server.home(place.path()));
    let mut db = server.home(place.path()).connect(Access::Read).unwrap();
    let row = db.transaction(|tx| tx.rows("SELECT CAST(sum(leased) AS BIGINT) FROM account", &[])).unwrap();
    assert_eq!(row[0].int(0).unwrap(), 0, "what was lent came back when the state was closed");
}

#[test]
fn postgres_without_its_secrets_is_refused() {
    let (right, wrong) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let server = Postgres::start();
    let home = server.home(right.path());
    let refused = Home::open(home.place(), Some(wrong.path()));
    assert!(matches!(refused, Err(StateError::MissingSecret { .. })));
    headwater_state::secrets::make(wrong.path()).unwrap();
    assert!(matches!(Home::open(home.place(), Some(wrong.path())), Err(StateError::WrongSecret { .. })));
}

#[test]
fn failed_commit_is_not_acknowledged_and_succeeds_later() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    home.admin("t", |admin| admin.create_key("ada", Environment::Live, 0, None)).unwrap();
    let state = State::start(&home, Options::default(), Box::new(|| panic!("latched"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut beside = home.connect(Access::Write).unwrap();
    let refuse = "CREATE TRIGGER full BEFORE INSERT ON audit_page BEGIN SELECT RAISE(ABORT, 'full'); END";
    beside.transaction(|tx| tx.execute(refuse, &[])).unwrap();
    assert!(state.note(row(0, "k", 1, 0)).is_ok());
    assert!(matches!(runtime.block_on(state.flush()), Err(StateError::NotCommitted(_))));
    beside.transaction(|tx| tx.execute("DROP TRIGGER full", &[])).unwrap();
    runtime.block_on(state.flush()).unwrap();
    assert_eq!(state.read(|tx| tx.rows("SELECT request_id FROM audit", &[])).unwrap().len(), 1);
    state.close();
}

/// A change that panics takes the thread with it that commits, and nobody is to be served on the strength of it.
fn assert_latches(home: &Home) {
    let latched = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&latched);
    let latch = move || seen.store(true, Ordering::SeqCst);
    let state = State::start(home, Options::default(), Box::new(latch)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let panics = |_: &mut Tx<'_>| -> Result<(), StateError> { panic!("a defect") };
    assert!(matches!(runtime.block_on(state.write(panics)), Err(StateError::Closed)));
    within(Duration::from_secs(5), "it is latched", || {
        state.health() == Health::Latched && latched.load(Ordering::SeqCst)
    });
    state.close();
}

#[test]
fn a_state_whose_writer_panicked_is_not_ready_any_more() {
    let place = tempfile::tempdir().unwrap();
    assert_latches(&Home::in_folder(place.path()).unwrap());
}

#[test]
fn postgres_whose_jobs_panicked_is_not_ready_any_more() {
    let place = tempfile::tempdir().unwrap();
    let server = Postgres::start();
    assert_latches(&server.home(place.path()));
}
