//! The data that a store contains of a chain: calls about chains that it does not contain are refused, and answers name the
//! data that is missing.
//!
//! An empty answer reads as "nothing happened". Of a chain without rows and labels it would only mean "nothing was loaded".

use std::ops::Range;

use headwater_ledger::Ledger;
use headwater_ledger::read::{Coverage, CoverageTable};
use headwater_types::{Chain, TimeWindow};
use serde::Serialize;

use crate::chain_scope::{ChainsRead, Reads};
use crate::endpoint::Query;
use crate::fields::values;
use crate::request::Warnings;
use crate::{Endpoint, Error, Reason};

values! {
    /// A kind of data whose blocks are counted.
    CoverageKind {
        Blocks = "blocks",
        Transactions = "transactions",
        Receipts = "receipts",
        TokenTransfers = "token_transfers",
        Logs = "logs",
        Traces = "traces",
    }
}

impl CoverageKind {
    /// All kinds, in the order in which they are shown.
    const ALL: [Self; 6] =
        [Self::Blocks, Self::Transactions, Self::Receipts, Self::TokenTransfers, Self::Logs, Self::Traces];

    const fn table(self) -> CoverageTable {
        match self {
            Self::Blocks => CoverageTable::Blocks,
            Self::Transactions => CoverageTable::Transactions,
            Self::Receipts => CoverageTable::Receipts,
            Self::TokenTransfers => CoverageTable::TokenTransfers,
            Self::Logs => CoverageTable::Logs,
            Self::Traces => CoverageTable::Traces,
        }
    }
}

/// Returns whether the store contains rows or labels of a chain.
pub(crate) fn is_held(ledger: &dyn Ledger, chain: Chain) -> bool {
    ledger.coverage().contains_key(&chain) || ledger.labels().holds(chain)
}

/// Refuses a call about a chain that is not held; of several (`evm`) one is enough.
pub(crate) fn check(ledger: &dyn Ledger, query: &Query) -> Result<(), Error> {
    let Endpoint { chains: scope, reads, .. } = query.endpoint();
    match reads {
        Reads::Market => return Ok(()),
        Reads::Movements | Reads::Labels => {}
    }
    match query.subject() {
        ChainsRead::One(chain) => check_any(ledger, scope.field(), chain.name(), &[*chain]),
        ChainsRead::Several(chains) => check_any(ledger, scope.field(), "evm", chains),
        ChainsRead::None | ChainsRead::Any(_) | ChainsRead::Invalid => Ok(()),
    }
}

/// Refuses a name of which no chain is held; `field` is where the request names it.
pub(crate) fn check_any(ledger: &dyn Ledger, field: Option<&str>, name: &str, chains: &[Chain]) -> Result<(), Error> {
    if chains.iter().any(|chain| is_held(ledger, *chain)) {
        return Ok(());
    }
    let held: Vec<&str> = Chain::all().filter(|chain| is_held(ledger, *chain)).map(Chain::name).collect();
    let remedy = match held[..] {
        [] => "; it contains no chain yet".to_owned(),
        _ => format!("; it contains {}", held.join(", ")),
    };
    let place = field.map(|field| format!("{field}: ")).unwrap_or_default();
    let message = format!("{place}the store contains neither rows nor labels of {name}{remedy}");
    let error = Error::invalid(Reason::ChainNotHeld, field.unwrap_or_default(), message);
    Err(Error { field: field.map(str::to_owned), value: Some(name.to_owned()), ..error })
}

/// Returns the data of a chain that no source brought, in words.
#[must_use]
pub fn lacking(chain: Chain, coverage: &Coverage) -> Vec<&'static str> {
    let words = |table| match table {
        CoverageTable::Traces => "internal transfers of the native coin",
        CoverageTable::TokenTransfers => "token transfers",
        CoverageTable::Receipts => "status and fees of transactions",
        _ => "rows of another table",
    };
    coverage.missing(chain).map(words).collect()
}

/// The maximum number of ranges of one list. Counts are of all.
const MAX_RANGES: usize = 100;

/// Blocks, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct BlockRange {
    /// The first block.
    pub from_block: u64,
    /// The last block.
    pub to_block: u64,
}

/// The blocks of which a chain holds one kind of data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct HeldBlocks {
    /// `blocks`, `transactions`, `receipts`, `token_transfers`, `logs` or `traces`.
    pub kind: CoverageKind,
    /// Complete ranges of blocks, in order; at most 100.
    pub ranges: Vec<BlockRange>,
    /// Number of blocks in all complete ranges.
    pub blocks: u64,
    /// Ranges that are missing between the first and the last block that is held of the chain; at most 100.
    pub gaps: Vec<BlockRange>,
    /// Number of blocks in all gaps.
    pub missing_blocks: u64,
    /// Complete ranges that were not verified against the hashes of their blocks, as `ingest --rpc` does; at most 100.
    /// Traces never are: no hash covers them.
    pub unverified: Vec<BlockRange>,
    /// Number of blocks in all unverified ranges.
    pub unverified_blocks: u64,
}

