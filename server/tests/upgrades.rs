//! States of earlier schemas in PostgreSQL, whose upgrades are killed wherever they are. The database itself stops them
//! there: triggers in a schema of their own wait before and behind every command of a step, in the commit, and where the
//! rows are sealed that had no seals yet.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use headwater_server::state::{Environment, Home, Options, Place, State};
use postgres::{Client, NoTls};
use tempfile::TempDir;

use crate::books::a_day_at_the_office;
use crate::support::postgres::Postgres;
use crate::support::{at_once, headwater, is_full, within};

/// The steps from nothing to the schema of today, each with the number that it leads to.
const STEPS: [(i64, &str); 7] = [
    (2, include_str!("../migrations/postgres/0002_gateway.sql")),
    (3, include_str!("../migrations/postgres/0003_audit_pages.sql")),
    (4, include_str!("../migrations/postgres/0004_seals.sql")),
    (5, include_str!("../migrations/postgres/0005_replicas.sql")),
    (6, include_str!("../migrations/postgres/0006_scale.sql")),
    (7, include_str!("../migrations/postgres/0007_pages_and_sums.sql")),
    (8, include_str!("../migrations/postgres/0008_parameters.sql")),
];

/// Where an upgrade can be: in one of the steps, or at one of these statements.
const COMMIT: usize = STEPS.len();
const SEALING: usize = STEPS.len() + 1;
const LOOKING: usize = STEPS.len() + 2;
const PLACES: usize = STEPS.len() + 3;

/// The lock that upgrades stop at; of another database it is another one.
const HALT: i64 = 1;

const LONG: Duration = Duration::from_mins(1);

/// What a day at the office leaves empty, without what no state has.
const ROWS: &str = "
    DELETE FROM setting WHERE name = 'b';
    INSERT INTO credit_lease (account_id, run_id, granted, expires_at_ms) VALUES (1, 'killed', 5, 9000000000000);
    UPDATE account SET leased = 5 WHERE id = 1;
    INSERT INTO webhook_endpoint
        SELECT 'hook', account_id, id, 'https://hooks.example.com/', 'large_transfer', '{}', 'active', NULL, 1, 1, NULL
        FROM api_key LIMIT 1;
    INSERT INTO webhook_secret VALUES ('hook', 1, decode(repeat('00', 60), 'hex'), 1, NULL);
    INSERT INTO outbox_event (id, type, created_at_ms, body) VALUES ('event', 'large_transfer', 1, '{}');
    INSERT INTO webhook_delivery VALUES ('event', 'hook', 'pending', 1, 1, NULL, NULL, 1, NULL);
    INSERT INTO webhook_attempt VALUES ('event', 'hook', 1, 1, 500, 1, NULL);
    INSERT INTO stream_event VALUES ('event', 7, 1);
    INSERT INTO outbox_position VALUES ('events', 7, 0);
    INSERT INTO stream_ticket SELECT digest, id, 1 FROM api_key LIMIT 1;
";

/// Lets what the database numbers go on behind the rows that are there.
const NUMBERED: &str = "
    SELECT setval(pg_get_serial_sequence('account', 'id'), max(id)) FROM account;
    SELECT setval(pg_get_serial_sequence('credit_lease', 'id'), max(id)) FROM credit_lease;
    SELECT setval(pg_get_serial_sequence('outbox_event', 'seq'), max(seq)) FROM outbox_event;
";

/// Makes an upgrade stop where the number that is counted up to comes to nought. All that it comes by is noted.
const HALTS: &str = "
    CREATE SCHEMA halts;
    CREATE SEQUENCE halts.passed MINVALUE -100000 START 1;
    CREATE TABLE halts.point (number BIGINT, query TEXT);
    CREATE FUNCTION halts.pass() RETURNS void LANGUAGE plpgsql AS $$
    DECLARE number BIGINT := nextval('halts.passed');
    BEGIN
        INSERT INTO halts.point VALUES (number, current_query());
        IF number = 0 THEN
            PERFORM set_config('lock_timeout', '0', true), set_config('statement_timeout', '0', true);
            PERFORM pg_advisory_xact_lock(1);
        END IF;
    END $$;
    CREATE FUNCTION halts.at_command() RETURNS event_trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM halts.pass(); END';
    CREATE FUNCTION halts.at_row() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM halts.pass(); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER halt AFTER INSERT ON schema_version DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION halts.at_row();
    DO $$ BEGIN
        IF to_regclass('setting') IS NOT NULL THEN
            CREATE TRIGGER halt AFTER INSERT ON setting FOR EACH ROW WHEN (NEW.name = 'sealed')
                EXECUTE FUNCTION halts.at_row();
        END IF;
    END $$;
    CREATE EVENT TRIGGER halt_before ON ddl_command_start EXECUTE FUNCTION halts.at_command();
    CREATE EVENT TRIGGER halt_behind ON ddl_command_end EXECUTE FUNCTION halts.at_command();
