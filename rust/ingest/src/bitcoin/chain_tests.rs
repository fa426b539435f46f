use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

/// Blocks held, as (height, hash).
struct Holding(Vec<(u64, BlockHash)>);

impl Held for Holding {
    type Error = Infallible;

    fn hash_at(&self, height: u64) -> Result<Option<BlockHash>, Infallible> {
        Ok(self.0.iter().find(|held| held.0 == height).map(|held| held.1))
    }

    fn height_of(&self, hash: &BlockHash) -> Result<Option<u64>, Infallible> {
        Ok(self.0.iter().find(|held| held.1 == *hash).map(|held| held.0))
    }
}

fn hash(number: u8) -> BlockHash {
    BlockHash::new([number; 32])
}

fn link(number: u8, parent: u8) -> Link {
    Link { hash: hash(number), parent: hash(parent), work: U256::from(2), stated: None, named: None }
}

fn placed(links: &[Link]) -> Vec<Seat> {
    let Ok(seats) = place(links, &Holding(vec![]));
    seats
}

#[test]
fn heights_count_from_the_first_block_in_whatever_order() {
    assert_eq!(placed(&[link(3, 2), link(1, 0), link(2, 1)]), [Seat::Main(2), Seat::Main(0), Seat::Main(1)]);
}

#[test]
fn the_branch_of_most_work_wins_not_the_longest() {
    let mut heavy = link(9, 1);
    heavy.work = U256::from(100);
    let seats = placed(&[link(1, 0), link(2, 1), link(3, 2), heavy]);
    assert_eq!(seats, [Seat::Main(0), Seat::Stale(Some(1)), Seat::Stale(Some(2)), Seat::Main(1)]);
}

#[test]
fn of_two_tips_with_equal_work_the_lower_hash_wins() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let all = [link(1, 0), link(7, 1), link(5, 1)];
        let seats = placed(&order.map(|number| all[number]));
        assert_eq!(
            order.map(|number| number).iter().position(|number| *number == 2).map(|at| seats[at]),
            Some(Seat::Main(1))
        );
        assert_eq!(order.iter().position(|number| *number == 1).map(|at| seats[at]), Some(Seat::Stale(Some(1))));
    }
}

#[test]
fn a_repeated_block_counts_once() {
    assert_eq!(placed(&[link(1, 0), link(1, 0), link(2, 1)]), [Seat::Main(0), Seat::Repeated, Seat::Main(1)]);
}

#[test]
fn a_stated_height_places_those_before_and_after_it() {
    let mut middle = link(3, 2);
    middle.stated = Some(500);
    assert_eq!(placed(&[link(2, 99), middle, link(4, 3)]), [Seat::Main(499), Seat::Main(500), Seat::Main(501)]);
    // The later statement counts: nodes check it only since BIP 34.
    let mut first = link(2, 99);
    first.stated = Some(1_983_702);
    assert_eq!(placed(&[first, middle])[0], Seat::Main(499));
}

#[test]
fn without_a_statement_a_held_parent_then_the_file_name_tells() {
    let mut named = link(2, 99);
    named.named = Some(700);
    assert_eq!(placed(&[named]), [Seat::Main(700)]);
    assert_eq!(placed(&[link(2, 99)]), [Seat::Unknown]);
    let Ok(seats) = place(&[link(2, 99), link(3, 2)], &Holding(vec![(41, hash(99))]));
    assert_eq!(seats, [Seat::Main(42), Seat::Main(43)]);
}

#[test]
fn a_tree_that_does_not_stand_on_what_is_held_is_stale() {
    let mut stated = link(2, 99);
    stated.stated = Some(42);
    let Ok(seats) = place(&[stated], &Holding(vec![(41, hash(98))]));
    assert_eq!(seats, [Seat::Stale(Some(42))]);
    // A wrong statement does not outweigh a parent that is held.
    let Ok(seats) = place(&[stated], &Holding(vec![(41, hash(98)), (50, hash(99))]));
    assert_eq!(seats, [Seat::Main(51)]);
}

#[test]
fn trees_that_cannot_both_be_on_one_chain_are_settled_by_work() {
    // 1-2-3 at 10 to 12; 7 states 13 on another parent; 8 states 11; 9 states 20, far enough to be apart.
    let at = |number: u8, parent: u8, height| Link { stated: Some(height), ..link(number, parent) };
    let seats = placed(&[at(1, 90, 10), link(2, 1), link(3, 2), at(7, 91, 13), at(8, 92, 11), at(9, 93, 20)]);
    assert_eq!(
        seats,
        [Seat::Main(10), Seat::Main(11), Seat::Main(12), Seat::Stale(Some(13)), Seat::Stale(Some(11)), Seat::Main(20)]
    );
}

#[test]
fn a_block_above_the_first_of_a_network_needs_no_first_block() {
    let mut parent = [0; 32];
    hex::decode_to_slice(GENESIS[0].1, &mut parent).unwrap();
    let second = Link { parent: BlockHash::new(parent), ..link(1, 0) };
    assert_eq!(placed(&[link(2, 1), second]), [Seat::Main(2), Seat::Main(1)]);
}

#[test]
fn the_first_blocks_are_those_that_nodes_are_built_with() {
    use bitcoin::blockdata::constants::genesis_block;
    use bitcoin::hashes::Hash;
    for (theirs, ours) in [
        (bitcoin::Network::Bitcoin, Network::Mainnet),
        (bitcoin::Network::Testnet, Network::Testnet),
        (bitcoin::Network::Testnet4, Network::Testnet),
        (bitcoin::Network::Signet, Network::Signet),
        (bitcoin::Network::Regtest, Network::Regtest),
    ] {
        let mut hash = genesis_block(theirs).block_hash().to_byte_array();
        hash.reverse();
        assert_eq!(genesis_of(&BlockHash::new(hash)), Some(ours));
    }
    assert_eq!(genesis_of(&hash(1)), None);
}

proptest! {
    /// A random tree on one first block, in two orders.
    #[test]
    fn seats_do_not_depend_on_the_order(
        parents in proptest::collection::vec((any::<prop::sample::Index>(), 1u64..4), 1..40),
        order in any::<u64>(),
    ) {
        let mut links = vec![link(1, 0)];
        for (number, (parent, work)) in (2u8..).zip(parents) {
            let parent = links[parent.index(links.len())].hash;
            links.push(Link { hash: hash(number), parent, work: U256::from(work), stated: None, named: None });
        }
        let seats = placed(&links);
        let mut shuffled: Vec<usize> = (0..links.len()).collect();
        shuffled.sort_by_key(|number| (*number as u64 + 1).wrapping_mul(order | 1).rotate_left(17));
        let again = placed(&shuffled.iter().map(|number| links[*number]).collect::<Vec<_>>());
        for (place, number) in shuffled.into_iter().enumerate() {
            prop_assert_eq!(again[place], seats[number]);
        }
        // One block per height, without a gap.
        let mut heights: Vec<_> = seats.iter().filter_map(|seat| match seat { Seat::Main(height) => Some(*height), _ => None }).collect();
        heights.sort_unstable();
        prop_assert_eq!(heights.clone(), (0..heights.len() as u64).collect::<Vec<_>>());
    }
}
