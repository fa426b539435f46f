//! The query engine that all interfaces share: a request as a client writes it goes in, a report comes out.
//!
//! One file per endpoint under [`endpoints`]. Each turns its serde request into checked parameters (the only
//! validation there is), reads through [`headwater_ledger::Ledger`], and returns plain data that serialises to the
//! `data` of an answer. HTTP, Python and the command line only translate.
#![forbid(unsafe_code)]

pub mod endpoints;
pub mod events;
pub mod example;
pub mod fields;

mod address_chains;
mod analysis;
mod asset_book;
mod balances;
mod behaviours;
mod calendar;
mod chain_scope;
mod clusters;
mod columns;
mod core_prices_end;
mod cost_class;
mod counterparty_row;
mod coverage;
mod crossings;
mod description;
mod disputes;
mod edge_groups;
mod endpoint;
mod error;
mod flows;
mod holdings;
mod labels;
mod limits;
mod method;
mod movement_reader;
mod overflow;
mod pricing;
mod purposes;
mod query_engine;
mod query_meta;
mod ranking;
mod rebasing;
mod request;
mod response;
pub mod risk;
mod rows;
mod scope;
pub mod score;
mod table;
pub mod trace;
mod transaction_places;
mod unverified;
mod utxo_pairs;
mod valuation;

pub use analysis::{Analysis, List};
pub use asset_book::{AssetBook, AssetView};
pub use columns::{Column, ColumnKind, columns};
pub use cost_class::CostClass;
pub use counterparty_row::{BelowCutoff, CounterpartyAsset, CounterpartyRow};
pub use coverage::{BlockRange, CoverageKind, HeldBlocks, held_blocks, lacking};
pub use crossings::{CrossChainTransfer, CrossingMatch, CrossingStatus};
pub use description::{Description, Written, record, require_either};
pub use disputes::{ClaimDisputeRequest, DisputeRecord, MAX_LISTED, list_disputes, record_dispute};
pub use endpoint::{
    Alternative, Calls, ChainScope, ChainsRead, Clock, Endpoint, Example, ListedChains, Query, Reads, ReportRows, Tag,
};
pub use endpoints::{ENDPOINTS, endpoint};
/// A row of a list, or a report, whatever its type: anything that serialises.
pub use erased_serde::Serialize as AnyRow;
pub use error::{Details, Error, ErrorKind, Reason};
/// The classifiers, which an operator may replace.
pub use headwater_intel::classify::{Classifier, Classifiers, ModelError};
pub use headwater_intel::risk::{ClaimProvider, Intelligence};
/// The parameters of the risk score, which an operator may replace.
pub use headwater_intel::risk::{ParameterError as RiskParameterError, Parameters as RiskParameters};
pub use labels::{ClaimDispute, InheritedThrough, LabelListRecord, old_sanctions};
pub use method::Method;
pub use pricing::Pricing;
pub use query_engine::{QueryEngine, Shape};
pub use query_meta::{MovementSource, QueryMeta};
pub use request::{
    Arguments, CanonicalText, Checks, Crossing, DirectionFilter, GroupBy, HistoryUnit, Offsets, PageInfo, RankingSort,
    Sign, SortOrder, ThirdParty, TransactionSort, TransferSort, Warnings, decode,
};
pub use response::{Answer, AnyReport, Pagination, Response, Warning};
pub use rows::{Excluded, MovementSigns, TransferRow, status_name, transfer_type};
pub use scope::{Bound, FilterCriteria};
pub use table::{Rows, SinkClosed, TableHead, TableSink};
