//! A header from its canonical bytes.

use headwater_types::{BlockHash, Chain};
use ruint::aliases::U256;
use sha3::{Digest as _, Keccak256};

use super::super::blob_fee::blob_gas_price;
use super::super::header::VerifiedHeader;
use crate::mismatch::{Fault, Mismatch, Rule, VerificationError};
use crate::rlp::Items;

/// The fields that a header has besides the first fifteen, by fork: London, Shanghai, Cancun, Prague.
const LATER_COUNTS: [usize; 5] = [0, 1, 2, 5, 6];

/// A header with the hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedHeader {
    pub(super) verified: VerifiedHeader,
    pub(super) ommers_hash: [u8; 32],
    difficulty: U256,
    excess_blob_gas: Option<u64>,
}

impl EncodedHeader {
    /// The number of the block.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.verified.number()
    }

    /// The hash of the bytes. It is the hash of a block of the chain only if something else says so.
    #[must_use]
    pub const fn hash(&self) -> BlockHash {
        self.verified.hash()
    }

    /// The hash of the block before it.
    #[must_use]
    pub const fn parent_hash(&self) -> BlockHash {
        self.verified.parent_hash()
    }

    /// The time of the block in seconds since 1970.
    #[must_use]
    pub const fn timestamp_secs(&self) -> u64 {
        self.verified.timestamp_secs()
    }

    /// The difficulty; zero since the merge.
    #[must_use]
    pub const fn difficulty(&self) -> U256 {
        self.difficulty
    }

    /// Checks that the block follows `previous`.
    ///
    /// # Errors
    /// When the block names another parent.
    pub fn verify_parent(&self, previous: BlockHash) -> Result<(), VerificationError> {
        self.verified.verify_parent(previous)
    }

    /// The price per unit of blob gas in wei (EIP-4844); `None` where the block has no blobs, or where the forks of its
    /// chain or time are not known to this version.
    #[must_use]
    pub fn blob_gas_price(&self) -> Option<U256> {
        blob_gas_price(self.verified.chain, self.verified.timestamp, self.excess_blob_gas?)
    }
}

/// Reads a header and computes its hash. `expected` is the number that it should have; without it, an error states block 0
/// (see [`VerificationError::description`]).
///
/// # Errors
/// When the bytes are not those of a header, or the number is another one.
pub fn read_header(chain: Chain, expected: Option<u64>, bytes: &[u8]) -> Result<EncodedHeader, VerificationError> {
    read(chain, expected, bytes).map_err(|fault| fault.within("header").at(expected.unwrap_or_default()))
}

fn read(chain: Chain, expected: Option<u64>, bytes: &[u8]) -> Result<EncodedHeader, Fault> {
    let mut fields = Items::whole(bytes, "")?;
    let parent_hash = fields.fixed("parentHash")?;
    let ommers_hash = fields.fixed("sha3Uncles")?;
    fields.fixed::<20>("miner")?;
    fields.fixed::<32>("stateRoot")?;
    let transactions_root = fields.fixed("transactionsRoot")?;
    let receipts_root = fields.fixed("receiptsRoot")?;
    let logs_bloom = Box::new(fields.fixed("logsBloom")?);
    let difficulty = fields.quantity("difficulty")?;
    let number = fields.number("number")?;
    fields.number("gasLimit")?;
    let gas_used = fields.number("gasUsed")?;
    let timestamp = fields.number("timestamp")?;
    fields.bytes("extraData")?;
    fields.fixed::<32>("mixHash")?;
    fields.fixed::<8>("nonce")?;
    let later = Later::read(fields)?;
    if let Some(expected) = expected.filter(|expected| number != *expected) {
        let expected = format!("{expected}, the number of its place");
        return Err(Fault::value("number", Rule::Block, number.to_string(), expected));
    }
    let hash = Keccak256::digest(bytes).into();
    let verified = VerifiedHeader {
        chain,
        number,
        hash,
        parent_hash,
        timestamp,
        transactions_root,
        receipts_root,
        withdrawals_root: later.withdrawals_root,
        logs_bloom,
        gas_used,
        base_fee_per_gas: later.base_fee_per_gas,
    };
    Ok(EncodedHeader { verified, ommers_hash, difficulty, excess_blob_gas: later.excess_blob_gas })
}

/// The fields that forks added.
#[derive(Default)]
struct Later {
    base_fee_per_gas: Option<U256>,
    withdrawals_root: Option<[u8; 32]>,
    excess_blob_gas: Option<u64>,
}

impl Later {
    fn read(mut fields: Items<'_>) -> Result<Self, Fault> {
        let mut count = 0;
        let mut rest = fields.clone();
        while !rest.is_empty() {
            rest.encoded("")?;
            count += 1;
        }
        if !LATER_COUNTS.contains(&count) {
            let fields = vec![format!("{} fields", 15 + count)];
            return Err(Fault::new("", Mismatch::UnknownBlockForm { fields }));
        }
        let mut later = Self::default();
        if count >= 1 {
            later.base_fee_per_gas = Some(fields.quantity("baseFeePerGas")?);
        }
        if count >= 2 {
            later.withdrawals_root = Some(fields.fixed("withdrawalsRoot")?);
        }
        if count >= 5 {
            fields.number("blobGasUsed")?;
            later.excess_blob_gas = Some(fields.number("excessBlobGas")?);
            fields.fixed::<32>("parentBeaconBlockRoot")?;
        }
        if count >= 6 {
            fields.fixed::<32>("requestsHash")?;
        }
        Ok(later)
    }
}
