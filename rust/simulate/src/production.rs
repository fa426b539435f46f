//! The making of an economy, slice of time by slice of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use headwater_ledger::facts::Batch;
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_types::Chain;

use crate::actors::{self, Actor};
use crate::book::Mention;
use crate::clock::{DAY, START};
use crate::highlights::{Highlight, Spotter};
use crate::labels::{LabelList, PublicLists};
use crate::preset::Preset;
use crate::tokens::Token;
use crate::truth::{AddressTruth, ChangeOutput, ClusterMember, Role, Truth};
use crate::world::{ACCOUNT_CHAINS, World};

/// Addresses of one slice of the closing.
const CLOSING_ADDRESSES: usize = 65_536;

/// The facts that became known between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct Slice {
    /// Days that are done.
    pub days: i64,
    /// The next blocks of some of the chains; each batch is one commit, and those of a chain follow each other.
    pub batches: Vec<Batch>,
    /// The ground truth. Addresses, clusters and labels come behind the last blocks.
    pub truth: Truth,
}

/// Makes an economy. It yields slice after slice and never holds more of the chains than a few batches; what it keeps
/// is who there is and what they have.
///
/// One thread does all of it, in order of time, so that the same preset and seed give the same slices.
pub struct Production {
    world: World,
    actors: Vec<Option<Box<dyn Actor>>>,
    /// The actors to wake: by time, then by place in the list.
    wakes: BinaryHeap<Reverse<(i64, usize)>>,
    days: i64,
    known_tokens: [usize; ACCOUNT_CHAINS.len()],
    closing: Option<ClosingTruth>,
    spotter: Spotter,
}

/// The results of an economy when it is over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Addresses worth looking at.
    pub highlights: Vec<Highlight>,
    /// The public lists, in the order in which they are to be imported.
    pub lists: Vec<LabelList>,
}

/// The truth that is still to be handed out when the last block is made.
struct ClosingTruth {
    addresses: std::vec::IntoIter<(Chain, Mention)>,
    /// The number of bitcoin wallets handed out.
    wallets: usize,
    lists: PublicLists,
}

/// The token registry and the daily prices of an economy, which are known before anything happens.
pub(crate) fn registry(preset: Preset, seed: u64) -> (Vec<TokenListing>, Vec<PricePoint>) {
    let world = World::new(preset, seed);
    (world.listings(), world.market.points())
}

impl Production {
    /// Prepares an economy: everybody is there, nothing has happened.
    #[must_use]
    pub fn new(preset: Preset, seed: u64) -> Self {
        let mut world = World::new(preset, seed);
        let mut production = Self {
            actors: Vec::new(),
            wakes: BinaryHeap::new(),
            days: 0,
            known_tokens: [0; ACCOUNT_CHAINS.len()],
            closing: None,
            spotter: Spotter::new(&world.listings(), &world.market.points()),
            world: {
                let actors = actors::all(&mut world);
                for actor in actors {
                    world.join(actor);
                }
                world
            },
        };
        production.admit();
        production
    }

    /// The token registry: only tokens that are what they say.
    #[must_use]
    pub fn tokens(&self) -> Vec<TokenListing> {
        self.world.listings()
    }

    /// Daily prices, from the day before the first on.
    #[must_use]
    pub fn prices(&self) -> Vec<PricePoint> {
        self.world.market.points()
    }

    /// Returns the results at the end: complete when all slices were taken.
    #[must_use]
    pub fn finish(self) -> Outcome {
        let lists = self.closing.map_or_else(Vec::new, |closing| closing.lists.publish());
        Outcome { highlights: self.spotter.highlights(), lists }
    }

    /// Gives those who joined a place and their first wake.
    fn admit(&mut self) {
        for actor in self.world.take_joining() {
            self.wakes.push(Reverse((actor.first_wake(), self.actors.len())));
            self.actors.push(Some(actor));
        }
    }

    /// Lets everybody live until a time.
    fn live(&mut self, until: i64) {
        while let Some(&Reverse((now, place))) = self.wakes.peek() {
            if now >= until {
                break;
            }
            self.wakes.pop();
            let Some(actor) = &mut self.actors[place] else { continue };
            match actor.wake(&mut self.world, now) {
                Some(next) => self.wakes.push(Reverse((next.max(now + 1), place))),
                None => self.actors[place] = None,
            }
            self.admit();
        }
    }

