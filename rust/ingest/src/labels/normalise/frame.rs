//! The join of all statements: concepts are mapped to codes, and repeats become one claim. In polars, over numbers that
//! stand for texts and addresses, so that a million statements take seconds.

use polars::prelude::*;

/// Stands for every EVM chain in the column of scopes; chains stand before it.
pub(super) const EVM: u32 = u32::MAX;

/// The statements, one per address, as columns of equal length. Numbers of texts and addresses are in their order.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub(super) address: Vec<u32>,
    /// True if it is an address of EVM chains.
    pub(super) is_evm: Vec<bool>,
    /// The chains; `None` where the chain is not held, see `elsewhere`.
    pub(super) scope: Vec<Option<u32>>,
    /// The chain that is not held; `None` where one is missing.
    pub(super) elsewhere: Vec<Option<u32>>,
    /// True if the list names the chain.
    pub(super) is_named: Vec<bool>,
    /// The words that say what the address is.
    pub(super) concepts: Vec<Vec<u32>>,
    pub(super) entity: Vec<Option<u32>>,
    pub(super) entity_text: Vec<Option<u32>>,
    pub(super) name: Vec<Option<u32>>,
    pub(super) source: Vec<Option<u32>>,
    pub(super) group: Vec<u32>,
    /// True if the caller or the row states the group.
    pub(super) is_group_stated: Vec<bool>,
    /// Level and reliability, ordered by reliability.
    pub(super) trust: Vec<u32>,
    pub(super) asserted_at: Vec<Option<i64>>,
    /// The basis of that date, the more exact one first; `None` without a date.
    pub(super) date_basis: Vec<Option<u32>>,
    pub(super) last_seen: Vec<Option<i64>>,
    pub(super) valid_until: Vec<Option<i64>>,
    pub(super) action: Vec<u32>,
}

/// The reviewed concepts of the import, as columns of equal length.
#[derive(Debug, Default)]
pub(super) struct Reviewed {
    pub(super) concept: Vec<u32>,
    pub(super) code: Vec<u32>,
    /// True if the code holds on every EVM chain.
    pub(super) widens: Vec<bool>,
    /// True if it does where the list names no chain.
    pub(super) widens_unnamed: Vec<bool>,
    /// True if the code is one that a group copies from another; see [`Copies`].
    pub(super) is_copied: Vec<bool>,
}

/// A group whose claims of copied codes count to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copies {
    pub(super) group: Option<u32>,
    pub(super) original: u32,
}

/// A claim of the result, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) address: u32,
    pub(super) scope: u32,
    pub(super) code: Option<u32>,
    pub(super) group: u32,
    pub(super) entity_text: Option<u32>,
    pub(super) name: Option<u32>,
    pub(super) source: Option<u32>,
    pub(super) trust: u32,
    pub(super) asserted_at: Option<i64>,
    pub(super) date_basis: Option<u32>,
    pub(super) last_seen: Option<i64>,
    pub(super) valid_until: Option<i64>,
    pub(super) action: u32,
    /// Statements that it joins.
    pub(super) statements: u32,
}

/// The claims of all statements.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The claims, and names without a code, in order.
    pub(super) claims: Vec<Joined>,
    /// Numbers of chains that are not held, with how many addresses each has.
    pub(super) elsewhere: Vec<(u32, u32)>,
    /// Statements about an EVM address of which no chain is known.
    pub(super) missing_chain: u64,
}

/// The key of a claim: statements with the same key are one claim.
const KEY: [&str; 6] = ["address", "scope", "code", "entity", "group", "action"];

pub(super) fn joined(statements: Statements, reviewed: Reviewed, copies: Copies) -> PolarsResult<Outcome> {
    let mapped = mapped(statements, reviewed, copies)?;
    // A word without a code says nothing beside one with a code.
    let telling = || mapped.clone().lazy().filter(col("code").is_not_null().or(col("codes").eq(lit(0_u32))));
    let homeless = telling().filter(col("scope").is_null());
    let places = homeless.group_by([col("address"), col("elsewhere")]).agg([]).collect()?;
    let missing = places.column("elsewhere")?.null_count();
    let elsewhere = places
        .lazy()
        .filter(col("elsewhere").is_not_null())
        .group_by([col("elsewhere")])
        .agg([len().alias("addresses")])
        .sort(["elsewhere"], SortMultipleOptions::default())
        .collect()?;
    let (names, addresses) = (elsewhere.column("elsewhere")?.u32()?, elsewhere.column("addresses")?.u32()?);
    let claims = telling()
        .filter(col("scope").is_not_null())
        // The first of equal statements is the earliest of those with the most exact date; texts decide among those of
        // one time.
        .sort(
            ["date_basis", "asserted_at", "entity_text", "name", "source"],
            SortMultipleOptions::default().with_nulls_last(true),
        )
        .group_by(KEY.map(col))
        .agg([
            first("entity_text"),
            first("name"),
            first("source"),
            col("trust").max(),
            first("asserted_at"),
            first("date_basis"),
            col("last_seen").max(),
            col("valid_until").max(),
            col("valid_until").null_count().alias("open"),
            col("statement").n_unique().alias("statements"),
        ])
        .sort(KEY, SortMultipleOptions::default())
        .collect()?;
    Ok(Outcome {
        claims: rows(&claims)?,
        elsewhere: names.iter().flatten().zip(addresses.iter().flatten()).collect(),
        missing_chain: u64::try_from(missing).unwrap_or(u64::MAX),
    })
}

