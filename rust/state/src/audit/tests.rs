use super::*;
use crate::{Access, Home};

fn row(id: &str, key: &str, status: u16, ts_ms: i64) -> AuditRow {
    AuditRow {
        request_id: RequestId::from(id).unwrap(),
        correlation_id: Some("a\"b".to_owned()),
        key_id: KeyId::from(key).ok(),
        account: None,
        method: Method::GET,
        endpoint: Some("/v1/chains"),
        status,
        cost: 0,
        duration_ms: 7,
        bytes: 12,
        parameter_hash: Some([0xab; 32]),
        parameters: None,
        ts_ms,
    }
}

#[test]
fn list_over_overlapping_pages_is_in_order_without_repeats() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let mut db = home.connect(Access::Write).unwrap();
    // A long request, `b`, ends when later ones are written already.
    let pages = [
        vec![row("a", "k", 200, 1), row("d", "k", 404, 4)],
        vec![row("c", "l", 200, 3), row("e", "k", 200, 5)],
        vec![row("b", "k", 200, 2), row("f", "l", 200, 6)],
    ];
    for rows in pages.iter().chain(&pages[..1]) {
        let page = Page::of(rows).unwrap();
        db.transaction(|tx| write(tx, [&page])).unwrap();
    }
    let mut ids = |filter: AuditFilter| {
        let found = db.transaction(|tx| list(tx, &filter)).unwrap();
        found.into_iter().map(|listing| listing.request_id).collect::<String>()
    };
    let all = AuditFilter { limit: 100, ..AuditFilter::default() };
    assert_eq!(ids(all.clone()), "fedcba");
    assert_eq!(ids(AuditFilter { limit: 2, ..all.clone() }), "fe");
    assert_eq!(ids(AuditFilter { limit: 3, before: Some("e".to_owned()), ..all.clone() }), "dcb");
    assert_eq!(ids(AuditFilter { limit: 1, before: Some("b".to_owned()), ..all.clone() }), "a");
    assert_eq!(ids(AuditFilter { key_id: Some("k".to_owned()), ..all.clone() }), "edba");
    assert_eq!(ids(AuditFilter { status: Some(404), ..all.clone() }), "d");
    assert_eq!(ids(AuditFilter { from_ms: Some(4), ..all.clone() }), "fed");
    assert_eq!(ids(AuditFilter { before: Some("a".to_owned()), ..all }), "");
    let rows = db.transaction(|tx| {
        tx.rows(
            "SELECT request_id, correlation_id, status, bytes, parameter_hash, ts_ms FROM audit
             ORDER BY request_id",
            &[],
        )
    });
    let rows = rows.unwrap();
    assert_eq!(rows.len(), 6);
    assert_eq!((rows[3].text(0).unwrap(), rows[3].text(1).unwrap()), ("d", "a\"b"));
    assert_eq!((rows[3].int(2).unwrap(), rows[3].int(3).unwrap(), rows[3].int(5).unwrap()), (404, 12, 4));
    assert_eq!(rows[3].digest(4).unwrap(), [0xab; 32]);
}

#[test]
fn pages_with_the_same_last_request_are_each_kept_once() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    home.admin("t", |admin| admin.create_key("t", crate::Environment::Live, 5, None)).unwrap();
    let mut db = home.connect(Access::Write).unwrap();
    let pages =
        [vec![row("a", "k", 200, 1), row("d", "k", 200, 4)], vec![row("b", "k", 404, 2), row("d", "k", 502, 4)]];
    for rows in pages.iter().chain(&pages) {
        let rows: Vec<_> = rows.iter().map(|row| AuditRow { account: Some(1), ..row.clone() }).collect();
        let page = Page::of(&rows).unwrap();
        db.transaction(|tx| write(tx, [&page])).unwrap();
    }
    let listed = db.transaction(|tx| list(tx, &AuditFilter { limit: 9, ..AuditFilter::default() })).unwrap();
    let shown: Vec<_> = listed.iter().map(|one| (one.request_id.as_str(), one.status)).collect();
    assert_eq!(shown, [("d", 200), ("b", 404), ("a", 200)]);
    let counted =
        |tx: &mut Tx<'_>| tx.row("SELECT (SELECT count(*) FROM audit), (SELECT sum(calls) FROM usage_day)", &[]);
    let counted = db.transaction(counted).unwrap().unwrap();
    assert_eq!((counted.int(0).unwrap(), counted.int(1).unwrap()), (4, 4));
}

