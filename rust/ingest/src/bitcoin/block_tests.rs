use super::*;
use crate::bitcoin::fixture::{body, coinbase, double_hash, mine, mine_with_root, pay_to, run, transaction};

const NO_PARENT: BlockHash = BlockHash::new([0; 32]);

/// The first block of the main network, as every node has it.
fn genesis() -> Vec<u8> {
    hex::decode(concat!(
        "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617fc8",
        "1bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c01",
        "01000000010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff001d01044554686520",
        "54696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f75",
        "7420666f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0",
        "ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000"
    ))
    .unwrap()
}

/// A block with one spend, both its transactions in legacy form.
fn small() -> Vec<u8> {
    let spend = transaction(&[([7; 32], 2, vec![1, 9])], &[(30, pay_to(1)), (12, pay_to(2))]);
    mine(1, NO_PARENT, 77, &[coinbase(&[4, 1, 2, 3, 4], 9), spend])
}

/// A transaction with a witness, spending one output.
fn with_witness() -> (Vec<u8>, [u8; 32], [u8; 32]) {
    let body = body(&[([5; 32], 0, vec![])], &[(10, pay_to(3))]);
    let stripped = [&[2, 0, 0, 0][..], &body, &[0; 4]].concat();
    let full = [&[2, 0, 0, 0, 0, 1][..], &body, &[2, 1, 0xaa, 2, 0xbb, 0xcc], &[0; 4]].concat();
    let hashes = (double_hash(&stripped), double_hash(&full));
    (full, hashes.0, hashes.1)
}

/// A block whose coinbase commits to `commitment` over its one spend with a witness.
fn segwit_block(commitment: Option<[u8; 32]>, reserved: &[u8]) -> Vec<u8> {
    let (spend, id, _) = with_witness();
    let mark = |commitment: [u8; 32]| (0, [&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed][..], &commitment].concat());
    let mut outputs = vec![(50, pay_to(1))];
    outputs.extend(commitment.map(mark));
    let body = body(&[([0; 32], u32::MAX, vec![0x51])], &outputs);
    let stripped = [&[1, 0, 0, 0][..], &body, &[0; 4]].concat();
    let full = [&[1, 0, 0, 0, 0, 1][..], &body, &[1], &run(reserved), &[0; 4]].concat();
    let root = double_hash(&[double_hash(&stripped), id].concat());
    mine_with_root(0x2000_0000, NO_PARENT, 5, root, &[full, spend])
}

fn right_commitment(reserved: &[u8]) -> [u8; 32] {
    let root = double_hash(&[[0; 32], with_witness().2].concat());
    double_hash(&[&root[..], reserved].concat())
}

#[test]
fn the_first_block_decodes_to_what_is_known_of_it() {
    let bytes = genesis();
    let block = decode_block(&bytes).unwrap();
    let hash = hex::encode(block.header.hash.as_bytes());
    assert_eq!(hash, "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f");
    assert_eq!((block.header.time, block.header.nonce, block.header.version), (1_231_006_505, 2_083_236_893, 1));
    assert_eq!(block.header.parent, NO_PARENT);
    let [only] = &block.transactions[..] else { panic!("one transaction") };
    let id = hex::encode(only.id.as_bytes());
    assert_eq!(id, "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b");
    assert!(only.is_coinbase());
    assert_eq!(only.outputs[0].value, 5_000_000_000);
    assert_eq!(block.stated_height(), None);
    assert_eq!(block.header.work(), U256::from(0x1_0001_0001_u64));
    assert_eq!(block.header.check_network(Network::Mainnet), Ok(()));
}

#[test]
fn inputs_and_outputs_are_those_that_were_written() {
    let bytes = small();
    let block = decode_block(&bytes).unwrap();
    let spend = &block.transactions[1];
    assert_eq!(
        spend.inputs,
        [RawInput { previous: TxHash::new([7; 32]), previous_index: 2, script: &[1, 9], sequence: u32::MAX }]
    );
    assert_eq!(spend.outputs.iter().map(|output| output.value).collect::<Vec<_>>(), [30, 12]);
    assert!(!spend.is_coinbase());
}

