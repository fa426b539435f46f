//! The schema of a state: made once, and refused where it is another one.

use std::path::Path;
use std::process::{Output, Stdio};

use headwater_state::{Environment, Home};
use postgres::{Client, NoTls};
use rusqlite::Connection;

use crate::support::headwater;
use crate::support::postgres::Postgres;

fn run(arguments: &[&str]) -> Output {
    headwater(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap()
}

/// Asserts that a command refuses a state of another schema, and names the commands that make a new one.
fn assert_refused(place: &str, secrets: &Path, schema: i64) {
    let refused = run(&["keys", "list", "--state", place, "--secrets-dir", secrets.to_str().unwrap()]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success(), "{said}");
    let expected = format!("has schema {schema}, and this version uses schema");
    for part in [expected.as_str(), "`headwater state init --state PLACE`", "`headwater keys create`"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn migration_by_several_replicas_takes_each_step_once() {
    let (server, secrets) = (Postgres::start(), tempfile::tempdir().unwrap());
    let mut replicas: Vec<_> = (0..3)
        .map(|_| {
            let arguments =
                ["state", "init", "--state", &server.url(), "--secrets-dir", secrets.path().to_str().unwrap()];
            headwater(&arguments).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    assert!(replicas.iter_mut().all(|replica| replica.wait().unwrap().success()));
    let mut client = Client::connect(&server.url(), NoTls).unwrap();
    let row = client.query_one("SELECT count(*), count(DISTINCT version) FROM schema_version", &[]).unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (2, 2));
    let home = server.home(secrets.path());
    home.admin("test", |admin| admin.create_key("new", Environment::Live, 7, None)).unwrap();
    assert_eq!(home.check().unwrap().entries, 1);
}

#[test]
fn state_of_another_schema_is_refused_with_the_remedy() {
    let place = tempfile::tempdir().unwrap();
    drop(Home::in_folder(place.path()).unwrap());
    let server = Postgres::start();
    let home = server.home(place.path());
    drop(home);
    for schema in [1_i64, 8, 99] {
        let database = Connection::open(place.path().join("gateway.sqlite")).unwrap();
        database.pragma_update(None, "user_version", schema).unwrap();
        drop(database);
        assert_refused(place.path().to_str().unwrap(), place.path(), schema);
        let mut client = Client::connect(&server.url(), NoTls).unwrap();
        client.execute("UPDATE schema_version SET version = $1", &[&schema]).unwrap();
        assert_refused(&server.url(), place.path(), schema);
    }
}
