//! One serialised block: decoded without copying, and proven before anybody uses it.

use bitcoin::hashes::{Hash, HashEngine, sha256d};
use headwater_types::{BlockHash, Network, TxHash};
use ruint::aliases::U256;

use super::BlockError;
use super::reader::Reader;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 80;
/// No valid block is longer: its weight is at most four million.
pub const MAX_BLOCK_BYTES: usize = 4_000_000;
/// Satoshis that can ever exist, hence the most that one output can hold.
pub const MAX_MONEY: u64 = 2_100_000_000_000_000;

// The least bytes an item can take; a count that could not fit is a forgery.
const LEAST_TRANSACTION: usize = 60;
const LEAST_INPUT: usize = 41;
const LEAST_OUTPUT: usize = 9;

const NO_TRANSACTIONS: BlockError = BlockError::Malformed { index: 0, what: "no bytes: the block has no transactions" };
const NO_COINBASE: BlockError = BlockError::Malformed { index: 0, what: "inputs, where the coinbase must stand" };

/// The header of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawHeader {
    /// Version; its high bits signal for soft forks.
    pub version: i32,
    /// Hash of the parent.
    pub parent: BlockHash,
    /// Root over the transactions, in printed order.
    pub merkle_root: [u8; 32],
    /// Epoch seconds as the miner states them.
    pub time: u32,
    /// The target in its compact form.
    pub bits: u32,
    /// Nonce.
    pub nonce: u32,
    /// Hash of the block itself.
    pub hash: BlockHash,
}

/// A decoded block that borrows from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawBlock<'a> {
    /// The header.
    pub header: RawHeader,
    /// The transactions in order; the first is the coinbase.
    pub transactions: Vec<RawTransaction<'a>>,
}

/// A decoded transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawTransaction<'a> {
    /// Its id: the double hash without witnesses.
    pub id: TxHash,
    /// Version, as an unsigned number.
    pub version: u32,
    /// Height or epoch second before which it could not be mined; 0 for no such limit.
    pub lock_time: u32,
    /// Weight units (BIP 141).
    pub weight_wu: u32,
    /// Inputs in order.
    pub inputs: Vec<RawInput<'a>>,
    /// Outputs in order.
    pub outputs: Vec<RawOutput<'a>>,
    /// Hash with witnesses, in the order of bytes; equal to the id's when there are none.
    witness_hash: [u8; 32],
    /// The serialised witnesses; `None` in the legacy serialisation.
    witnesses: Option<&'a [u8]>,
}

/// A decoded input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawInput<'a> {
    /// Transaction of the output it spends.
    pub previous: TxHash,
    /// The number of the output.
    pub previous_index: u32,
    /// The script that unlocks it; free bytes in a coinbase.
    pub script: &'a [u8],
    /// Sequence number.
    pub sequence: u32,
}

/// A decoded output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOutput<'a> {
    /// Satoshis.
    pub value: u64,
    /// The script that locks it.
    pub script: &'a [u8],
}

impl RawHeader {
    /// The number that the hash must not exceed; `None` when the bits are not a valid target.
    #[must_use]
    pub fn target(&self) -> Option<U256> {
        target_of(self.bits)
    }

    /// Expected number of hashes to find such a block: 2^256 / (target + 1).
    #[must_use]
    pub fn work(&self) -> U256 {
        match self.target() {
            // (2^256 - 1 - target) / (target + 1) + 1, as 2^256 itself does not fit.
            Some(target) if target < U256::MAX => (!target) / (target + U256::from(1)) + U256::from(1),
            Some(_) => U256::from(1),
            None => U256::ZERO,
        }
    }

    /// Checks that the hash meets the bits.
    ///
    /// # Errors
    /// [`BlockError::ProofOfWork`] when it does not.
    pub fn check_work(&self) -> Result<(), BlockError> {
        let number = U256::from_be_bytes(*self.hash.as_bytes());
        match self.target() {
            Some(target) if number <= target => Ok(()),
            _ => Err(BlockError::ProofOfWork { hash: hex::encode(self.hash.as_bytes()), bits: self.bits }),
        }
    }