/// Returns the blocks that are held of a chain, by kind of data. Kinds of which no range is complete are left out.
#[must_use]
pub fn held_blocks(chain: Chain, coverage: &Coverage) -> Vec<HeldBlocks> {
    let shown = |ranges: &[(u64, u64)]| -> Vec<BlockRange> {
        let first = ranges.iter().take(MAX_RANGES);
        first.map(|&(from_block, to_block)| BlockRange { from_block, to_block }).collect()
    };
    let kinds = CoverageKind::ALL.into_iter().filter(|kind| Coverage::tables(chain).contains(&kind.table()));
    let held = kinds.filter(|kind| !coverage.ranges_of(kind.table()).is_empty()).map(|kind| {
        let ranges = coverage.ranges_of(kind.table());
        let (gaps, unverified) = (coverage.gaps(chain, kind.table()), coverage.unverified(kind.table()));
        HeldBlocks {
            kind,
            ranges: shown(ranges),
            blocks: count(ranges),
            gaps: shown(&gaps),
            missing_blocks: count(&gaps),
            unverified: shown(&unverified),
            unverified_blocks: count(&unverified),
        }
    });
    held.collect()
}

fn count(ranges: &[(u64, u64)]) -> u64 {
    ranges.iter().map(|(first, last)| (last - first).saturating_add(1)).fold(0, u64::saturating_add)
}

/// Warns of what the answer leaves out: what no source claims to have brought, and blocks that are missing within the
/// window of the query.
pub(crate) fn warn(ledger: &dyn Ledger, chain: Chain, window: TimeWindow, warnings: &mut Warnings) {
    let Some(coverage) = ledger.coverage().get(&chain).filter(|coverage| coverage.transactions > 0) else {
        warnings.add(
            "no_data",
            None,
            format!("the store has no data of {chain}: an empty answer says nothing about the chain"),
        );
        return;
    };
    if coverage.approximate > 0 {
        let message = format!(
            "{} amounts of {chain} come from a source that rounds them to doubles: they are flagged `approximate`, and in \
             no balance",
            coverage.approximate
        );
        warnings.add("approximate_amounts", None, message);
    }
    for words in lacking(chain, coverage) {
        let message = format!("no loaded source of {chain} covers {words} completely: the answer may lack some");
        warnings.add("partial_data", None, message);
    }
    warn_of_gaps(ledger, chain, coverage, window, warnings);
}

/// Kinds of data that lack the same blocks.
struct Lacking {
    ranges: Vec<(u64, u64)>,
    kinds: Vec<&'static str>,
}

/// Warns of blocks of which some kinds of data are missing, as far as the window touches them: once for kinds that lack the
/// same blocks.
fn warn_of_gaps(ledger: &dyn Ledger, chain: Chain, coverage: &Coverage, window: TimeWindow, warnings: &mut Warnings) {
    let mut lacking: Vec<Lacking> = Vec::new();
    for table in CoverageKind::ALL.map(CoverageKind::table) {
        let gaps = coverage.gaps(chain, table);
        let touched = &gaps[touched(ledger, chain, &gaps, window)];
        match lacking.iter_mut().find(|other| other.ranges == touched) {
            _ if touched.is_empty() => {}
            Some(other) => other.kinds.push(table.words()),
            None => lacking.push(Lacking { ranges: touched.to_vec(), kinds: vec![table.words()] }),
        }
    }
    let Some(first) = lacking.iter().filter_map(|kinds| kinds.ranges.first()).min() else { return };
    let part = |Lacking { ranges, kinds }: &Lacking| {
        let (first, last) = ranges[0];
        let others = match ranges.len() - 1 {
            0 => String::new(),
            1 => " and of 1 other range".to_owned(),
            more => format!(" and of {more} other ranges"),
        };
        format!("{} of blocks {first} to {last}{others}", kinds.join(", "))
    };
    let parts: Vec<String> = lacking.iter().map(part).collect();
    let message = format!(
        "the store lacks for {chain}: {}. The answer may lack what happened there; `headwater ingest` of these blocks, from \
         files or with `--rpc URL --from {} --to {}`, fills the gap",
        parts.join("; "),
        first.0,
        first.1,
    );
    warnings.add_counted("gap", message, lacking.iter().map(|kinds| kinds.ranges.len() as u64).sum());
}

/// Returns the places of the gaps that may hold blocks of a window: those between the ones that end before it and the ones
/// that begin after it. A gap whose ends have no known time may hold some.
fn touched(ledger: &dyn Ledger, chain: Chain, gaps: &[(u64, u64)], window: TimeWindow) -> Range<usize> {
    if window == TimeWindow::ALL {
        return 0..gaps.len();
    }
    let time = |number: Option<u64>| ledger.block(chain, number?).ok()?.map(|block| block.time);
    let is_over = |gap: &(u64, u64)| {
        let after = time(gap.1.checked_add(1));
        after.is_some_and(|after| window.start().is_some_and(|start| after < start))
    };
    let is_to_come = |gap: &(u64, u64)| {
        let before = time(gap.0.checked_sub(1));
        before.is_some_and(|before| window.end().is_some_and(|end| before > end))
    };
    let first = gaps.partition_point(is_over);
    let end = gaps.partition_point(|gap| !is_to_come(gap));
    first..end.max(first)
}
