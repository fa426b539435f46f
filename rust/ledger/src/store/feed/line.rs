//! An item of the feed as text: in the manifest, and as a line of a run.

use headwater_types::{BlockHash, Chain, Family, Timestamp};
use serde::{Deserialize, Serialize};

use crate::feed::{FeedItem, ItemKind};

/// An item; `S` names the segments of its rows.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ItemEntry<S> {
    position: u64,
    chain: Chain,
    number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    time: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    removed: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    adoption: u32,
    head: u64,
    /// The version of an import of labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<u64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rolled_back: bool,
    pub(super) made: i64,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<S>,
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub(super) before: Option<S>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl<S> ItemEntry<S> {
    pub(super) fn of(item: &FeedItem, made: i64, rows: Option<S>, before: Option<S>) -> Self {
        let (labels, rolled_back) = match item.kind {
            ItemKind::Block => (None, false),
            ItemKind::Labels { version, is_rolled_back } => (Some(version), is_rolled_back),
        };
        Self {
            position: item.position,
            chain: item.chain,
            number: item.number,
            hash: item.hash.map(|hash| hash.display(Family::Utxo)),
            time: item.time.secs(),
            removed: item.removed,
            adoption: item.adoption,
            head: item.head,
            labels,
            rolled_back,
            made,
            rows,
            before,
        }
    }

    /// The item, or what is wrong with it.
    pub(super) fn item(&self) -> std::result::Result<FeedItem, String> {
        let hash = self.hash.as_ref().map(|text| BlockHash::parse(Family::Utxo, text));
        Ok(FeedItem {
            position: self.position,
            chain: self.chain,
            number: self.number,
            hash: hash.transpose().map_err(|error| error.to_string())?,
            time: Timestamp::new(self.time),
            removed: self.removed,
            adoption: self.adoption,
            head: self.head,
            kind: match self.labels {
                None => ItemKind::Block,
                Some(version) => ItemKind::Labels { version, is_rolled_back: self.rolled_back },
            },
        })
    }
}