    /// Checks that the bits are as hard as the network asks for.
    ///
    /// # Errors
    /// [`BlockError::TooEasy`] when they are easier: most likely the block belongs to another network.
    pub fn check_network(&self, network: Network) -> Result<(), BlockError> {
        let easiest = match network {
            Network::Mainnet | Network::Testnet => 0x1d00_ffff,
            Network::Signet => 0x1e03_77ae,
            Network::Regtest => 0x207f_ffff,
        };
        if self.target() <= target_of(easiest) {
            return Ok(());
        }
        Err(BlockError::TooEasy { hash: hex::encode(self.hash.as_bytes()), bits: self.bits, network })
    }
}

/// The compact form is a sign, a mantissa of 23 bits and an exponent in bytes; negative, zero and overflowing ones are
/// no target.
fn target_of(bits: u32) -> Option<U256> {
    let (exponent, mantissa) = (usize::try_from(bits >> 24).ok()?, bits & 0x007f_ffff);
    let negative = bits & 0x0080_0000 != 0;
    let target = if exponent <= 3 {
        U256::from(mantissa >> (8 * (3 - exponent)))
    } else {
        U256::from(mantissa).checked_shl(8 * (exponent - 3))?
    };
    (!negative && !target.is_zero()).then_some(target)
}

/// Decodes a header from its 80 bytes. Its work is not checked here: see [`RawHeader::check_work`].
#[must_use]
pub fn decode_header(bytes: &[u8; HEADER_BYTES]) -> RawHeader {
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    RawHeader {
        version: i32::from_le_bytes(word(0)),
        parent: BlockHash::new(printed(&bytes[4..36])),
        merkle_root: printed(&bytes[36..68]),
        time: u32::from_le_bytes(word(68)),
        bits: u32::from_le_bytes(word(72)),
        nonce: u32::from_le_bytes(word(76)),
        hash: BlockHash::new(printed(&double_hash(&[bytes]))),
    }
}

/// Decodes one serialised block, legacy or with witnesses (BIP 144), and proves it: the hash meets the bits, the
/// Merkle root is that of the transactions, and the witnesses are those the coinbase commits to (where the block comes
/// with witnesses at all). Scripts are not run: that is what the miners' work stands for.
///
/// Linear in the bytes; allocates in proportion to the bytes given, whatever counts they announce.
///
/// # Errors
/// [`BlockError`], naming what does not hold and the byte where that shows.
pub fn decode_block(bytes: &[u8]) -> Result<RawBlock<'_>, BlockError> {
    let mut reader = Reader::new(bytes);
    let header = decode_header(&reader.array("the header")?);
    header.check_work()?;
    let count = reader.count(LEAST_TRANSACTION, "transactions")?;
    let mut transactions = Vec::with_capacity(count);
    for index in 0..count {
        transactions.push(decode_transaction(&mut reader, index)?);
    }
    if reader.left() > 0 {
        return Err(BlockError::Trailing(reader.left()));
    }
    let block = RawBlock { header, transactions };
    block.check_coinbase()?;
    block.check_merkle_root()?;
    block.check_witnesses()?;
    Ok(block)
}

/// The header of a serialised block and the height that its coinbase states, proven by the work alone: what is needed
/// to put the block in its place.
///
/// # Errors
/// When the hash does not meet the bits, or no coinbase stands behind the header.
pub fn peek_block(bytes: &[u8]) -> Result<(RawHeader, Option<u64>), BlockError> {
    let mut reader = Reader::new(bytes);
    let header = decode_header(&reader.array("the header")?);
    header.check_work()?;
    if reader.count(LEAST_TRANSACTION, "transactions")? == 0 {
        return Err(NO_TRANSACTIONS);
    }
    let coinbase = decode_transaction(&mut reader, 0)?;
    if !coinbase.is_coinbase() {
        return Err(NO_COINBASE);
    }
    Ok((header, stated_height(&header, &coinbase)))
}

