//! The Merkle Patricia root of a list, by which an Ethereum header commits to transactions, receipts and withdrawals.
//!
//! The encodings are our own few lines, because alloy-consensus pulls in c-kzg and blst, which dominate the build time.

use sha3::{Digest as _, Keccak256};

use crate::rlp::{List, key};

/// The root of an empty list.
pub const EMPTY_ROOT: [u8; 32] = [
    0x56, 0xe8, 0x1f, 0x17, 0x1b, 0xcc, 0x55, 0xa6, 0xff, 0x83, 0x45, 0xe6, 0x92, 0xc0, 0xf8, 0x6e, 0x5b, 0x48, 0xe0,
    0x1b, 0x99, 0x6c, 0xad, 0xc0, 0x01, 0x62, 0x2f, 0xb5, 0xe3, 0x63, 0xb4, 0x21,
];

/// An entry: the nibbles of its key, and its value.
struct Entry<'a> {
    nibbles: Vec<u8>,
    value: &'a [u8],
}

/// Returns the root of the trie that maps `rlp(index)` to each item.
///
/// Cost: one Keccak-256 per node, which is about two per item.
///
/// ```
/// use headwater_verify::trie::{EMPTY_ROOT, ordered_root};
/// assert_eq!(ordered_root::<&[u8]>(&[]), EMPTY_ROOT);
/// assert_ne!(ordered_root(&[b"a", b"b"]), ordered_root(&[b"b", b"a"]));
/// ```
#[must_use]
pub fn ordered_root<T: AsRef<[u8]>>(items: &[T]) -> [u8; 32] {
    if items.is_empty() {
        return EMPTY_ROOT;
    }
    let mut order: Vec<(Vec<u8>, usize)> = (0..items.len()).map(|index| (key(index), index)).collect();
    order.sort_unstable();
    let nibbles = |key: &[u8]| key.iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
    let entries: Vec<Entry<'_>> =
        order.iter().map(|(key, index)| Entry { nibbles: nibbles(key), value: items[*index].as_ref() }).collect();
    Keccak256::digest(node(&entries, 0)).into()
}

/// The encoded node of entries in order of key that share the first `depth` nibbles. No key begins with another one.
fn node(entries: &[Entry<'_>], depth: usize) -> Vec<u8> {
    let first = &entries[0];
    if let [only] = entries {
        return List::default().bytes(&path(&only.nibbles[depth..], true)).bytes(only.value).finish();
    }
    let last = &entries[entries.len() - 1];
    let shared = first.nibbles[depth..].iter().zip(&last.nibbles[depth..]).take_while(|(one, other)| one == other);
    let shared = shared.count();
    if shared > 0 {
        let below = node(entries, depth + shared);
        let mut list = List::default();
        list.bytes(&path(&first.nibbles[depth..depth + shared], false));
        reference(&mut list, &below);
        return list.finish();
    }
    let mut list = List::default();
    let mut rest = entries;
    for nibble in 0..16 {
        let count = rest.partition_point(|entry| entry.nibbles[depth] <= nibble);
        let (branch, after) = rest.split_at(count);
        rest = after;
        if branch.is_empty() {
            list.bytes(&[]);
        } else {
            reference(&mut list, &node(branch, depth + 1));
        }
    }
    list.bytes(&[]).finish()
}

/// Adds a node to its parent: short nodes as they are, others by hash.
fn reference(parent: &mut List, node: &[u8]) {
    if node.len() < 32 {
        parent.encoded(node);
    } else {
        parent.bytes(&Keccak256::digest(node));
    }
}

/// The hex-prefix encoding of a path, whose first nibble has the kind of the node and the parity of the length.
fn path(nibbles: &[u8], is_leaf: bool) -> Vec<u8> {
    let flag = if is_leaf { 2 } else { 0 };
    let (odd, even) = nibbles.split_at(nibbles.len() % 2);
    let begin = odd.first().map_or(flag << 4, |nibble| (flag | 1) << 4 | nibble);
    std::iter::once(begin).chain(even.chunks(2).map(|pair| pair[0] << 4 | pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A trie that is built by inserting one entry after the other, as an oracle.
    #[derive(Clone)]
    enum Oracle {
        Leaf(Vec<u8>, Vec<u8>),
        Branch(BTreeMap<u8, Oracle>),
    }

    impl Oracle {
        fn insert(self, nibbles: &[u8], value: &[u8]) -> Self {
            match self {
                Self::Leaf(old, kept) => {
                    let branch = Self::Branch(BTreeMap::new());
                    branch.insert(&old, &kept).insert(nibbles, value)
                }
                Self::Branch(mut children) => {
                    let (nibble, rest) = nibbles.split_first().unwrap();
                    let child = match children.remove(nibble) {
                        Some(child) => child.insert(rest, value),
                        None => Self::Leaf(rest.to_vec(), value.to_vec()),
                    };
                    children.insert(*nibble, child);
                    Self::Branch(children)
                }
            }
        }

        fn encode(&self) -> Vec<u8> {
            match self {
                Self::Leaf(rest, value) => List::default().bytes(&path(rest, true)).bytes(value).finish(),
                Self::Branch(children) if children.len() == 1 => {
                    let (mut shared, mut at) = (Vec::new(), self);
                    while let Self::Branch(children) = at
                        && children.len() == 1
                    {
                        let (nibble, child) = children.first_key_value().unwrap();
                        shared.push(*nibble);
                        at = child;
                    }
                    let mut list = List::default();
                    list.bytes(&path(&shared, false));
                    reference(&mut list, &at.encode());
                    list.finish()
                }
                Self::Branch(children) => {
                    let mut list = List::default();
                    for nibble in 0..16 {
                        match children.get(&nibble) {
                            Some(child) => reference(&mut list, &child.encode()),
                            None => _ = list.bytes(&[]),
                        }
                    }
                    list.bytes(&[]).finish()
                }
            }
        }
    }

    #[test]
    fn empty_root_is_the_hash_of_the_empty_string() {
        assert_eq!(EMPTY_ROOT, <[u8; 32]>::from(Keccak256::digest([0x80])));
    }

    #[test]
    fn root_equals_a_trie_built_by_insertion() {
        for count in [1_usize, 2, 3, 15, 16, 17, 127, 128, 129, 200, 255, 256, 257, 700] {
            let items: Vec<Vec<u8>> = (0..count).map(|at| vec![u8::try_from(at % 251).unwrap(); 1 + at % 40]).collect();
            let mut oracle: Option<Oracle> = None;
            for (index, item) in items.iter().enumerate() {
                let nibbles: Vec<u8> = key(index).iter().flat_map(|byte| [byte >> 4, byte & 15]).collect();
                oracle = Some(match oracle {
                    None => Oracle::Leaf(nibbles, item.clone()),
                    Some(trie) => trie.insert(&nibbles, item),
                });
            }
            let expected: [u8; 32] = Keccak256::digest(oracle.unwrap().encode()).into();
            assert_eq!(ordered_root(&items), expected, "{count}");
        }
    }

    #[test]
    fn root_changes_with_each_item_and_the_count() {
        let items: Vec<Vec<u8>> = (0..150_u8).map(|at| vec![at; 33]).collect();
        let root = ordered_root(&items);
        for index in [0, 1, 127, 128, 149] {
            let mut changed = items.clone();
            changed[index][0] ^= 1;
            assert_ne!(ordered_root(&changed), root);
        }
        assert_ne!(ordered_root(&items[..149]), root);
    }
}