#[test]
fn a_block_cut_at_any_byte_is_refused() {
    for whole in [small(), segwit_block(Some(right_commitment(&[8; 32])), &[8; 32])] {
        assert!(decode_block(&whole).is_ok());
        for length in 0..whole.len() {
            assert!(decode_block(&whole[..length]).is_err(), "cut at {length}");
        }
        let longer = [&whole[..], &[0]].concat();
        assert_eq!(decode_block(&longer), Err(BlockError::Trailing(1)));
    }
}

#[test]
fn block_altered_in_a_byte_covered_by_work_is_refused() {
    // Everything but the witness of the coinbase is under the Merkle root or the commitment; the header is under its
    // hash, which one changed byte in two meets at this difficulty, but then the root or the parent differs.
    let whole = segwit_block(Some(right_commitment(&[8; 32])), &[8; 32]);
    let sound = decode_block(&whole).unwrap();
    for place in 80..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut altered = whole.clone();
            altered[place] ^= flip;
            assert_ne!(decode_block(&altered).as_ref(), Ok(&sound), "byte {place}");
            assert!(decode_block(&altered).is_err(), "byte {place} xor {flip}");
        }
    }
}

#[test]
fn forged_counts_are_refused_before_anything_is_allocated() {
    let header = &small()[..80];
    // 2^64 - 1, 2^32 - 1 and 65 535 transactions in a file of a hundred bytes.
    for count in [&[0xff; 9][..], &[0xfe, 0xff, 0xff, 0xff, 0xff], &[0xfd, 0xff, 0xff]] {
        let forged = [header, count, &[0; 12]].concat();
        let error = decode_block(&forged).unwrap_err();
        assert!(matches!(error, BlockError::ForgedCount { what: "transactions", at: 80, .. }), "{error}");
    }
    // The same inside a transaction: inputs, a script, outputs.
    for (before, what) in [(4, "inputs"), (41, "an input script")] {
        let mut forged = small();
        let place = 81 + before;
        forged.splice(place..=place, [0xfe, 0xff, 0xff, 0xff, 0xff]);
        let error = decode_block(&forged).unwrap_err();
        assert!(matches!(&error, BlockError::ForgedCount { what: found, .. } if *found == what), "{error}");
    }
}

#[test]
fn counts_are_written_in_their_shortest_form() {
    let header = &small()[..80];
    for count in [&[0xfd, 1, 0][..], &[0xfe, 1, 0, 0, 0], &[0xff, 1, 0, 0, 0, 0, 0, 0, 0]] {
        let forged = [header, count, &[0; 200]].concat();
        assert_eq!(decode_block(&forged), Err(BlockError::LongCount { what: "transactions", at: 80 }));
    }
}

#[test]
fn the_hash_must_meet_the_bits() {
    let mut harder = small();
    harder[72..76].copy_from_slice(&0x1d00_ffff_u32.to_le_bytes());
    assert!(matches!(decode_block(&harder), Err(BlockError::ProofOfWork { bits: 0x1d00_ffff, .. })));
    // Negative, zero and overflowing targets are none.
    for bits in [0x2080_0001, 0x0100_0000, 0xff7f_ffff, 0x2300_0001, 0] {
        assert_eq!(target_of(bits), None, "{bits:08x}");
    }
    assert_eq!(target_of(0x0312_3456), Some(U256::from(0x12_3456)));
    assert_eq!(target_of(0x0212_3456), Some(U256::from(0x1234)));
    assert_eq!(target_of(0x0412_3456), Some(U256::from(0x1234_5600)));
}

#[test]
fn block_of_an_easier_network_is_not_of_the_main_network() {
    let bytes = small();
    let header = decode_block(&bytes).unwrap().header;
    assert_eq!(header.check_network(Network::Regtest), Ok(()));
    for network in [Network::Mainnet, Network::Testnet, Network::Signet] {
        assert!(matches!(header.check_network(network), Err(BlockError::TooEasy { .. })));
    }
}