#[test]
fn shared_values_of_a_page_are_stored_once() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let mut db = home.connect(Access::Write).unwrap();
    let of = |number: usize, key: Option<&str>, method: Method, hash: Option<u8>| AuditRow {
        key_id: key.map(|key| KeyId::from(key).unwrap()),
        method,
        endpoint: (number != 3).then_some(["/v1/chains", "/v1/rates"][number % 2]),
        parameter_hash: hash.map(|byte| [byte; 32]),
        parameters: hash.filter(|byte| *byte == 1).map(|_| "{\"a\": \"\u{e9}\\n\"}".into()),
        correlation_id: None,
        ..row(&number.to_string(), "", 200, 1)
    };
    let rows = [
        of(0, None, Method::GET, None),
        of(1, Some("k"), Method::POST, Some(1)),
        of(2, Some("l"), Method::GET, Some(2)),
        of(3, Some("k"), Method::POST, Some(1)),
        of(4, None, Method::GET, None),
        of(5, Some("k"), Method::from_bytes(b"PROPFIND").unwrap(), Some(2)),
    ];
    let page = Page::of(&rows).unwrap();
    let body = &page.body;
    assert_eq!(body.matches("POST").count() + body.matches("/v1/rates").count(), 2, "{body}");
    db.transaction(|tx| write(tx, [&page])).unwrap();
    let found = db.transaction(|tx| list(tx, &AuditFilter { limit: 9, ..AuditFilter::default() })).unwrap();
    let viewed = db.transaction(|tx| {
        tx.rows(
            "SELECT key_id, method, endpoint, lower(hex(parameter_hash)), parameters FROM audit
             ORDER BY request_id DESC",
            &[],
        )
    });
    for ((row, listing), viewed) in rows.iter().rev().zip(&found).zip(&viewed.unwrap()) {
        let hash = row.parameter_hash.map(|hash| hex(&hash));
        let expected = (row.key_id.as_deref(), row.method.as_str(), row.endpoint, hash.as_deref());
        let AuditListing { key_id, method, endpoint, parameter_hash, parameters, .. } = listing;
        assert_eq!((key_id.as_deref(), &**method, endpoint.as_deref(), parameter_hash.as_deref()), expected);
        let shown = |place: usize| viewed.maybe_text(place).unwrap();
        assert_eq!((shown(0), shown(1).unwrap(), shown(2), shown(3).filter(|hash| !hash.is_empty())), expected);
        assert_eq!((parameters.as_deref(), shown(4)), (row.parameters.as_deref(), row.parameters.as_deref()));
    }
    assert!(listings(r#"[["a",null,0,"GET",null,200,0,1,2,null,3]]"#).is_err(), "it points to itself");
}

#[test]
fn changed_usage_fails_its_checksum() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let made = home.admin("t", |admin| admin.create_key("t", crate::Environment::Live, 5, None)).unwrap();
    let mut db = home.connect(Access::Write).unwrap();
    for (id, cost) in [("a", 5), ("b", 0), ("c", 7)] {
        let counted = AuditRow { account: Some(1), cost, ..row(id, "k", if cost > 0 { 200 } else { 404 }, 1) };
        db.transaction(|tx| write(tx, &Page::of(std::slice::from_ref(&counted)))).unwrap();
    }
    db.transaction(checksums::check).unwrap();
    let usage = |tx: &mut Tx<'_>| crate::Usage::read(tx, 1, 1);
    let read = db.transaction(usage).unwrap().by_endpoint;
    assert_eq!((read[0].calls, read[0].failed, read[0].credits), (3, 1, 12), "{}", made.id);
    for change in [
        "UPDATE usage_day SET calls = calls + 64",
        "UPDATE usage_day SET failed = 0",
        "UPDATE usage_day SET credits = credits - 4",
        "UPDATE usage_day SET checksum = checksum + 1024",
    ] {
        let broken = db.transaction(|tx| {
            tx.savepoint(|tx| {
                tx.execute(change, &[])?;
                for found in [checksums::check(tx), usage(tx).map(|_| ())] {
                    assert!(matches!(found, Err(StateError::CorruptRow { table: "usage_day", .. })), "{change}");
                }
                Err::<(), _>(StateError::Closed)
            })
        });
        assert!(broken.is_err());
    }
    db.transaction(checksums::check).unwrap();
}

#[test]
fn request_id_is_above_its_time_bound_after_a_clock_jump() {
    const HOUR_MS: i64 = 3_600_000;
    let made_ms = 1_790_000_000_000;
    let id = "01a0c450-6c00-7000-8000-000000000000";
    for (from_ms, is_above) in [
        (i64::MIN, true),
        (0, true),
        (made_ms, true),
        (made_ms + HOUR_MS, true),
        (made_ms + HOUR_MS + 1, false),
        (i64::MAX, false),
    ] {
        assert_eq!(id >= min_id(from_ms).as_str(), is_above, "{from_ms}");
    }
}

