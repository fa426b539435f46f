//! Blocks in any order, put in their places: linked by parent hash, the branch of most work wins.

use std::collections::HashMap;

use headwater_types::{BlockHash, Network};
use ruint::aliases::U256;

/// First blocks of the networks: main, testnet3, testnet4, signet (also of custom ones), regtest.
const GENESIS: [(Network, &str); 5] = [
    (Network::Mainnet, "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f"),
    (Network::Testnet, "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943"),
    (Network::Testnet, "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043"),
    (Network::Signet, "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6"),
    (Network::Regtest, "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"),
];

/// The network that a block is the first of; `None` for every other block.
#[must_use]
pub fn genesis_of(hash: &BlockHash) -> Option<Network> {
    let text = hex::encode(hash.as_bytes());
    GENESIS.iter().find(|(_, genesis)| *genesis == text).map(|(network, _)| *network)
}

/// The properties of a block before it is placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The block.
    pub hash: BlockHash,
    /// Its parent.
    pub parent: BlockHash,
    /// Expected work to find it.
    pub work: U256,
    /// Height that its coinbase states (BIP 34).
    pub stated: Option<u64>,
    /// Height that the name of its file gives.
    pub named: Option<u64>,
}

/// The place of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// On the chain, at this height.
    Main(u64),
    /// On a branch that lost; its height where that is known.
    Stale(Option<u64>),
    /// The same block stands in the list already.
    Repeated,
    /// Its height has no source.
    Unknown,
}

/// The part of the chain that is held already.
pub trait Held {
    /// The error of a look-up.
    type Error;

    /// The block held at a height.
    ///
    /// # Errors
    /// When it cannot be looked up.
    fn hash_at(&self, height: u64) -> Result<Option<BlockHash>, Self::Error>;

    /// Returns the height of a block that is held. May be slow: it is called only when a height has no other source.
    ///
    /// # Errors
    /// When it cannot be looked up.
    fn height_of(&self, hash: &BlockHash) -> Result<Option<u64>, Self::Error>;
}

/// Places blocks, in whatever order they come: one seat per link.
///
/// Blocks linked by parent hash form trees. In a tree the branch of most work is the chain and the rest is stale; of
/// two branches of equal work the tip of lower hash wins, since files do not state which one nodes saw first.
///
/// The height of a tree is known at the first block of a chain and above that of a network; else it is what coinbases
/// of its chain state (the last one that does: nodes check them only since BIP 34), else one above a parent that is
/// held, else what a file is named. Trees that cannot both be on one chain, because they share heights or touch without
/// being linked, are settled by work too, and a tree whose parent is not the block held below it is stale.
///
/// Time and memory are linear in the number of blocks.
///
/// # Errors
/// When `held` cannot be read.
pub fn place<H: Held>(links: &[Link], held: &H) -> Result<Vec<Seat>, H::Error> {
    let mut first = HashMap::with_capacity(links.len());
    for (number, link) in links.iter().enumerate() {
        first.entry(link.hash).or_insert(number);
    }
    let mut seats = vec![Seat::Unknown; links.len()];
    let mut children: HashMap<BlockHash, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (number, link) in links.iter().enumerate() {
        if first[&link.hash] != number {
            seats[number] = Seat::Repeated;
        } else if first.contains_key(&link.parent) {
            children.entry(link.parent).or_default().push(number);
        } else {
            roots.push(number);
        }
    }
    let mut trees = Vec::with_capacity(roots.len());
    for root in roots {
        let mut tree = Tree::grow(root, links, &children);
        tree.base = tree.base(links, held)?;
        trees.push(tree);
    }
    // Most work first; hashes make the order total.
    trees.sort_by(|a, b| b.work.cmp(&a.work).then_with(|| a.tip(links).cmp(&b.tip(links))));
    let mut taken: Vec<(u64, u64)> = Vec::new();
    for tree in &trees {
        let fits = match tree.range() {
            // Ranges that overlap or touch: had they belonged together they would be one tree.
            Some((low, high)) => {
                !taken.iter().any(|(from, to)| low <= to.saturating_add(1) && *from <= high.saturating_add(1))
            }
            None => false,
        };
        if let Some(range) = tree.range().filter(|_| fits) {
            taken.push(range);
        }
        tree.seat(&mut seats, fits);
    }
    Ok(seats)
}