#[test]
fn repeated_transactions_with_the_same_root_are_refused() {
    let spends: Vec<_> =
        (1..3).map(|number| transaction(&[([number; 32], 0, vec![])], &[(1, pay_to(number))])).collect();
    let three = [vec![coinbase(&[4, 1, 1, 1, 1], 1)], spends].concat();
    assert!(decode_block(&mine(1, NO_PARENT, 1, &three)).is_ok());
    let ids: Vec<_> = three.iter().map(|bytes| double_hash(bytes)).collect();
    let four = [&three[..], &three[2..]].concat();
    let forged = mine_with_root(1, NO_PARENT, 1, crate::bitcoin::fixture::merkle_root(&ids), &four);
    assert_eq!(decode_block(&forged), Err(BlockError::RepeatedTransactions));
}

#[test]
fn the_coinbase_stands_first_and_alone() {
    let spend = transaction(&[([7; 32], 2, vec![])], &[(30, pay_to(1))]);
    let minted = coinbase(&[4, 1, 2, 3, 4], 9);
    for transactions in [vec![spend.clone()], vec![minted.clone(), coinbase(&[4, 4, 4, 4, 4], 1)], vec![spend, minted]]
    {
        let bytes = mine(1, NO_PARENT, 1, &transactions);
        assert!(matches!(decode_block(&bytes), Err(BlockError::Malformed { .. })));
    }
    let empty = [&small()[..80], &[0]].concat();
    assert!(decode_block(&empty).is_err());
}

#[test]
fn no_output_holds_more_than_all_the_money() {
    let minted = transaction(&[([0; 32], u32::MAX, vec![1, 1])], &[(MAX_MONEY + 1, pay_to(1))]);
    let bytes = mine(1, NO_PARENT, 1, &[minted]);
    assert!(matches!(decode_block(&bytes), Err(BlockError::TooMuchMoney { output: 0, .. })));
}

#[test]
fn witnesses_are_those_the_coinbase_commits_to() {
    let reserved = [8; 32];
    let right = right_commitment(&reserved);
    let bytes = segwit_block(Some(right), &reserved);
    let block = decode_block(&bytes).unwrap();
    let mut id = with_witness().1;
    id.reverse();
    assert_eq!(block.transactions[1].id, TxHash::new(id));
    for (commitment, reserved) in
        [(Some([0; 32]), &reserved[..]), (Some(right), &[9; 32]), (Some(right), &[8; 31]), (None, &reserved)]
    {
        assert_eq!(decode_block(&segwit_block(commitment, reserved)), Err(BlockError::WitnessCommitment));
    }
}

#[test]
fn a_height_is_read_in_its_one_form_and_from_version_2_on() {
    let stated = |version, script: &[u8]| {
        let bytes = mine(version, NO_PARENT, 1, &[coinbase(script, 1)]);
        decode_block(&bytes).unwrap().stated_height()
    };
    assert_eq!(stated(2, &[3, 0x5b, 0x7a, 0x03, 0xff]), Some(227_931));
    assert_eq!(stated(0x2000_0000, &[0x51, 0]), Some(1));
    assert_eq!(stated(0x2000_0000, &[0x60, 0]), Some(16));
    assert_eq!(stated(0x2000_0000, &[1, 17]), Some(17));
    assert_eq!(stated(0x2000_0000, &[2, 0x80, 0]), Some(128));
    assert_eq!(stated(1, &[3, 0x5b, 0x7a, 0x03]), None);
    // Longer than needed, negative, zero, small in long form, too short, no push at all.
    for script in [&[4, 0x5b, 0x7a, 0x03, 0][..], &[1, 0x81], &[1, 0], &[1, 16], &[3, 1, 1], &[0x6a, 0], &[0, 0]] {
        assert_eq!(stated(2, script), None, "{script:?}");
    }
}
