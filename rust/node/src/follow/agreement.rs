//! The newest block and the hashes on which providers agree.

use std::collections::BTreeMap;

use headwater_types::BlockHash;

use super::Follower;
use crate::error::{CallError, FetchError, NodeError};
use crate::heads::MAX_HEAD;
use crate::source::{NodeHeads, Source};
use crate::transport::Provider;

impl Follower<'_> {
    /// Returns the heads that at least half of the answering providers have reached, rounded up: of two the one that is
    /// behind decides.
    pub(super) fn heads(&self, source: &dyn Source) -> Result<NodeHeads, NodeError> {
        let from = self.options.from.unwrap_or(0);
        let ask = |provider: &Provider| {
            self.check(source, provider)?;
            match source.heads(provider, self.cancel)? {
                heads if heads.newest <= MAX_HEAD => Ok(heads),
                heads => Err(FetchError::Call(CallError::Malformed(format!("the newest block {}", heads.newest)))),
            }
        };
        let answers = self.providers.ask_each((from, from), ask)?;
        let mut heads: Vec<NodeHeads> = answers.into_iter().map(|(heads, _)| heads).collect();
        let middle = (heads.len() - 1) / 2;
        heads.sort_unstable_by_key(|heads| heads.newest_final);
        let newest_final = heads[middle].newest_final;
        heads.sort_unstable_by_key(|heads| heads.newest);
        let agreed = heads[middle];
        // With several providers no single one decides which block it is.
        let hash = agreed.hash.filter(|_| heads.iter().all(|heads| heads.hash == agreed.hash));
        Ok(NodeHeads { newest: agreed.newest, hash, newest_final: newest_final.min(agreed.newest) })
    }

    /// Checks once that a provider is of the chain.
    fn check(&self, source: &dyn Source, provider: &Provider) -> Result<(), FetchError> {
        provider.check_once(|| source.check_chain(provider, self.cancel))
    }

    /// Returns the hashes of blocks that more than half of those providers state which answer and have the block; `None` of blocks that
    /// none of them has.
    pub(super) fn hashes(&self, source: &dyn Source, numbers: &[u64]) -> Result<Vec<Option<BlockHash>>, NodeError> {
        let (Some(first), Some(last)) = (numbers.iter().min(), numbers.iter().max()) else { return Ok(Vec::new()) };
        let answers = self.providers.ask_each((*first, *last), |provider| {
            self.check(source, provider)?;
            Ok(source.hashes(provider, numbers, self.cancel)?)
        })?;
        let agreed = |(place, number): (usize, &u64)| {
            let mut votes: BTreeMap<BlockHash, Vec<&str>> = BTreeMap::new();
            for (hashes, provider) in &answers {
                if let Some(hash) = hashes.get(place).copied().flatten() {
                    votes.entry(hash).or_default().push(provider);
                }
            }
            let voters: usize = votes.values().map(Vec::len).sum();
            let found = votes.iter().max_by_key(|(_, names)| names.len());
            match found {
                Some((hash, names)) if names.len() * 2 > voters => Ok(Some(*hash)),
                None => Ok(None),
                Some(_) => {
                    let family = self.options.chain.family();
                    let stated =
                        votes.iter().map(|(hash, names)| format!("{} by {}", hash.display(family), names.join(", ")));
                    Err(NodeError::Disagreement { block: *number, hashes: stated.collect() })
                }
            }
        };
        numbers.iter().enumerate().map(agreed).collect()
    }
}