fn decode_transaction<'a>(reader: &mut Reader<'a>, index: usize) -> Result<RawTransaction<'a>, BlockError> {
    let malformed = |what| BlockError::Malformed { index, what };
    let start = reader.position();
    let version: [u8; 4] = reader.array("a transaction version")?;
    // Where the count of inputs would be 0 the witness serialisation has a marker, and a flag behind it.
    let mut ahead = reader.clone();
    let has_witnesses = ahead.array("inputs").is_ok_and(|marker: [u8; 1]| marker == [0]);
    if has_witnesses {
        let [_, flag]: [u8; 2] = reader.array("a witness flag")?;
        match flag {
            1 => {}
            0 => return Err(malformed("no inputs")),
            _ => return Err(malformed("an unknown witness flag")),
        }
    }
    let body = reader.position();
    let inputs =
        (0..reader.count(LEAST_INPUT, "inputs")?).map(|_| decode_input(reader)).collect::<Result<Vec<_>, _>>()?;
    let outputs =
        (0..reader.count(LEAST_OUTPUT, "outputs")?).map(|_| decode_output(reader)).collect::<Result<Vec<_>, _>>()?;
    let body = reader.since(body);
    if inputs.is_empty() {
        return Err(malformed("no inputs"));
    }
    if outputs.is_empty() {
        return Err(malformed("no outputs"));
    }
    let witnesses = if has_witnesses { Some(skip_witnesses(reader, inputs.len(), index)?) } else { None };
    let lock_time: [u8; 4] = reader.array("a lock time")?;
    let id = double_hash(&[&version, body, &lock_time]);
    let witness_hash = if has_witnesses { double_hash(&[reader.since(start)]) } else { id };
    let id = TxHash::new(printed(&id));
    if let Some(output) = outputs.iter().position(|output| output.value > MAX_MONEY) {
        let satoshis = outputs[output].value;
        return Err(BlockError::TooMuchMoney { transaction: hex::encode(id.as_bytes()), output, satoshis });
    }
    let bytes = reader.since(start).len();
    // Marker and flag are two bytes that only the form with witnesses has.
    let stripped = bytes - witnesses.map_or(0, |witnesses| 2 + witnesses.len());
    let weight_wu = u32::try_from(3 * stripped + bytes).map_err(|_| malformed("more bytes than any block may have"))?;
    let (version, lock_time) = (u32::from_le_bytes(version), u32::from_le_bytes(lock_time));
    Ok(RawTransaction { id, version, lock_time, weight_wu, inputs, outputs, witness_hash, witnesses })
}

fn decode_input<'a>(reader: &mut Reader<'a>) -> Result<RawInput<'a>, BlockError> {
    Ok(RawInput {
        previous: TxHash::new(printed(&reader.array::<32>("an input")?)),
        previous_index: reader.u32("an input")?,
        script: reader.run("an input script")?,
        sequence: reader.u32("an input")?,
    })
}

fn decode_output<'a>(reader: &mut Reader<'a>) -> Result<RawOutput<'a>, BlockError> {
    Ok(RawOutput { value: reader.u64("an output")?, script: reader.run("an output script")? })
}

/// One stack of items per input. Nothing of them is needed but their hash.
fn skip_witnesses<'a>(reader: &mut Reader<'a>, inputs: usize, index: usize) -> Result<&'a [u8], BlockError> {
    let start = reader.position();
    let mut items = 0;
    for _ in 0..inputs {
        for _ in 0..reader.count(1, "witness items")? {
            reader.run("a witness item")?;
            items += 1;
        }
    }
    if items == 0 {
        return Err(BlockError::Malformed { index, what: "a witness flag but no witnesses" });
    }
    Ok(reader.since(start))
}

impl RawTransaction<'_> {
    /// Returns true if it mints: its only input spends nothing.
    #[must_use]
    pub fn is_coinbase(&self) -> bool {
        matches!(&self.inputs[..], [input] if input.previous.as_bytes() == &[0; 32] && input.previous_index == u32::MAX)
    }
}

