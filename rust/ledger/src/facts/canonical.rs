//! The bytes of a fact: one form for one content, so that contents can be told apart by a digest.
//!
//! Fields are in the order of their declaration; an optional one begins with a byte 0 or 1, a list or text with its
//! length. Integers are little-endian. The form may change between versions of the software: it is never stored.

use headwater_types::{Address, Amount, Asset, Timestamp};

use super::{AmountOf, BlockFacts, Body, InputFacts, LogFacts, Movement, MovementFact, OutputFacts, TokenFacts};
use super::{TransactionFacts, UtxoFacts};
use crate::primitives::{Ordinal, Status};

/// Something that has canonical bytes.
pub(crate) trait Canonical {
    /// Appends them.
    fn write(&self, out: &mut Vec<u8>);
}

impl Canonical for u8 {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl Canonical for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
}

impl Canonical for u32 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl Canonical for u64 {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }
}

impl<const N: usize> Canonical for [u8; N] {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl Canonical for str {
    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        out.extend_from_slice(self.as_bytes());
    }
}

impl Canonical for String {
    fn write(&self, out: &mut Vec<u8>) {
        self.as_str().write(out);
    }
}

impl<T: Canonical> Canonical for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }
}

impl<T: Canonical> Canonical for Vec<T> {
    fn write(&self, out: &mut Vec<u8>) {
        (self.len() as u64).write(out);
        for value in self {
            value.write(out);
        }
    }
}

impl Canonical for Timestamp {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.secs().to_le_bytes());
    }
}

impl Canonical for Amount {
    fn write(&self, out: &mut Vec<u8>) {
        self.to_be_bytes().write(out);
    }
}

impl Canonical for Address {
    fn write(&self, out: &mut Vec<u8>) {
        let key = self.key();
        (key.as_slice().len() as u64).write(out);
        out.extend_from_slice(key.as_slice());
    }
}

impl Canonical for Asset {
    fn write(&self, out: &mut Vec<u8>) {
        self.contract().copied().write(out);
    }
}

impl Canonical for Status {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(match self {
            Self::Success => 0,
            Self::Failed => 1,
        });
    }
}

impl Canonical for Ordinal {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Indexed(number) => Some(*number).write(out),
            Self::Unindexed(_) => None::<u64>.write(out),
        }
    }
}

impl Canonical for Body {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { from, to, value } = self;
        from.write(out);
        to.write(out);
        value.write(out);
    }
}

impl Canonical for Movement {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { kind, ordinal, from, to, asset, amount } = self;
        out.push(match kind {
            MovementFact::Internal => 0,
            MovementFact::Token => 1,
            MovementFact::NonFungible => 2,
            MovementFact::Opening => 3,
        });
        ordinal.write(out);
        from.write(out);
        to.write(out);
        asset.write(out);
        amount.write(out);
    }
}

impl Canonical for LogFacts {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { index, address, topics, data } = self;
        index.write(out);
        address.write(out);
        topics.write(out);
        data.write(out);
    }
}

impl Canonical for OutputFacts {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { owner, amount, script, data } = self;
        owner.write(out);
        amount.write(out);
        script.name().write(out);
        data.write(out);
    }
}

impl Canonical for InputFacts {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { previous, spent, sequence } = self;
        previous.hash.as_bytes().write(out);
        previous.index.write(out);
        spent.write(out);
        sequence.write(out);
    }
}

impl Canonical for UtxoFacts {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { coinbase, version, lock_time, weight_wu, inputs, outputs } = self;
        coinbase.write(out);
        version.write(out);
        lock_time.write(out);
        weight_wu.write(out);
        inputs.write(out);
        outputs.write(out);
    }
}

impl Canonical for TransactionFacts {
    fn write(&self, out: &mut Vec<u8>) {
        let Self {
            hash,
            block,
            time,
            // Part of the block.
            block_hash: _,
            index,
            body,
            created,
            status,
            failure_reason,
            nonce,
            gas_limit,
            gas_used,
            gas_price,
            effective_gas_price,
            fee,
            carries_blobs,
            input,
            method_id,
            method,
            movements,
            logs,
            utxo,
            approximate,
        } = self;
        hash.as_bytes().write(out);
        block.write(out);
        time.write(out);
        index.write(out);
        body.write(out);
        created.write(out);
        status.write(out);
        failure_reason.write(out);
        nonce.write(out);
        gas_limit.write(out);
        gas_used.write(out);
        gas_price.write(out);
        effective_gas_price.write(out);
        fee.write(out);
        if *carries_blobs {
            carries_blobs.write(out);
        }
        input.write(out);
        method_id.write(out);
        method.write(out);
        movements.write(out);
        logs.write(out);
        utxo.write(out);
        for amount in approximate {
            amount.write(out);
        }
    }
}

impl Canonical for AmountOf {
    fn write(&self, out: &mut Vec<u8>) {
        let (kind, number) = match self {
            Self::Value => (0, 0),
            Self::Internal(number) => (1, *number),
            Self::Token(number) => (2, *number),
        };
        out.push(kind);
        number.write(out);
    }
}

impl Canonical for BlockFacts {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { number, hash, parent, time } = self;
        number.write(out);
        hash.map(|hash| *hash.as_bytes()).write(out);
        parent.map(|parent| *parent.as_bytes()).write(out);
        time.write(out);
    }
}

impl Canonical for TokenFacts {
    fn write(&self, out: &mut Vec<u8>) {
        let Self { contract, symbol, name, decimals, is_non_fungible } = self;
        contract.write(out);
        symbol.write(out);
        name.write(out);
        decimals.write(out);
        if *is_non_fungible {
            is_non_fungible.write(out);
        }
    }
}
