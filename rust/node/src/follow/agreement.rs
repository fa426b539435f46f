//! The newest block and the hashes on which providers agree.

use std::collections::{BTreeMap, BTreeSet};

use headwater_types::{BlockHash, Family};

use super::Follower;
use crate::error::{CallError, FetchError, NodeError};
use crate::heads::MAX_HEAD;
use crate::source::{NodeHeads, Source};
use crate::transport::Provider;

/// The newest blocks on which the nodes agree.
pub(super) struct AgreedHeads {
    pub heads: NodeHeads,
    /// The node that holds them back, where others are far ahead.
    pub slow: Option<String>,
}

impl Follower<'_> {
    /// Returns the heads that at least half of the answering providers have reached, rounded up: of two the one that is
    /// behind decides.
    pub(super) fn heads(&self, source: &dyn Source) -> Result<AgreedHeads, NodeError> {
        let ask = |provider: &Provider| {
            let provider = provider.brief();
            self.check(source, &provider)?;
            match source.heads(&provider, self.cancel)? {
                heads if heads.newest <= MAX_HEAD => Ok(heads),
                heads => Err(FetchError::Call(CallError::Malformed(format!("the newest block {}", heads.newest)))),
            }
        };
        let answers = self.providers.ask_each(ask)?;
        let newest = answers.iter().map(|(heads, _)| heads.newest).max().unwrap_or(0);
        let is_behind = |heads: &NodeHeads| heads.newest.saturating_add(self.lag_limit()) < newest;
        let behind =
            answers.iter().find(|(heads, _)| is_behind(heads)).map(|(heads, name)| (name, newest - heads.newest));
        let behind = behind.map(|(name, blocks)| format!("{name} is {blocks} blocks behind the others"));
        self.note_nodes(&answers.iter().map(|(_, name)| name.as_str()).collect());
        let mut heads: Vec<NodeHeads> = answers.into_iter().map(|(heads, _)| heads).collect();
        let middle = (heads.len() - 1) / 2;
        heads.sort_unstable_by_key(|heads| heads.newest_final);
        let newest_final = heads[middle].newest_final;
        heads.sort_unstable_by_key(|heads| heads.newest);
        let agreed = heads[middle];
        // With several providers no single one decides which block it is.
        let hash = agreed.hash.filter(|_| heads.iter().all(|heads| heads.hash == agreed.hash));
        let agreed = NodeHeads { newest: agreed.newest, hash, newest_final: newest_final.min(agreed.newest) };
        Ok(AgreedHeads {
            heads: agreed,
            slow: behind.filter(|_| agreed.newest.saturating_add(self.lag_limit()) < newest),
        })
    }

    /// Returns the number of blocks by which a node may be behind without a word.
    pub(super) fn lag_limit(&self) -> u64 {
        match self.options.chain.family() {
            Family::Utxo => 2,
            Family::Evm | Family::Tron => 16,
        }
    }

    /// Reports nodes that no longer answer, and those that answer again.
    fn note_nodes(&self, answering: &BTreeSet<&str>) {
        let mut silent = self.silent.lock().expect("no holder of the lock panics");
        for provider in self.providers.all() {
            let name = provider.name();
            if answering.contains(name) {
                if silent.remove(name) {
                    self.progress.note(&format!("{name} answers again"));
                }
            } else if let Some(reason) = provider.card().aside
                && silent.insert(name.to_owned())
            {
                let (asked, all) = (answering.len(), self.providers.all().len());
                self.progress.note(&format!("{name} is not counted: {reason}; {asked} of {all} nodes answer"));
            }
        }
        drop(silent);
    }

    /// Checks once that a provider is of the chain.
    fn check(&self, source: &dyn Source, provider: &Provider) -> Result<(), FetchError> {
        provider.check_once(|| source.check_chain(provider, self.cancel))
    }

    /// Returns the hashes of blocks that more than half of those providers state which answer and have the block; `None` of blocks that
    /// none of them has.
    pub(super) fn hashes(&self, source: &dyn Source, numbers: &[u64]) -> Result<Vec<Option<BlockHash>>, NodeError> {
        let answers = self.providers.ask_each(|provider| {
            let provider = provider.brief();
            self.check(source, &provider)?;
            Ok(source.hashes(&provider, numbers, self.cancel)?)
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