impl RawBlock<'_> {
    /// The height that the coinbase states (BIP 34); `None` for version 1 and where the bytes are no height.
    ///
    /// Before height 227 931 of the main network nodes did not check it, so a known parent is the better source.
    #[must_use]
    pub fn stated_height(&self) -> Option<u64> {
        stated_height(&self.header, self.transactions.first()?)
    }

    fn check_coinbase(&self) -> Result<(), BlockError> {
        match self.transactions.split_first() {
            None => Err(NO_TRANSACTIONS),
            Some((first, _)) if !first.is_coinbase() => Err(NO_COINBASE),
            Some((_, rest)) => match rest.iter().position(RawTransaction::is_coinbase) {
                Some(place) => Err(BlockError::Malformed {
                    index: place + 1,
                    what: "the form of a coinbase, which must stand first",
                }),
                None => Ok(()),
            },
        }
    }

    fn check_merkle_root(&self) -> Result<(), BlockError> {
        let leaves = self.transactions.iter().map(|transaction| printed(transaction.id.as_bytes())).collect();
        let computed = printed(&merkle_root(leaves)?);
        if computed == self.header.merkle_root {
            return Ok(());
        }
        Err(BlockError::MerkleRoot { stated: hex::encode(self.header.merkle_root), computed: hex::encode(computed) })
    }

    /// BIP 141: the coinbase commits to the Merkle root over the hashes with witnesses, in which its own is zero.
    fn check_witnesses(&self) -> Result<(), BlockError> {
        const MARK: [u8; 6] = [0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed];
        if self.transactions.iter().all(|transaction| transaction.witnesses.is_none()) {
            // Legacy serialisation: there is nothing to check the commitment against.
            return Ok(());
        }
        let coinbase = self.transactions.first().ok_or(BlockError::WitnessCommitment)?;
        let marked = |output: &&RawOutput<'_>| output.script.len() >= 38 && output.script.starts_with(&MARK);
        let commitment = coinbase.outputs.iter().rev().find(marked).ok_or(BlockError::WitnessCommitment)?;
        let reserved = match coinbase.witnesses {
            Some([1, 32, reserved @ ..]) if reserved.len() == 32 => reserved,
            _ => return Err(BlockError::WitnessCommitment),
        };
        let mut leaves: Vec<_> = self.transactions.iter().map(|transaction| transaction.witness_hash).collect();
        leaves[0] = [0; 32];
        if double_hash(&[&merkle_root(leaves)?, reserved]) == commitment.script[6..38] {
            Ok(())
        } else {
            Err(BlockError::WitnessCommitment)
        }
    }
}

fn stated_height(header: &RawHeader, coinbase: &RawTransaction<'_>) -> Option<u64> {
    if header.version < 2 {
        return None;
    }
    let script = coinbase.inputs.first()?.script;
    match *script.first()? {
        small @ 0x51..=0x60 => Some(u64::from(small - 0x50)),
        length @ 1..=4 => {
            let number = script.get(1..=usize::from(length))?;
            let (&last, lower) = number.split_last()?;
            // Signed little-endian in its shortest form, and above what the small codes hold.
            let shortest = last != 0 || lower.last().is_some_and(|byte| byte & 0x80 != 0);
            let height = number.iter().rev().fold(0, |height, byte| height << 8 | u64::from(*byte));
            (last & 0x80 == 0 && shortest && height > 16).then_some(height)
        }
        _ => None,
    }
}

/// Root of a tree in which an odd level repeats its last hash. A pair of equal hashes that are both there is a forgery:
/// it has the same root as the level without the second.
fn merkle_root(mut level: Vec<[u8; 32]>) -> Result<[u8; 32], BlockError> {
    while level.len() > 1 {
        if level.chunks_exact(2).any(|pair| pair[0] == pair[1]) {
            return Err(BlockError::RepeatedTransactions);
        }
        level = level.chunks(2).map(|pair| double_hash(&[&pair[0], &pair[pair.len() - 1]])).collect();
    }
    level.pop().ok_or(NO_TRANSACTIONS)
}

fn double_hash(parts: &[&[u8]]) -> [u8; 32] {
    let mut engine = sha256d::Hash::engine();
    for part in parts {
        engine.input(part);
    }
    sha256d::Hash::from_engine(engine).to_byte_array()
}

/// Hashes print in the reverse order of their bytes.
fn printed(bytes: &[u8]) -> [u8; 32] {
    let mut reversed: [u8; 32] = bytes.try_into().expect("a hash has 32 bytes");
    reversed.reverse();
    reversed
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
