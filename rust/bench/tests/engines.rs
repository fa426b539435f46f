//! Every engine answers what the rows say, at a size at which that takes seconds.
#![expect(clippy::unwrap_used, reason = "a test fails where it cannot continue")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use headwater_bench::generator::{Generator, Preset, QuerySets, Ranks};
use headwater_bench::suite::answer::{Answer, Group, Query};
use headwater_bench::suite::oracle::{Edges, Oracle};
use headwater_bench::suite::own::EngineUnderTest;
use headwater_bench::suite::peers::{Child, Engine, Fjall, KeyedStore, PetgraphPeer, Redb};
use headwater_bench::suite::questions;
use headwater_bench::suite::run::{Purpose, group};
use headwater_bench::suite::traces::{MemoryTraces, StoredTraces};
use headwater_bench::suite::{load, tables};

const TRANSFERS: u64 = 20_000;

struct Fixture {
    folder: tempfile::TempDir,
    generator: Generator,
    ranks: Arc<Ranks>,
}

impl Fixture {
    fn new() -> Self {
        let generator = Generator::new(Preset::of(TRANSFERS));
        let ranks = Arc::new(Ranks::of(generator.preset()));
        Self { folder: tempfile::tempdir().unwrap(), generator, ranks }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Asks every question of the preset and holds the answers against the rows.
    fn compare(&self, mut engines: Vec<Box<dyn Engine>>, edges: Edges) -> usize {
        let groups = questions::groups(&self.generator, &self.ranks, &QuerySets::of(&self.generator));
        let (accounts, tokens) = (questions::accounts(&groups), questions::tokens(&groups));
        let oracle = Oracle::of(&self.generator, &self.ranks, &accounts, &tokens).with_edges(edges);
        for one in &groups {
            group(one, &mut engines, &oracle, Purpose::Compare).unwrap();
        }
        let all = groups.iter().filter_map(|group| group.queries.first());
        all.filter(|&&query| engines.iter().any(|engine| engine.takes(query))).count()
    }

    fn own(&self) -> [Box<dyn Engine>; 2] {
        let built = load::load(&self.generator, &self.path("store"), |_, _| ()).unwrap();
        assert_eq!((built.transfers, built.commits), (TRANSFERS, 1));
        assert!(built.sections.values().sum::<u64>() > 0 && built.sections.values().sum::<u64>() == built.bytes);
        assert!(built.anonymous_bytes > 0 && built.anonymous_bytes <= built.resident_bytes);
        let own = EngineUnderTest::open(&self.path("store"), Arc::clone(&self.ranks)).unwrap();
        let traces = StoredTraces::open(&self.path("store"), Arc::clone(&self.ranks)).unwrap();
        [Box::new(own.with_holders(5000)), Box::new(traces)]
    }

    fn tables(&self) -> &Path {
        tables::write(&self.generator, &self.ranks, 5000, self.folder.path()).unwrap();
        self.folder.path()
    }
}

#[test]
fn the_engine_and_the_peers_in_rust_answer_what_the_rows_say() {
    let fixture = Fixture::new();
    let tables = fixture.tables();
    let edges = Edges::of(&fixture.generator, &fixture.ranks);
    let mut engines: Vec<Box<dyn Engine>> = vec![
        Box::new(MemoryTraces::new(&edges)),
        Box::new(KeyedStore::<Redb>::open(tables).unwrap()),
        Box::new(KeyedStore::<Fjall>::open(tables).unwrap()),
        Box::new(PetgraphPeer::new(&edges)),
    ];
    engines.extend(fixture.own());
    assert!(fixture.compare(engines, edges) >= 22);
}

#[test]
fn python_peers_answer_what_the_rows_say() {
    let python = std::env::var("HEADWATER_BENCH_PYTHON").expect("HEADWATER_BENCH_PYTHON names the Python of the peers");
    let fixture = Fixture::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/peers.py");
    let children = Child::start(Path::new(&python), &script, fixture.tables(), &[]).unwrap();
    let engines = children.into_iter().map(|child| Box::new(child) as Box<dyn Engine>).collect();
    let edges = Edges::of(&fixture.generator, &fixture.ranks);
    assert!(fixture.compare(engines, edges) >= 22);
}

#[test]
fn a_wrong_answer_is_found() {
    let fixture = Fixture::new();
    let sets = QuerySets::of(&fixture.generator);
    let account = fixture.ranks.account(sets.heavy[0]);
    let oracle = Oracle::of(&fixture.generator, &fixture.ranks, &[account].into(), &[].into());
    let page = Query::Page { account };
    let mut rows: Vec<_> = oracle.rows(account).iter().rev().take(100).copied().collect();
    oracle.check("right", page, &Answer::Rows(rows.clone())).unwrap();
    rows[7].4 += 1;
    let error = oracle.check("wrong", page, &Answer::Rows(rows)).unwrap_err().to_string();
    assert!(error.contains("row 7"), "{error}");

    let count = Query::Count { account };
    let error = oracle.check("wrong", count, &Answer::Groups(vec![Group(0, 255, 1_000_000, 0, 0, 0)])).unwrap_err();
    assert!(error.to_string().contains("1000000"), "{error}");
    oracle.check("short", count, &Answer::Groups(Vec::new())).unwrap_err();
}
