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
    let later = ForkFields::read(fields)?;
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
struct ForkFields {
    base_fee_per_gas: Option<U256>,
    withdrawals_root: Option<[u8; 32]>,
    excess_blob_gas: Option<u64>,
}

impl ForkFields {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlp::List;
    use crate::trie::EMPTY_ROOT;

    /// The fields of block 0 of Ethereum, whose hash is in every client, with those of later forks behind them.
    fn genesis(later: usize) -> Vec<u8> {
        let bytes = |text: &str| hex::decode(text).unwrap();
        let mut fields = List::default();
        fields.bytes(&[0; 32]);
        fields.bytes(&bytes("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")).bytes(&[0; 20]);
        fields.bytes(&bytes("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544"));
        fields.bytes(&EMPTY_ROOT).bytes(&EMPTY_ROOT).bytes(&[0; 256]);
        fields.number(0x4_0000_0000).number(0).number(0x1388).number(0).number(0);
        fields.bytes(&bytes("11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa"));
        fields.bytes(&[0; 32]).bytes(&[0, 0, 0, 0, 0, 0, 0, 0x42]);
        for field in 0..later {
            match field {
                0 | 2 | 3 => fields.number(7),
                _ => fields.bytes(&[9; 32]),
            };
        }
        fields.finish()
    }

    #[test]
    fn header_of_genesis_has_its_published_hash() {
        let header = read_header(Chain::ETHEREUM, Some(0), &genesis(0)).unwrap();
        let published = "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3";
        assert_eq!(hex::encode(header.hash().as_bytes()), published);
        assert_eq!((header.difficulty(), header.blob_gas_price()), (U256::from(0x4_0000_0000_u64), None));
    }

    #[test]
    fn header_of_each_fork_is_read_and_others_are_not() {
        for later in 0..8 {
            let outcome = read_header(Chain::ETHEREUM, None, &genesis(later));
            assert_eq!(outcome.is_ok(), LATER_COUNTS.contains(&later), "{later}");
        }
        let error = read_header(Chain::ETHEREUM, None, &genesis(7)).unwrap_err();
        assert_eq!(error.mismatch.code(), "unknown_block_form");
        assert!(error.description().contains("fields: 22 fields"), "{error}");
    }

    #[test]
    fn header_of_another_number_is_refused() {
        let error = read_header(Chain::ETHEREUM, Some(5), &genesis(0)).unwrap_err();
        assert_eq!(error.to_string(), "block 5: header.number is 0; expected 5, the number of its place");
        assert_eq!(error.description(), "header.number is 0; expected 5, the number of its place");
    }
}