";

fn client(url: &str) -> Client {
    Client::connect(url, NoTls).unwrap()
}

fn number(client: &mut Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).unwrap().get(0)
}

/// Where a statement of an upgrade stands, of which the beginning may be all that is known.
fn place_of(query: &str) -> usize {
    let step = STEPS.iter().position(|(_, sql)| sql.starts_with(query));
    step.unwrap_or_else(|| match query {
        "COMMIT" => COMMIT,
        sealing if sealing.starts_with("INSERT INTO setting") => SEALING,
        looking if looking.starts_with("CREATE TABLE IF NOT EXISTS schema_version") => LOOKING,
        other => panic!("no statement of an upgrade: {other}"),
    })
}

/// A relation, how many rows it has, and a digest of them.
type Content = (String, i64, String);

/// All that an earlier schema holds, without what later steps add to its rows.
fn contents(client: &mut Client) -> Vec<Content> {
    let relations = client.query(
        "SELECT relname::TEXT FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v')
         AND relname <> 'schema_version' ORDER BY relname",
        &[],
    );
    let names: Vec<String> = relations.unwrap().iter().map(|row| row.get(0)).collect();
    let digests = names.into_iter().map(|name| {
        let rows = if name == "setting" { "(SELECT * FROM setting WHERE name <> 'sealed')" } else { &name };
        let digest = format!(
            "SELECT count(*), coalesce(md5(string_agg(line, ' ' ORDER BY line)), '') FROM (SELECT
                 (to_jsonb(one) - ARRAY['sum', 'throttled_until_ms', 'parameters'])::TEXT AS line FROM {rows} AS one) AS all_of_it"
        );
        let row = client.query_one(&digest, &[]).unwrap();
        (name, row.get(0), row.get(1))
    });
    digests.collect()
}

/// A state of an earlier schema; 0 is a database with nothing in it.
struct Old {
    schema: i64,
    database: String,
    contents: Vec<Content>,
    /// The statements that an upgrade stops at when it is told to, in order.
    points: Vec<String>,
    /// How long an upgrade takes.
    takes: Duration,
}

/// A server with a state of each earlier schema.
struct Archive {
    server: Postgres,
    folder: TempDir,
    /// A key that all of them know.
    key: String,
    credits: i64,
    olds: Vec<Old>,
}

/// Fills each table that is still empty with the rows of today.
fn fill(client: &mut Client) {
    let tables = client.query(
        "SELECT relname::TEXT, string_agg(quote_ident(attname), ', ') FROM pg_class AS old
         JOIN pg_attribute ON attrelid = old.oid AND attnum > 0
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
         AND EXISTS (SELECT 1 FROM pg_class AS now WHERE now.relnamespace = 'today'::regnamespace
                     AND now.relname = old.relname AND now.relkind = 'r')
         GROUP BY old.oid, relname ORDER BY old.oid",
        &[],
    );
    for row in tables.unwrap() {
        let (table, columns): (String, String) = (row.get(0), row.get(1));
        let rows = format!(
            "INSERT INTO {table} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM today.{table}
             WHERE NOT EXISTS (SELECT 1 FROM {table})"
        );
        client.batch_execute(&rows).unwrap_or_else(|error| panic!("{table}: {error}"));
    }
}

