use http::Method;

use super::*;
use crate::{Access, Home, RequestId};

/// 2026-11-29T00:00:00Z, as `date -u -d 2026-11-29 +%s` prints it, in milliseconds.
const MIDNIGHT: i64 = 1_795_910_400_000;

fn row(endpoint: Option<&'static str>, status: u16, ts_ms: i64) -> AuditRow {
    AuditRow {
        request_id: RequestId::from("r").unwrap(),
        correlation_id: None,
        key_id: None,
        account: None,
        method: Method::GET,
        endpoint,
        status,
        cost: 0,
        duration_ms: 0,
        bytes: 0,
        parameter_hash: None,
        parameters: None,
        ts_ms,
    }
}

fn sum(start_ms: i64, span_secs: i64, endpoint: Option<&str>, status: i64, requests: i64) -> RequestSum {
    let endpoint = endpoint.map(str::to_owned);
    RequestSum { start: start_ms / 1000, span_secs, endpoint, status, requests }
}

#[test]
fn requests_are_summed_by_minute_endpoint_and_status() {
    let place = tempfile::tempdir().unwrap();
    let mut db = Home::in_folder(place.path()).unwrap().connect(Access::Write).unwrap();
    let (chains, later) = (Some("/v1/chains"), MIDNIGHT + MINUTE_MS);
    let waiting = WaitingSums::default();
    for one in [
        row(chains, 401, MIDNIGHT),
        row(chains, 401, MIDNIGHT + MINUTE_MS - 1),
        row(chains, 429, MIDNIGHT + 5),
        row(None, 404, later),
    ] {
        waiting.add(&one);
    }
    db.transaction(|tx| waiting.take().write(tx)).unwrap();
    // What comes later in the same minute is added.
    waiting.add(&row(chains, 401, MIDNIGHT + 7));
    db.transaction(|tx| waiting.take().write(tx)).unwrap();
    let mut listed = |filter: SumFilter| db.transaction(|tx| list(tx, &filter)).unwrap();
    let all = SumFilter { limit: 10, ..SumFilter::default() };
    let whole = [sum(later, 60, None, 404, 1), sum(MIDNIGHT, 60, chains, 429, 1), sum(MIDNIGHT, 60, chains, 401, 3)];
    assert_eq!(listed(all.clone()), whole);
    assert_eq!(listed(SumFilter { status: Some(401), ..all.clone() }), whole[2..]);
    assert_eq!(listed(SumFilter { from_secs: Some(later / 1000), ..all.clone() }), whole[..1]);
    for position in 0..3 {
        let page = listed(SumFilter { after: Some(whole[position].cursor()), limit: 1, ..all.clone() });
        assert_eq!(page, whole.iter().skip(position + 1).take(1).cloned().collect::<Vec<_>>());
    }
    let refused = db.transaction(|tx| list(tx, &SumFilter { after: Some("x".to_owned()), ..all }));
    assert!(matches!(refused, Err(StateError::BadCursor(_))), "{refused:?}");
    db.transaction(checksums::check).unwrap();
}

/// Minutes of the eighth day before become a day, a little at a time; nothing is lost, and what is older than the audit is
/// deleted.
#[test]
fn old_minutes_become_days_with_the_same_sum() {
    let place = tempfile::tempdir().unwrap();
    let mut db = Home::in_folder(place.path()).unwrap().connect(Access::Write).unwrap();
    let (chains, day) = (Some("/v1/chains"), MIDNIGHT - 8 * DAY_MS);
    let mut sums = RequestSums::default();
    for minute in 0..1440 {
        sums.add(&row(chains, 401, day + minute * MINUTE_MS));
        sums.add(&row(chains, 401, MIDNIGHT - 7 * DAY_MS + minute * MINUTE_MS));
    }
    db.transaction(|tx| sums.write(tx)).unwrap();
    let mut rounds = 0;
    while db.transaction(|tx| add_up(tx, MIDNIGHT + 1, 100)).unwrap() > 0 {
        rounds += 1;
    }
    assert_eq!(rounds, 15, "1,440 minutes, 100 at a time");
    let listed = db.transaction(|tx| list(tx, &SumFilter { limit: 5000, ..SumFilter::default() })).unwrap();
    assert_eq!((listed.len(), listed.last()), (1441, Some(&sum(day, 86_400, chains, 401, 1440))));
    db.transaction(checksums::check).unwrap();
    assert_eq!(db.transaction(|tx| delete(tx, MIDNIGHT - 7 * DAY_MS, 100)).unwrap(), 1);
}

/// However many kinds of requests come while the database cannot be written, what waits for it is bounded.
#[test]
fn sums_that_wait_are_bounded() {
    let mut sums = RequestSums::default();
    for minute in 0..i64::try_from(2 * WAITING).unwrap() {
        sums.add(&row(None, 404, MIDNIGHT + minute * MINUTE_MS));
    }
    let days = i64::try_from(2 * WAITING).unwrap() / DAY + 1;
    assert!(i64::try_from(sums.minutes.len()).unwrap() <= i64::try_from(WAITING).unwrap() + days);
    assert_eq!(sums.minutes.values().sum::<i64>(), i64::try_from(2 * WAITING).unwrap());
}