    /// The blocks before a time, of the chains that have enough for a commit; at the end of all.
    fn batches(&mut self, until: i64) -> Vec<Batch> {
        let last = until == i64::MAX;
        let enough = self.world.preset.batch_transactions();
        let mut batches = Vec::new();
        if last || self.world.bitcoin.waiting() >= enough {
            batches.extend(self.world.bitcoin.close(until));
        }
        for (place, chain) in ACCOUNT_CHAINS.into_iter().enumerate() {
            if !last && self.world.book(chain).waiting() < enough {
                continue;
            }
            if let Some(mut batch) = self.world.book(chain).close(until) {
                let new = &self.world.tokens[self.known_tokens[place]..];
                batch.tokens = new.iter().filter(|token| token.chain == chain).map(Token::facts).collect();
                self.known_tokens[place] = self.world.tokens.len();
                batches.push(batch);
            }
        }
        batches.sort_by_key(|batch| batch.chain);
        batches
    }

    fn take_truth(&mut self) -> Truth {
        let mut truth = std::mem::take(&mut self.world.truth);
        let changes = self.world.bitcoin.take_changes();
        truth.change_outputs =
            changes.into_iter().map(|(hash, output_index)| ChangeOutput { hash, output_index }).collect();
        let world = &self.world;
        self.spotter.see_truth(&truth, &|address| matches!(world.who(address), Some((Role::Person, _))));
        truth
    }

    /// The next day, or as many as it takes to fill a batch.
    fn next_days(&mut self) -> Slice {
        let preset = self.world.preset;
        let mut batches = Vec::new();
        while self.days < preset.days() && batches.is_empty() {
            self.days += 1;
            let last = self.days == preset.days();
            let until = START + self.days * DAY;
            self.live(if last { self.world.end() + 1 } else { until });
            self.world.bitcoin.advance(until);
            batches = self.batches(if last { i64::MAX } else { until });
        }
        let mut truth = self.take_truth();
        if self.days == preset.days() {
            truth.prices = self.world.market.truth();
            truth.true_balances.extend(self.world.destroyed_balances());
            self.closing = Some(self.close());
        }
        Slice { days: self.days, batches, truth }
    }

    fn close(&mut self) -> ClosingTruth {
        let mut addresses = Vec::new();
        for chain in Chain::all() {
            let named = if ACCOUNT_CHAINS.contains(&chain) {
                self.world.book(chain).mentions()
            } else {
                self.world.bitcoin.mentions()
            };
            addresses.extend(named.into_iter().map(|mention| (chain, mention)));
        }
        addresses.sort_by_key(|&(chain, ..)| chain);
        self.actors = Vec::new();
        let lists = PublicLists::new(&self.world, &addresses);
        ClosingTruth { addresses: addresses.into_iter(), wallets: 0, lists }
    }

    /// The next addresses of the closing.
    fn next_addresses(&mut self) -> Option<Slice> {
        let closing = self.closing.as_mut()?;
        let named: Vec<_> = closing.addresses.by_ref().take(CLOSING_ADDRESSES).collect();
        let wallets = self.world.bitcoin.wallets(closing.wallets, CLOSING_ADDRESSES);
        closing.wallets += CLOSING_ADDRESSES;
        if named.is_empty() && wallets.is_none() {
            return None;
        }
        let mut truth = Truth { wallets: wallets.unwrap_or_default(), ..Truth::default() };
        for (chain, mention) in named {
            let address = mention.address;
            let holder = self.world.bitcoin.holder(&address);
            if let Some(holder) = holder {
                truth.clusters.push(ClusterMember { address, wallet: holder.wallet.clone() });
            }
            let Some((role, owner)) = self.world.who(&address) else { continue };
            let row = AddressTruth { chain, address, role, owner: owner.to_owned() };
            let first = truth.labels.len();
            closing.lists.claims(&row, mention.since_secs(), &mut truth.labels);
            self.spotter.see_address(&row, mention.count, &truth.labels[first..]);
            truth.addresses.push(row);
        }
        Some(Slice { days: self.days, batches: Vec::new(), truth })
    }
}

impl Iterator for Production {
    type Item = Slice;

    fn next(&mut self) -> Option<Slice> {
        if self.closing.is_none() { Some(self.next_days()) } else { self.next_addresses() }
    }
}