fn first(column: &str) -> Expr {
    col(column).drop_nulls().first()
}

/// One row per statement and concept, with code, chains and group.
fn mapped(statements: Statements, reviewed: Reviewed, copies: Copies) -> PolarsResult<DataFrame> {
    let codes = df![
        "concept" => reviewed.concept,
        "code" => reviewed.code,
        "widens" => reviewed.widens,
        "widens_unnamed" => reviewed.widens_unnamed,
        "is_copied" => reviewed.is_copied,
    ]?;
    let widened = col("is_evm").and(col("widens").or(col("widens_unnamed").and(col("is_named").not())));
    let copied = col("is_copied").and(col("is_group_stated").not()).and(match copies.group {
        Some(group) => col("group").eq(lit(group)),
        None => lit(false),
    });
    let or_not = |condition: Expr| condition.fill_null(lit(false));
    frame_of(statements)?
        .lazy()
        .explode(cols(["concept"]), ExplodeOptions { empty_as_null: true, keep_nulls: true })
        .left_join(codes.lazy(), col("concept"), col("concept"))
        .with_columns([
            when(or_not(widened)).then(lit(EVM)).otherwise(col("scope")).alias("scope"),
            when(or_not(copied)).then(lit(copies.original)).otherwise(col("group")).alias("group"),
            col("code").count().over([col("statement")])?.alias("codes"),
        ])
        .collect()
}

fn frame_of(statements: Statements) -> PolarsResult<DataFrame> {
    let rows = statements.address.len();
    let count = u32::try_from(rows).map_err(|_| polars_err!(ComputeError: "{} statements are too many", rows))?;
    let words = statements.concepts.iter().map(Vec::len).sum();
    let mut concepts = ListPrimitiveChunkedBuilder::<UInt32Type>::new("concept".into(), rows, words, DataType::UInt32);
    for words in &statements.concepts {
        concepts.append_slice(words);
    }
    let mut frame = df![
        "statement" => (0..count).collect::<Vec<_>>(),
        "address" => statements.address,
        "is_evm" => statements.is_evm,
        "scope" => statements.scope,
        "elsewhere" => statements.elsewhere,
        "is_named" => statements.is_named,
        "entity" => statements.entity,
        "entity_text" => statements.entity_text,
        "name" => statements.name,
        "source" => statements.source,
        "group" => statements.group,
        "is_group_stated" => statements.is_group_stated,
        "trust" => statements.trust,
        "asserted_at" => statements.asserted_at,
        "date_basis" => statements.date_basis,
        "last_seen" => statements.last_seen,
        "valid_until" => statements.valid_until,
        "action" => statements.action,
    ]?;
    frame.with_column(concepts.finish().into_series().into())?;
    Ok(frame)
}

fn rows(frame: &DataFrame) -> PolarsResult<Vec<Joined>> {
    let number = |name: &str| frame.column(name)?.u32().cloned();
    let time = |name: &str| frame.column(name)?.i64().cloned();
    let (address, scope, code, group) = (number("address")?, number("scope")?, number("code")?, number("group")?);
    let (entity_text, name, source) = (number("entity_text")?, number("name")?, number("source")?);
    let (trust, action, date_basis) = (number("trust")?, number("action")?, number("date_basis")?);
    let (asserted_at, last_seen, valid_until) = (time("asserted_at")?, time("last_seen")?, time("valid_until")?);
    let (open, statements) = (number("open")?, number("statements")?);
    let there = |column: &UInt32Chunked, row: usize| column.get(row).unwrap_or_default();
    let row = |row: usize| Joined {
        address: there(&address, row),
        scope: there(&scope, row),
        code: code.get(row),
        group: there(&group, row),
        entity_text: entity_text.get(row),
        name: name.get(row),
        source: source.get(row),
        trust: there(&trust, row),
        asserted_at: asserted_at.get(row),
        date_basis: date_basis.get(row),
        last_seen: last_seen.get(row),
        // One statement without an end keeps the claim open.
        valid_until: valid_until.get(row).filter(|_| there(&open, row) == 0),
        action: there(&action, row),
        statements: there(&statements, row),
    };
    Ok((0..frame.height()).map(row).collect())
}