impl Archive {
    fn make() -> Self {
        let (entries, audited) = if is_full() { (2_000, 40_000) } else { (100, 4_000) };
        let (server, folder) = (Postgres::start(), tempfile::tempdir().unwrap());
        let mut all = client(&server.url());
        // The machine itself does not fail here.
        for setting in ["ALTER SYSTEM SET fsync = off", "SELECT pg_reload_conf()", "CREATE DATABASE today"] {
            all.batch_execute(setting).unwrap();
        }
        let home = server.home_in("today", folder.path());
        a_day_at_the_office(&home);
        let made = home.office("test", |office| {
            office.set_plan("pro", "{}")?;
            let made = office.create_key("old", Environment::Live, 1, Some("pro"))?;
            office.create_admin("bob")?;
            (1..entries).try_for_each(|_| office.add_credits(&made.id, 1).map(|_| ()))?;
            Ok(made)
        });
        client(&server.database("today")).batch_execute(ROWS).unwrap();
        let key = made.unwrap().key.expose().to_owned();
        let archive = Self { server, folder, key, credits: entries, olds: Vec::new() };
        let schemas = [0, 2, 3, 4, 5, 6, 7];
        let olds = at_once(schemas.len(), |number| archive.old(schemas[number], audited));
        Self { olds, ..archive }
    }

    /// Makes a state as an earlier schema had it: taken on step by step from the first one, with rows of each table from
    /// the step on that made it.
    fn old(&self, schema: i64, audited: i32) -> Old {
        let database = format!("old{schema}");
        self.copy("today", &database);
        let mut old = client(&self.server.database(&database));
        old.batch_execute(
            "ALTER SCHEMA public RENAME TO today;
             CREATE SCHEMA public;
             CREATE TABLE schema_version (version BIGINT NOT NULL);",
        )
        .unwrap();
        for (version, step) in STEPS.iter().take_while(|(version, _)| *version <= schema) {
            old.batch_execute(step).unwrap();
            old.execute("INSERT INTO schema_version VALUES ($1)", &[version]).unwrap();
            let rows = match version {
                2 => format!(
                    "INSERT INTO setting SELECT * FROM today.setting WHERE name <> 'sealed';
                     INSERT INTO audit SELECT lpad(number::TEXT, 36, '0'), NULL, id, 'POST', '/v1/transactions', 200, 5, 1,
                         9, sha256(number::TEXT::BYTEA), 1700000000000 + 100 * number
                         FROM generate_series(1, {audited}) AS number, (SELECT id FROM today.api_key LIMIT 1) AS api_key;"
                ),
                4 => "INSERT INTO setting SELECT * FROM today.setting WHERE name = 'sealed'".to_owned(),
                // As that version wrote them.
                7 => "INSERT INTO audit_page SELECT * FROM today.audit_page".to_owned(),
                _ => String::new(),
            };
            old.batch_execute(&rows).unwrap();
            fill(&mut old);
            if *version == 2 {
                old.batch_execute(NUMBERED).unwrap();
            }
        }
        old.batch_execute("DROP SCHEMA today CASCADE").unwrap();
        let contents = contents(&mut old);
        let empty: Vec<&Content> = contents.iter().filter(|(_, rows, _)| *rows == 0).collect();
        assert!(empty.is_empty() && (schema == 0 || contents.len() > 20), "schema {schema}: {contents:?}");
        old.batch_execute(HALTS).unwrap();
        drop(old);
        let mut made = Old { schema, database, contents, points: Vec::new(), takes: Duration::ZERO };
        let state = self.state(&made, "whole");
        let begun = Instant::now();
        assert!(state.upgrade().wait().unwrap().success(), "schema {schema}");
        let takes = begun.elapsed();
        let points = state.client().query("SELECT query FROM halts.point ORDER BY number", &[]).unwrap();
        state.assert_taken_on();
        drop(state);
        made.points = points.iter().map(|row| row.get(0)).collect();
        made.takes = takes;
        made
    }

    fn copy(&self, from: &str, to: &str) {
        client(&self.server.url()).batch_execute(&format!("CREATE DATABASE {to} TEMPLATE {from}")).unwrap();
    }

    /// A state of an earlier schema to be taken on.
    fn state<'a>(&'a self, old: &'a Old, name: &str) -> Upgraded<'a> {
        let database = format!("{}_{name}", old.database);
        self.copy(&old.database, &database);
        Upgraded { archive: self, old, database }
    }
}

/// A state that is taken on; gone when dropped.
struct Upgraded<'a> {
    archive: &'a Archive,
    old: &'a Old,
    database: String,
}

impl Drop for Upgraded<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            let gone = format!("DROP DATABASE {} WITH (FORCE)", self.database);
            client(&self.archive.server.url()).batch_execute(&gone).unwrap();
        }
    }
}

