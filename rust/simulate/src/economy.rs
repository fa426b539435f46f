//! The whole economy as facts, and the truth in its final order.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::facts::{Batch, TransactionFacts};
use headwater_ledger::market::{PricePoint, TokenListing};
use headwater_types::{Address, Chain};

use crate::actors;
use crate::book::Ending;
use crate::labels::public_labels;
use crate::preset::Preset;
use crate::tokens::Token;
use crate::truth::{AddressTruth, ChangeOutput, ClusterMember, Role, Truth};
use crate::world::{ACCOUNT_CHAINS, World};

/// All that there is to know of an economy.
#[derive(Debug, Clone, PartialEq)]
pub struct Economy {
    /// The chains, in order of chain and block; each batch is one commit.
    pub batches: Vec<Batch>,
    /// The token registry: only tokens that are what they say.
    pub tokens: Vec<TokenListing>,
    /// Daily prices, from the day before the first on.
    pub prices: Vec<PricePoint>,
    /// What is really so.
    pub truth: Truth,
}

/// Makes the economy of a seed. Pure: the same preset and seed give equal facts, whatever the machine's load.
///
/// Takes about a second and 150 MB for [`Preset::Demo`].
#[must_use]
pub fn economy(preset: Preset, seed: u64) -> Economy {
    let mut world = World::new(preset, seed);
    let mut actors = actors::all(&mut world);
    world.run(&mut actors);

    let mut truth = std::mem::take(&mut world.truth);
    let mut roles = std::mem::take(&mut world.roles);
    let tokens = std::mem::take(&mut world.tokens);
    let prices = world.market.points();
    let (books, bitcoin) = world.into_books();

    let Ending { mut batches, changes, owners } = bitcoin.finish();
    for (address, holder) in owners {
        roles.entry(address).or_insert((holder.role, holder.owner));
        truth.clusters.push(ClusterMember { address, wallet: holder.wallet });
    }
    truth.change_outputs =
        changes.into_iter().map(|(hash, output_index)| ChangeOutput { hash, output_index }).collect();
    for (chain, book) in ACCOUNT_CHAINS.into_iter().zip(books) {
        let mut chain_batches = book.into_batches();
        if let Some(first) = chain_batches.first_mut() {
            first.tokens = tokens.iter().filter(|token| token.chain == chain).map(Token::facts).collect();
        }
        batches.extend(chain_batches);
    }
    batches.sort_by_key(|batch| batch.chain);

    let occurring = addresses(&batches);
    truth.clusters.retain(|member| occurring.contains(&(Chain::BITCOIN, member.address)));
    truth.addresses = with_roles(occurring, &roles);
    truth.cases.sort_by(|left, right| (&left.case, left.step).cmp(&(&right.case, right.step)));
    truth.bridge_transfers.sort_by_key(|transfer| transfer.id);
    truth.mixer_links.sort_by_key(|link| (link.chain, link.deposit));
    truth.clusters.sort_unstable();
    truth.labels = public_labels(seed, &truth.addresses);
    Economy { batches, tokens: tokens.iter().filter_map(Token::listing).collect(), prices, truth }
}

/// Every address that occurs on a chain.
fn addresses(batches: &[Batch]) -> BTreeSet<(Chain, Address)> {
    let mut seen = BTreeSet::new();
    for batch in batches {
        let chain = batch.chain;
        let mut see = |address: Option<Address>| seen.extend(address.map(|address| (chain, address)));
        batch.contracts.iter().for_each(|contract| see(Some(*contract)));
        for transaction in &batch.transactions {
            addresses_of(transaction, &mut see);
        }
    }
    seen
}

fn addresses_of(transaction: &TransactionFacts, see: &mut impl FnMut(Option<Address>)) {
    see(transaction.created);
    if let Some(body) = &transaction.body {
        see(body.from);
        see(body.to);
    }
    for movement in &transaction.movements {
        see(movement.from);
        see(movement.to);
        see(movement.asset.contract().copied());
    }
    for log in &transaction.logs {
        see(Some(log.address));
    }
    if let Some(utxo) = &transaction.utxo {
        utxo.outputs.iter().for_each(|output| see(output.owner));
    }
}

fn with_roles(seen: BTreeSet<(Chain, Address)>, roles: &BTreeMap<Address, (Role, String)>) -> Vec<AddressTruth> {
    let row = |(chain, address): (Chain, Address)| {
        let (role, owner) = roles.get(&address)?.clone();
        Some(AddressTruth { chain, address, role, owner })
    };
    seen.into_iter().filter_map(row).collect()
}
