//! The generator makes what a second implementation of its definition makes (`vectors.py`).
#![expect(clippy::unwrap_used, reason = "a test that cannot read its vectors fails")]

use headwater_bench::generator::{
    Chunk, FIRST_BLOCK, Generator, Preset, QuerySets, address_bytes, holder_balances, token_of, transaction_hash,
};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generation;
use headwater_ledger::store::MemoryStore;
use headwater_types::Chain;
use serde_json::{Value, json};

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors.json")).unwrap()
}

fn row(chunk: &Chunk, place: usize) -> Value {
    json!([
        chunk.from[place],
        chunk.to[place],
        chunk.token[place],
        chunk.time[place],
        chunk.index[place],
        chunk.log[place],
        chunk.amount[place].to_string(),
        chunk.high_at(place),
    ])
}

fn expected_row(vector: &Value) -> Value {
    let v = vector.as_array().unwrap();
    json!([v[0], v[1], v[2], v[3], v[4], v[5], v[7], v[8]])
}

#[test]
fn rows_are_those_of_the_definition() {
    let vectors = vectors();
    let chunk = Generator::new(Preset::S).chunk(0);
    for (place, vector) in vectors["first_rows"].as_array().unwrap().iter().enumerate() {
        assert_eq!(row(&chunk, place), expected_row(vector), "row {place}");
    }
    let part = Generator::new(Preset::of(2_000_000)).rows(1_234_567..1_234_573);
    for (place, vector) in vectors["rows_of_chunk_1"].as_array().unwrap().iter().enumerate() {
        assert_eq!(row(&part, place), expected_row(vector), "row {place} of the second chunk");
    }
    let large: Vec<_> = chunk.high.iter().take(5).map(|&(place, high)| json!([place, high])).collect();
    assert_eq!(json!(large), vectors["large"]);
    assert_eq!(json!(chunk.high.len()), vectors["large_count"]);
}

#[test]
fn degrees_have_the_tail_of_the_definition() {
    let vectors = vectors();
    let sets = QuerySets::of(&Generator::new(Preset::S));
    assert_eq!(json!(sets.top_degrees), vectors["top_degrees"]);
    assert_eq!(json!(sets.active), vectors["active"]);
    assert_eq!((sets.light.len(), sets.medium.len(), sets.heavy.len()), (200, 40, 4));
}

#[test]
fn names_and_balances_are_those_of_the_definition() {
    let vectors = vectors();
    assert_eq!(hex::encode(address_bytes(7)), vectors["address_of_7"].as_str().unwrap());
    assert_eq!(token_of(7).to_string(), format!("0x{}", vectors["token_7"].as_str().unwrap()));
    assert_eq!(hex::encode(transaction_hash(7).as_bytes()), vectors["hash_of_row_7"].as_str().unwrap());
    let balances: Vec<_> = holder_balances(5).iter().map(u128::to_string).collect();
    assert_eq!(json!(balances), vectors["holders"]);
}

#[test]
fn a_store_holds_every_row_that_it_was_given() {
    let generator = Generator::new(Preset::of(3000));
    let chunk = generator.chunk(0);
    let mut store = MemoryStore::default();
    let report = store.commit(generator.batch(&chunk), &Cancel::new()).unwrap();
    assert_eq!(report.added, 3000);
    let snapshot = store.snapshot();
    let coverage = &snapshot.coverage()[&Chain::ETHEREUM];
    assert_eq!((coverage.transactions, coverage.movements), (3000, 3000));
    assert_eq!(coverage.first_block, Some(FIRST_BLOCK));
    assert_eq!(coverage.ranges.values().next().unwrap().len(), 1, "blocks are covered without a gap");
}