impl Upgraded<'_> {
    fn url(&self) -> String {
        self.archive.server.database(&self.database)
    }

    fn client(&self) -> Client {
        client(&self.url())
    }

    /// Begins the command that takes a state on, and does nothing else.
    fn upgrade(&self) -> Child {
        let secrets = self.archive.folder.path().to_str().unwrap();
        let opens = if self.old.schema == 0 { ["state", "init"] } else { ["keys", "list"] };
        let mut command = headwater(&opens);
        command.args(["--json", "--state", &self.url(), "--secrets-dir", secrets]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Begins it and waits until it stands at a point; gives it and the number of its backend.
    fn halted(&self, point: usize, halt: &mut Client) -> (Child, i32) {
        let before = -i64::try_from(point + 1).unwrap();
        halt.execute("SELECT setval('halts.passed', $1), pg_advisory_lock($2)", &[&before, &HALT]).unwrap();
        let mut child = self.upgrade();
        let mut waiting = None;
        within(LONG, "the upgrade stops", || {
            assert!(child.try_wait().unwrap().is_none(), "schema {}: not stopped at {point}", self.old.schema);
            waiting = halt
                .query_opt(
                    "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1::BIGINT::OID
                     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
                    &[&HALT],
                )
                .unwrap();
            waiting.is_some()
        });
        let pid: i32 = waiting.unwrap().get(0);
        let query = halt.query_one("SELECT query FROM pg_stat_activity WHERE pid = $1", &[&pid]).unwrap();
        let query: String = query.get(0);
        assert!(self.old.points[point].starts_with(&query), "schema {}, point {point}: {query}", self.old.schema);
        (child, pid)
    }

    /// Begins another upgrade, and waits until it waits for the first.
    fn beside(&self, halt: &mut Client) -> Child {
        let child = self.upgrade();
        within(LONG, "the other one waits", || {
            let waiting = "SELECT count(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
                           WHERE NOT granted AND datname = current_database()";
            number(halt, waiting) == 2
        });
        child
    }

    /// The schema that a killed upgrade left, when its backend is gone.
    fn schema(&self) -> i64 {
        let mut client = self.client();
        within(LONG, "the backend ends", || {
            let left = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                        AND application_name = 'headwater'";
            number(&mut client, left) == 0
        });
        number(&mut client, "SELECT coalesce(max(version), 0) FROM schema_version")
    }

    /// Opens it as any start does, and looks whether all of it is there.
    fn assert_taken_on(&self) {
        let Old { schema, contents: kept, .. } = self.old;
        let place = Place::parse(&self.url()).unwrap();
        let home = Home::open(&place, Some(self.archive.folder.path()))
            .unwrap_or_else(|error| panic!("schema {schema}: {error}"));
        let mut client = self.client();
        let versions = client.query("SELECT version FROM schema_version ORDER BY version", &[]).unwrap();
        let versions: Vec<i64> = versions.iter().map(|row| row.get(0)).collect();
        assert_eq!(versions, STEPS.map(|(version, _)| version), "schema {schema}: each step is taken once");
        let mut found = contents(&mut client);
        found.retain(|(name, ..)| kept.iter().any(|(known, ..)| known == name));
        assert_eq!(&found, kept, "schema {schema}: nothing is lost");
        let entries = kept.iter().find(|(name, ..)| name == "credit_ledger").map_or(0, |(_, rows, _)| *rows);
        assert_eq!(i64::try_from(home.check().unwrap().entries).unwrap(), entries, "schema {schema}");
        let state = State::start(&home, Options::default(), Box::new(|| panic!("latched"))).unwrap();
        let credits = state.book().identify(&self.archive.key, 0).map(|caller| caller.account().balance());
        assert_eq!(credits.ok(), (*schema > 0).then_some(self.archive.credits), "schema {schema}");
        state.close();
        // What the database numbers goes on behind what was there.
        home.office("test", |office| office.create_key("new", Environment::Live, 7, None)).unwrap();
        assert_eq!(i64::try_from(home.check().unwrap().entries).unwrap(), entries + 1, "schema {schema}");
    }
}

/// What is killed.
#[derive(Debug, Clone, Copy)]
enum Killed {
    /// The process that upgrades. Its backend finds out when it answers.
    Process,
    /// The backend.
    Backend,
}

/// Whether another replica starts before the kill.
#[derive(Debug, Clone, Copy)]
enum Other {
    None,
    Waits,
}

/// The points to stop at: all of them, or one of each place.
fn points(old: &Old) -> Vec<usize> {
    if is_full() {
        return (0..old.points.len()).collect();
    }
    let of = |place| (0..old.points.len()).filter(move |point| place_of(&old.points[*point]) == place);
    (0..LOOKING).filter_map(|place| of(place).nth(of(place).count() / 2)).collect()
}

/// Looks which schema a kill left.
fn assert_left(old: &Old, place: usize, left: i64) {
    assert!([old.schema, STEPS[STEPS.len() - 1].0].contains(&left), "schema {}: {left} in between", old.schema);
    assert!(place >= COMMIT || left == old.schema, "schema {}: left at {left}", old.schema);
}

/// Kills an upgrade at a point.
fn kill(archive: &Archive, old: &Old, point: usize, killed: Killed, other: Other) {
    let state = archive.state(old, "killed");
    let mut halt = state.client();
    let (mut child, backend) = state.halted(point, &mut halt);
    let other = match other {
        Other::None => None,
        Other::Waits => Some(state.beside(&mut halt)),
    };
    match killed {
        Killed::Process => child.kill().unwrap(),
        Killed::Backend => {
            assert!(halt.query_one("SELECT pg_terminate_backend($1)", &[&backend]).unwrap().get::<_, bool>(0));
        }
    }
    assert!(!child.wait().unwrap().success());
    drop(halt);
    match other {
        Some(mut other) => assert!(other.wait().unwrap().success(), "schema {}: the other one opens", old.schema),
        None => assert_left(old, place_of(&old.points[point]), state.schema()),
    }
    state.assert_taken_on();
}

/// Stops PostgreSQL as a crash does, while a state of each schema that has such a point is upgraded there.
fn crash(archive: &Archive, point: usize) -> Vec<(usize, usize)> {
    let olds: Vec<(usize, &Old)> =
        archive.olds.iter().enumerate().filter(|(_, old)| point < old.points.len()).collect();
    let mut states: Vec<_> = olds
        .iter()
        .map(|(_, old)| {
            let state = archive.state(old, "crashed");
            let mut halt = state.client();
            let (child, _) = state.halted(point, &mut halt);
            (state, child, halt)
        })
        .collect();
    archive.server.crash();
    for (_, child, _) in &mut states {
        assert!(!child.wait().unwrap().success());
    }
    archive.server.begin();
    let mut hit = Vec::new();
    for ((number, old), (state, ..)) in olds.into_iter().zip(states) {
        let place = place_of(&old.points[point]);
        assert_left(old, place, state.schema());
        state.assert_taken_on();
        hit.push((number, place));
    }
    hit
}

/// Kills upgrades at moments that are spread over the time that one takes; gives how many were under way.
fn kill_at_moments(archive: &Archive, old: &Old, rounds: u32) -> u32 {
    let mut under_way = 0;
    for round in 0..rounds {
        let state = archive.state(old, "moment");
        let mut child = state.upgrade();
        thread::sleep(old.takes * (round + 1) / (rounds + 1));
        under_way += u32::from(child.try_wait().unwrap().is_none());
        let _ = child.kill();
        child.wait().unwrap();
        // At once, while its backend may still work.
        state.assert_taken_on();
    }
    under_way
}

#[test]
fn postgres_upgrades_that_are_killed_at_each_step_are_taken_on_by_the_next_start() {
    let archive = Archive::make();
    let rounds = if is_full() { 10 } else { 1 };
    let killed = at_once(archive.olds.len(), |number| {
        let old = &archive.olds[number];
        let mut hit = vec![0_usize; PLACES];
        for (turn, point) in points(old).into_iter().enumerate() {
            let (killed, other) = [
                (Killed::Process, Other::None),
                (Killed::Process, Other::Waits),
                (Killed::Backend, Other::None),
                (Killed::Backend, Other::Waits),
            ][(turn + number) % 4];
            kill(&archive, old, point, killed, other);
            hit[place_of(&old.points[point])] += 1;
        }
        (hit, kill_at_moments(&archive, old, rounds))
    });
    let (mut hit, under_way): (Vec<Vec<usize>>, Vec<u32>) = killed.into_iter().unzip();
    let most = archive.olds.iter().map(|old| old.points.len()).max().unwrap();
    let crashes: Vec<usize> = if is_full() { (0..most).step_by(10).collect() } else { vec![1] };
    let mut crashed = 0;
    for (number, place) in crashes.iter().flat_map(|point| crash(&archive, *point)) {
        hit[number][place] += 1;
        crashed += 1;
    }
    for (old, hit) in archive.olds.iter().zip(&hit) {
        println!(
            "schema {}: kills in the steps to 2 to 8 {:?}, in the commit {}, while sealing {}, around them {}",
            old.schema,
            &hit[..COMMIT],
            hit[COMMIT],
            hit[SEALING],
            hit[LOOKING]
        );
        let steps = STEPS.iter().enumerate().filter(|(_, (version, _))| *version > old.schema).map(|(place, _)| place);
        let sealing = [2, 3].contains(&old.schema).then_some(SEALING);
        for place in steps.chain([COMMIT]).chain(sealing) {
            assert!(hit[place] > 0, "schema {}: no kill at {place}: {hit:?}", old.schema);
        }
    }
    let all: usize = hit.iter().flatten().sum();
    println!(
        "{all} upgrades of PostgreSQL from nothing and from schemas 2 to 7, each killed at another point, {crashed} of them \
         with the whole server ({} crashes); {} more at moments between, {} of them under way: all open",
        crashes.len(),
        rounds as usize * archive.olds.len(),
        under_way.iter().sum::<u32>()
    );
}

/// Upgrades a state by several replicas at once.
fn together(archive: &Archive, old: &Old) {
    let state = archive.state(old, "together");
    let mut replicas: Vec<Child> = (0..3).map(|_| state.upgrade()).collect();
    for replica in &mut replicas {
        assert!(replica.wait().unwrap().success(), "schema {}", old.schema);
    }
    state.assert_taken_on();
}

/// The point of a place that comes first.
fn first(old: &Old, place: usize) -> usize {
    old.points.iter().position(|query| place_of(query) == place).unwrap()
}

/// Holds one replica up for longer than a statement may wait for a lock; gives how long.
fn slow(archive: &Archive, old: &Old, place: usize) {
    const LONGER: Duration = Duration::from_secs(7);
    let state = archive.state(old, "slow");
    let mut halt = state.client();
    let (mut slow, _) = state.halted(first(old, place), &mut halt);
    let mut other = state.beside(&mut halt);
    thread::sleep(LONGER);
    drop(halt);
    for replica in [&mut slow, &mut other] {
        assert!(replica.wait().unwrap().success(), "schema {}, at {place}", old.schema);
    }
    state.assert_taken_on();
}

/// Stops one replica without an end, as a machine that is cut off: its connection stays.
fn frozen(archive: &Archive, old: &Old, place: usize) {
    let state = archive.state(old, "frozen");
    let mut halt = state.client();
    let (mut frozen, _) = state.halted(first(old, place), &mut halt);
    let signal = |name: &str| Command::new("kill").args([name, &frozen.id().to_string()]).status().unwrap();
    assert!(signal("-STOP").success());
    drop(halt);
    let mut other = state.upgrade();
    let mut ended = None;
    within(LONG, "the other one opens", || {
        ended = other.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.unwrap().success(), "schema {}, at {place}", old.schema);
    state.assert_taken_on();
    assert!(signal("-CONT").success());
    assert!(!frozen.wait().unwrap().success(), "it does not take a commit that never was for one");
    assert_eq!(state.schema(), 8);
}

#[test]
fn postgres_replicas_that_upgrade_together_all_open() {
    let archive = Archive::make();
    let archive = &archive;
    let old = |schema| archive.olds.iter().find(|old| old.schema == schema).unwrap();
    thread::scope(|scope| {
        for old in &archive.olds {
            scope.spawn(move || together(archive, old));
        }
        for (schema, place) in [(2, 1), (3, SEALING)] {
            let old = old(schema);
            scope.spawn(move || slow(archive, old, place));
            scope.spawn(move || frozen(archive, old, place));
        }
    });
    println!(
        "{} states of earlier schemas in PostgreSQL, each upgraded by three replicas at once; two beside one that was held \
         up, two beside one that was cut off: all open",
        archive.olds.len()
    );
}
