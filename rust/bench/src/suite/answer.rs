//! Questions and answers, in the words of the generator: ids of accounts and tokens, amounts modulo 2^128.
//!
//! No peer holds integers above 2^127 exactly in the types it computes with, so peers are given those amounts modulo
//! 2^128 (their best case), and sums are compared modulo 2^128.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A question about one account, or about all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case")]
pub enum Query {
    /// The newest 100 postings.
    Page {
        /// The account.
        account: u32,
    },
    /// The newest 100 postings at or before a second: a page in the middle of a long list.
    DeepPage {
        /// The account.
        account: u32,
        /// The last second.
        until: u32,
    },
    /// The newest 100 postings of one token in a window.
    Filter {
        /// The account.
        account: u32,
        /// The token.
        token: u8,
        /// First second.
        since: u32,
        /// Last second.
        until: u32,
    },
    /// The 20 counterparties with most postings; transfers to oneself have none.
    Count {
        /// The account.
        account: u32,
    },
    /// Per counterparty and token: count, exact sum, first and last time; the 20 with most postings.
    Full {
        /// The account.
        account: u32,
    },
    /// The same inside a window.
    Windowed {
        /// The account.
        account: u32,
        /// First second.
        since: u32,
        /// Last second.
        until: u32,
    },
    /// Three hops along the strongest `cap` outgoing edges of each node.
    Trace {
        /// From whom.
        account: u32,
        /// Edges per node.
        cap: u32,
    },
    /// The 100 accounts that hold most of a token.
    Holders {
        /// The token.
        token: u8,
    },
    /// Sum, Herfindahl index, share of the largest thousand, Gini coefficient of five million balances.
    Concentration,
    /// Received less sent of every account and token.
    Balances,
    /// All features of every account.
    Features,
}

impl Query {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page { .. } => "page",
            Self::DeepPage { .. } => "deep page",
            Self::Filter { .. } => "filter",
            Self::Count { .. } => "count",
            Self::Full { .. } => "full",
            Self::Windowed { .. } => "full, windowed",
            Self::Trace { cap: 0..=10, .. } => "trace, cap 10",
            Self::Trace { cap: 11..=50, .. } => "trace, cap 50",
            Self::Trace { .. } => "trace, cap 200",
            Self::Holders { .. } => "holders",
            Self::Concentration => "concentration",
            Self::Balances => "balances",
            Self::Features => "features",
        }
    }

    /// The account asked about; 0 for questions about all.
    #[must_use]
    pub const fn account(self) -> u32 {
        match self {
            Self::Page { account }
            | Self::DeepPage { account, .. }
            | Self::Filter { account, .. }
            | Self::Count { account }
            | Self::Full { account }
            | Self::Windowed { account, .. }
            | Self::Trace { account, .. } => account,
            Self::Holders { .. } | Self::Concentration | Self::Balances | Self::Features => 0,
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A posting: second, other account, token, direction (0 in, 1 out, 2 to itself), amount modulo 2^128.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row(pub u32, pub u32, pub u8, pub u8, #[serde(with = "decimal")] pub u128);

/// A group: other account, token (255 for all), count, sum modulo 2^128, first and last second (0 where not asked).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group(pub u32, pub u8, pub u64, #[serde(with = "decimal")] pub u128, pub u32, pub u32);

/// A holder: account, balance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder(pub u32, #[serde(with = "decimal")] pub u128);

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Postings, newest first.
    Rows(Vec<Row>),
    /// Groups, largest count first; ties in any order.
    Groups(Vec<Group>),
    /// Accounts that a trace reached, in order, with the amount that reached each.
    Reached(Vec<(u32, f64)>),
    /// The same where what leaves an account is divided equally, as edges without a price weigh the same.
    ReachedEqually(Vec<(u32, f64)>),
    /// Holders, largest balance first, then by account.
    Holders(Vec<Holder>),
    /// Figures about balances.
    Concentration {
        /// The exact sum, as decimal text.
        sum: String,
        /// Share of the largest thousand.
        top: f64,
        /// Herfindahl-Hirschman index.
        hhi: f64,
        /// Gini coefficient.
        gini: f64,
    },
    /// Number of (account, token) groups, and the groups of a few accounts: account, token, balance modulo 2^128.
    Balances(u64, Vec<(u32, u8, String)>),
    /// Number of accounts, and the sum of each feature over those that have it, by the name of the feature.
    Features(u64, BTreeMap<String, f64>),
}

mod decimal {
    //! 128 bits as text: JSON has no number for them.
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}