/// The position of the root of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    Height(u64),
    /// At this height something else is held below it.
    Foreign(u64),
    Unknown,
}

/// Blocks that are linked with each other.
struct Tree {
    /// (block, number of steps from the root) of all of them.
    nodes: Vec<(usize, u64)>,
    /// The chain, from the root to the tip.
    chain: Vec<usize>,
    work: U256,
    base: Base,
}

impl Tree {
    fn grow(root: usize, links: &[Link], children: &HashMap<BlockHash, Vec<usize>>) -> Self {
        // (block, steps, work from the root, place of the parent in the list)
        let mut nodes = vec![(root, 0_u64, links[root].work, None)];
        let mut next = 0;
        while let Some(&(block, steps, work, _)) = nodes.get(next) {
            for &child in children.get(&links[block].hash).map_or(&[][..], Vec::as_slice) {
                nodes.push((child, steps + 1, work.saturating_add(links[child].work), Some(next)));
            }
            next += 1;
        }
        let best = nodes
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.2.cmp(&b.2).then_with(|| links[b.0].hash.cmp(&links[a.0].hash)))
            .map_or(0, |(place, _)| place);
        let mut chain: Vec<_> =
            std::iter::successors(Some(best), |place| nodes[*place].3).map(|place| nodes[place].0).collect();
        chain.reverse();
        let work = nodes[best].2;
        Self { nodes: nodes.iter().map(|node| (node.0, node.1)).collect(), chain, work, base: Base::Unknown }
    }

    fn tip(&self, links: &[Link]) -> BlockHash {
        links[self.chain[self.chain.len() - 1]].hash
    }

    fn base<H: Held>(&self, links: &[Link], held: &H) -> Result<Base, H::Error> {
        let parent = links[self.chain[0]].parent;
        if parent.as_bytes() == &[0; 32] {
            return Ok(Base::Height(0));
        }
        if genesis_of(&parent).is_some() {
            return Ok(Base::Height(1));
        }
        let first_height = |height: fn(&Link) -> Option<u64>| {
            let mut with_steps = self.chain.iter().enumerate().rev();
            with_steps.find_map(|(steps, block)| height(&links[*block])?.checked_sub(steps as u64))
        };
        // Below a first block that is not here lies at least one other.
        let known =
            first_height(|link| link.stated).or_else(|| first_height(|link| link.named)).filter(|height| *height > 0);
        let below = match known {
            Some(height) => held.hash_at(height - 1)?,
            None => None,
        };
        if let Some(height) = known.filter(|_| below.is_none_or(|hash| hash == parent)) {
            return Ok(Base::Height(height));
        }
        Ok(match (held.height_of(&parent)?, known) {
            (Some(below), _) => Base::Height(below + 1),
            (None, Some(height)) => Base::Foreign(height),
            (None, None) => Base::Unknown,
        })
    }

    /// First and last height of its chain.
    fn range(&self) -> Option<(u64, u64)> {
        match self.base {
            Base::Height(height) => Some((height, height + (self.chain.len() as u64 - 1))),
            Base::Foreign(_) | Base::Unknown => None,
        }
    }

    fn seat(&self, seats: &mut [Seat], on_chain: bool) {
        let base = match self.base {
            Base::Height(height) | Base::Foreign(height) => Some(height),
            Base::Unknown => None,
        };
        for &(block, steps) in &self.nodes {
            seats[block] = match base {
                Some(base) => Seat::Stale(Some(base + steps)),
                None => Seat::Unknown,
            };
        }
        if let Some(base) = base.filter(|_| on_chain) {
            for (height, &block) in (base..).zip(&self.chain) {
                seats[block] = Seat::Main(height);
            }
        }
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