#[test]
fn a_list_since_a_time_reads_no_page_before_it() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    drop(home.connect(Access::Write).unwrap());
    let db = rusqlite::Connection::open(home.database().unwrap()).unwrap();
    let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {PAGES_BEFORE}")).unwrap();
    let steps: Vec<String> = plan.query_map([None::<i64>; 5], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
    assert!(steps.iter().any(|step| step.contains("last_id>? AND last_id<?")), "{steps:?}");
}

#[test]
fn month_counts_each_key_by_endpoint_to_the_millisecond() {
    let place = tempfile::tempdir().unwrap();
    let home = Home::in_folder(place.path()).unwrap();
    let make = |name| home.admin("t", |admin| admin.create_key(name, crate::Environment::Live, 5, None)).unwrap();
    let old = make("ada");
    let new = home.admin("t", |admin| admin.rotate_key(&old.id, 60, crate::Expiry::Inherited)).unwrap();
    let other = make("bob");
    let mut db = home.connect(Access::Write).unwrap();
    // 2025-03-01T00:00:00Z is 1740787200, and 1743465600 is 2025-04-01.
    let (first, end) = (1_740_787_200_000, 1_743_465_600_000);
    let (transactions, chains) = ("/v1/transactions", "/v1/chains");
    let calls = [
        ("a", &old.id, 1, transactions, 200, 5, first - 1),
        ("b", &old.id, 1, transactions, 200, 5, first),
        ("c", &old.id, 1, transactions, 404, 0, first + DAY_MS),
        ("d", &new.id, 1, transactions, 200, 5, end - 1),
        ("e", &new.id, 1, chains, 200, 0, end - 1),
        ("f", &other.id, 2, transactions, 200, 7, end - 1),
        ("g", &other.id, 2, transactions, 200, 7, end),
    ];
    for (id, key, account, endpoint, status, cost, ts_ms) in calls {
        let counted =
            AuditRow { account: Some(account), endpoint: Some(endpoint), cost, ..row(id, key, status, ts_ms) };
        db.transaction(|tx| write(tx, &Page::of(std::slice::from_ref(&counted)))).unwrap();
    }
    db.transaction(checksums::check).unwrap();
    let month = |text: &str, key: Option<&str>| {
        let month = text.parse().unwrap();
        home.consult(|admin| admin.monthly_usage(month, key))
    };
    let march = month("2025-03", None).unwrap();
    let line = |key_id: &str, name: &str, endpoint: &str, calls, failed, credits| crate::KeyUsage {
        key_id: key_id.to_owned(),
        name: name.to_owned(),
        endpoint: endpoint.to_owned(),
        calls,
        failed,
        credits,
    };
    let mut expected = vec![
        line(&old.id, "ada", transactions, 2, 1, 5),
        line(&new.id, "ada", chains, 1, 0, 0),
        line(&new.id, "ada", transactions, 1, 0, 5),
        line(&other.id, "bob", transactions, 1, 0, 7),
    ];
    expected.sort_by(|one, two| (&one.name, &one.key_id).cmp(&(&two.name, &two.key_id)));
    assert_eq!(march.usage, expected);
    assert_eq!((march.calls, march.failed, march.credits, march.complete), (5, 1, 17, true));
    assert_eq!((march.period_start, march.period_end), (first / 1000, end / 1000 - 1));
    assert_eq!(month("2025-03", Some(&old.id)).unwrap().usage, [line(&old.id, "ada", transactions, 2, 1, 5)]);
    assert_eq!(month("2025-02", None).unwrap().credits, 5);
    assert_eq!(month("2025-04", None).unwrap().credits, 7);
    assert_eq!(month("2024-01", None).unwrap().usage, []);
    assert!(matches!(month("2025-03", Some("nobody")), Err(StateError::UnknownKey(_))));
    assert!(matches!(month("9999-12", None), Err(StateError::BadMonth { .. })), "it has yet to begin");
    let today = chrono::DateTime::from_timestamp_millis(crate::now_ms()).unwrap().format("%Y-%m").to_string();
    assert!(!month(&today, None).unwrap().complete);
    // What the account used is the sum of its keys.
    let account = db.transaction(|tx| crate::Usage::read(tx, 1, first)).unwrap();
    let counts: Vec<_> =
        account.by_endpoint.iter().map(|line| (line.endpoint.as_str(), line.calls, line.credits)).collect();
    assert_eq!(counts, [(chains, 1, 0), (transactions, 3, 10)]);
}
