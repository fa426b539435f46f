//! Bitcoin as the network sends it, beside what the `bitcoin` crate makes of it.

use bitcoin::absolute::LockTime;
use bitcoin::consensus::encode::{deserialize, serialize};
use bitcoin::hashes::Hash;
use bitcoin::{Amount, Block, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness, transaction};
use headwater_ingest::bitcoin::block_file::{Records, XorKey};
use headwater_ingest::bitcoin::{decode_block, peek_block, read_script, to_facts};
use headwater_testkit::fuzz::FuzzOutcome;
use headwater_types::{Address, Chain, Network};

use crate::fuzz::reader;

/// The block of the network's beginning.
fn genesis() -> Vec<u8> {
    serialize(&bitcoin::constants::genesis_block(bitcoin::Network::Bitcoin))
}

/// A block of three transactions, one of them with a witness, which the coinbase commits to.
fn busy() -> Vec<u8> {
    let spend = |previous: OutPoint, witness: &[&[u8]]| TxIn {
        previous_output: previous,
        script_sig: ScriptBuf::from_bytes(vec![0x03, 1, 2, 3]),
        sequence: Sequence::MAX,
        witness: Witness::from_slice(witness),
    };
    let pay = |satoshis, script: ScriptBuf| TxOut { value: Amount::from_sat(satoshis), script_pubkey: script };
    let hex = |script: &str| ScriptBuf::from_hex(script).unwrap();
    let with = |input: TxIn, output: Vec<TxOut>| Transaction {
        version: transaction::Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output,
    };
    let reserved = [0; 32];
    let spent = |byte, index| OutPoint::new(Txid::from_byte_array([byte; 32]), index);
    let mut block: Block = bitcoin::constants::genesis_block(bitcoin::Network::Regtest);
    block.txdata = vec![
        with(spend(OutPoint::null(), &[&reserved]), vec![pay(5_000_000_000, hex(SCRIPTS[0]))]),
        with(spend(spent(7, 1), &[&[1, 2], &[]]), SCRIPTS[1..].iter().map(|script| pay(9, hex(script))).collect()),
        with(spend(spent(9, 0), &[]), vec![pay(1, hex(SCRIPTS[0]))]),
    ];
    let commitment = Block::compute_witness_commitment(&block.witness_root().unwrap(), &reserved);
    let says = [&[0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed][..], &commitment.to_byte_array()].concat();
    block.txdata[0].output.push(pay(0, ScriptBuf::from_bytes(says)));
    block.header.merkle_root = block.compute_merkle_root().unwrap();
    serialize(&block)
}

const SCRIPTS: [&str; 7] = [
    "76a914751e76e8199196d454941c45d1b3a323f1433bd688ac",
    "a914748284390f9e263a4b766a75d0633c50426eb87587",
    "0014751e76e8199196d454941c45d1b3a323f1433bd6",
    "00201863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262",
    "5120a60869f0dbcf1dc659c9cecbaf8050135ea9e8cdc487053f1dc6880949dc684c",
    "6a0568656c6c6f",
    "410411db93e1dcdb8a016b49840f8c53bc1eb68a382e97b1482ecad7b148a6909a5cb2e0eaddfb84ccf9744464f82e160bfa9b8b64f9d4c03f999b8643f656b412a3ac",
];

#[test]
fn a_block_is_taken_only_as_the_bitcoin_crate_reads_it() {
    reader("bitcoin_blocks").samples([genesis(), busy()]).check(|input| {
        let _ = peek_block(input);
        let Ok(block) = decode_block(input) else { return FuzzOutcome::Refused };
        let theirs: bitcoin::Block = deserialize(input).expect("what is taken here is a block to others");
        assert_eq!(block.transactions.len(), theirs.txdata.len());
        let (facts, transactions) = to_facts(&block, 7, Network::Mainnet);
        let reversed = |mut bytes: [u8; 32]| {
            bytes.reverse();
            bytes
        };
        assert_eq!(*facts.hash.unwrap().as_bytes(), reversed(theirs.block_hash().to_byte_array()));
        assert_eq!(transactions.len(), theirs.txdata.len());
        for (ours, theirs) in transactions.iter().zip(&theirs.txdata) {
            assert_eq!(*ours.hash.as_bytes(), reversed(theirs.compute_txid().to_byte_array()));
            let paid: Vec<u64> = ours.utxo.as_ref().unwrap().outputs.iter().map(|output| output.amount).collect();
            assert_eq!(paid, theirs.output.iter().map(|output| output.value.to_sat()).collect::<Vec<_>>());
        }
        FuzzOutcome::Taken
    });
}

#[test]
fn the_owner_of_a_script_is_who_the_bitcoin_crate_says() {
    let samples = SCRIPTS[..5].iter().map(|script| hex::decode(script).unwrap());
    let words: [&[u8]; 6] = [&[0x76, 0xa9, 0x14], &[0x88, 0xac], &[0x51, 0x20], &[0x6a], &[0xae], &[0x4e, 0xff, 0xff]];
    reader("scripts").samples(samples).words(words).check(|script| {
        let lock = read_script(script, Network::Mainnet).with_amount(5);
        let theirs = bitcoin::Address::from_script(bitcoin::Script::from_bytes(script), bitcoin::Network::Bitcoin);
        let Some(owner) = lock.owner else { return FuzzOutcome::Refused };
        assert_eq!(Address::parse(Chain::BITCOIN, &owner.to_string()), Ok(owner));
        // A bare key has an address of old here and none there.
        if let Ok(theirs) = theirs {
            assert_eq!(owner.to_string(), theirs.to_string());
        }
        FuzzOutcome::Taken
    });
}

#[test]
fn a_block_file_ends_in_bounded_memory() {
    let framed = |blocks: &[Vec<u8>]| -> Vec<u8> {
        let mut file = Vec::new();
        for block in blocks {
            file.extend_from_slice(&[0xf9, 0xbe, 0xb4, 0xd9]);
            file.extend_from_slice(&u32::try_from(block.len()).unwrap().to_le_bytes());
            file.extend_from_slice(block);
        }
        file.extend_from_slice(&[0; 40]);
        file
    };
    let samples = [framed(&[genesis()]), framed(&[genesis(), busy(), genesis()])];
    reader("block_files").samples(samples).words([[0xf9, 0xbe, 0xb4, 0xd9], [0xfa, 0xbf, 0xb5, 0xda]]).check(|input| {
        let mut met = FuzzOutcome::Taken;
        for key in [[0; 8], [0x5a; 8]] {
            let mut records = Records::new(input, XorKey::new(&key).expect("a key has 8 bytes"));
            let mut end = 0;
            loop {
                match records.next_record() {
                    Ok(Some(record)) => {
                        assert!(record.offset >= end, "blocks follow one another");
                        end = record.offset + record.block.len() as u64;
                        assert!(end <= input.len() as u64);
                        let _ = decode_block(record.block);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        assert!(error.at().is_none_or(|at| at <= input.len() as u64), "{error}");
                        met = if key == [0; 8] { FuzzOutcome::Refused } else { met };
                        break;
                    }
                }
            }
        }
        met
    });
}
