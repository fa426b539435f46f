//! Small chains by hand.

use headwater_ledger::facts::{
    Batch, BlockFacts, Body, InputFacts, LogFacts, Movement, MovementFact, OutPoint, OutputFacts, TransactionFacts,
    UtxoFacts, opening,
};
use headwater_ledger::read::{Ordinal, ScriptType, Status};
use headwater_types::address::{UtxoAddress, UtxoPayload};
use headwater_types::{Address, Amount, Asset, Chain, Family, Network, Timestamp, TxHash};

/// The time of block 0 of every chainlet, and seconds per block.
const START: i64 = 1_600_000_000;
const STEP: i64 = 12;

/// A small chain that grows by one call per fact. Each call that makes a transaction puts it into a block of its own
/// unless [`Chainlet::same_block`] was called before it.
///
/// ```
/// use headwater_testkit::Chainlet;
/// let batch = Chainlet::ethereum()
///     .transfer(1, 2, 100)
///     .fee(3)
///     .token_transfer(9, 2, 1, 50)
///     .transfer(2, 3, 7)
///     .failed()
///     .batch();
/// assert_eq!(batch.transactions.len(), 3);
/// ```
#[derive(Debug, Clone)]
pub struct Chainlet {
    batch: Batch,
    block: u64,
    index: u32,
    stays: bool,
}

/// The number of the account that [`address`] makes the pay-to-anchor address on bitcoin, which has no owner.
pub const ANCHOR: u64 = u64::MAX;

/// Account `number` of a chain; not the zero address.
#[must_use]
pub fn address(chain: Chain, number: u64) -> Address {
    let mut bytes = [0xaa; 20];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    match chain.family() {
        Family::Evm => Address::Evm(bytes),
        Family::Tron => Address::Tron(bytes),
        Family::Utxo if number == ANCHOR => Address::parse(chain, "bc1pfeessrawgf").expect("the address of BIP 433"),
        Family::Utxo => {
            Address::Utxo(UtxoAddress { network: Network::Mainnet, payload: UtxoPayload::PublicKeyHash(bytes) })
        }
    }
}

/// Token contract `number` of a chain: an address apart from those of accounts.
#[must_use]
pub fn token(chain: Chain, number: u64) -> Asset {
    Asset::Token(address(chain, 1_000_000 + number))
}

/// Topic `number` of event logs.
#[must_use]
pub fn topic(number: u64) -> [u8; 32] {
    let mut bytes = [0x77; 32];
    // Mixed, so that the order of topics is not that of numbers.
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes
}

/// The hash of the transaction at a place of a chainlet.
#[must_use]
pub fn hash(block: u64, index: u32) -> TxHash {
    // Mixed, so that the order of hashes is not that of places.
    let mixed = (block << 20 | u64::from(index)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut bytes = [0x11; 32];
    bytes[..8].copy_from_slice(&mixed.to_be_bytes());
    bytes[16..24].copy_from_slice(&block.to_be_bytes());
    bytes[24..28].copy_from_slice(&index.to_be_bytes());
    bytes[31] = mixed.to_le_bytes()[0];
    TxHash::new(bytes)
}

/// An output to account `number`.
#[must_use]
pub fn pay_to(number: u64, satoshis: u64) -> OutputFacts {
    OutputFacts {
        owner: Some(address(Chain::BITCOIN, number)),
        amount: satoshis,
        script: ScriptType::P2pkh,
        data: None,
    }
}

impl Chainlet {
    /// An empty chain.
    #[must_use]
    pub fn new(chain: Chain) -> Self {
        Self { batch: Batch::new(chain), block: 0, index: 0, stays: false }
    }

    /// An empty Ethereum.
    #[must_use]
    pub fn ethereum() -> Self {
        Self::new(Chain::ETHEREUM)
    }

    /// An empty TRON.
    #[must_use]
    pub fn tron() -> Self {
        Self::new(Chain::TRON)
    }

    /// An empty Bitcoin.
    #[must_use]
    pub fn bitcoin() -> Self {
        Self::new(Chain::BITCOIN)
    }

    /// The next transaction goes into the same block as the one before.
    #[must_use]
    pub fn same_block(mut self) -> Self {
        self.stays = true;
        self
    }

    /// The next block gets this number.
    #[must_use]
    pub fn at_block(mut self, number: u64) -> Self {
        self.block = number.checked_sub(1).expect("chainlets begin at block 1");
        self.stays = false;
        self
    }

    fn begin(&mut self) -> TransactionFacts {
        if std::mem::take(&mut self.stays) && self.block > 0 {
            self.index += 1;
        } else {
            self.block += 1;
            self.index = 0;
            let time = Timestamp::new(START + STEP * i64::try_from(self.block).expect("small"));
            self.batch.blocks.push(BlockFacts { number: self.block, hash: None, parent: None, time });
        }
        TransactionFacts { index: Some(self.index), ..TransactionFacts::new(hash(self.block, self.index), self.block) }
    }

    fn last(&mut self) -> &mut TransactionFacts {
        self.batch.transactions.last_mut().expect("a transaction comes first")
    }

    fn account(&self, number: u64) -> Address {
        address(self.batch.chain, number)
    }

    /// A transaction that moves `value` of the native coin and succeeds.
    #[must_use]
    pub fn transfer(mut self, from: u64, to: u64, value: u64) -> Self {
        let body = Body { from: Some(self.account(from)), to: Some(self.account(to)), value: Amount::from(value) };
        let facts = TransactionFacts { body: Some(body), status: Some(Status::Success), ..self.begin() };
        self.batch.transactions.push(facts);
        self
    }

    /// A transaction of `from` that calls the token contract to move `amount` to `to`.
    #[must_use]
    pub fn token_transfer(self, token_number: u64, from: u64, to: u64, amount: u64) -> Self {
        self.transfer(from, 1_000_000 + token_number, 0).token_movement(token_number, from, to, amount)
    }

    /// The last transaction also moves a token; its log index counts on.
    #[must_use]
    pub fn token_movement(mut self, token_number: u64, from: u64, to: u64, amount: u64) -> Self {
        let log = self.last().movements.iter().filter(|movement| movement.kind == MovementFact::Token).count() as u64;
        let movement = Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Indexed(u64::from(self.index) * 100 + log),
            from: Some(self.account(from)),
            to: Some(self.account(to)),
            asset: token(self.batch.chain, token_number),
            amount: Amount::from(amount),
        };
        self.last().movements.push(movement);
        self
    }

    /// The last transaction also emits an event log of contract `number` with these topics; its log index counts on.
    #[must_use]
    pub fn log(mut self, number: u64, topics: &[u64], data: &[u8]) -> Self {
        let address = self.account(number);
        let logs = self.last().logs.len() as u64;
        let index = u64::from(self.index) * 100 + logs;
        let topics = topics.iter().map(|number| topic(*number)).collect();
        self.last().logs.push(LogFacts { index, address, topics, data: data.to_vec() });
        self
    }

    /// The last transaction also moves the native coin inside.
    #[must_use]
    pub fn internal(mut self, from: u64, to: u64, value: u64) -> Self {
        let trace = self.last().movements.iter().filter(|movement| movement.kind == MovementFact::Internal).count();
        let movement = Movement {
            kind: MovementFact::Internal,
            ordinal: Ordinal::Indexed(trace as u64 + 1),
            from: Some(self.account(from)),
            to: Some(self.account(to)),
            asset: Asset::Native,
            amount: Amount::from(value),
        };
        self.last().movements.push(movement);
        self
    }

    /// Movements of the last transaction lose their ordinals, as in an account export.
    #[must_use]
    pub fn unindexed(mut self) -> Self {
        self.last().movements.iter_mut().for_each(|movement| movement.ordinal = Ordinal::Unindexed(0));
        self
    }

    /// The last transaction paid this fee.
    #[must_use]
    pub fn fee(mut self, fee: u64) -> Self {
        self.last().fee = Some(Amount::from(fee));
        self
    }

    /// The last transaction failed.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.last().status = Some(Status::Failed);
        self
    }

    /// It is unknown whether the last transaction succeeded.
    #[must_use]
    pub fn status_unknown(mut self) -> Self {
        self.last().status = None;
        self
    }

    /// A coinbase transaction that pays one account.
    #[must_use]
    pub fn mine(mut self, to: u64, satoshis: u64) -> Self {
        let utxo = UtxoFacts::new(true, vec![], vec![pay_to(to, satoshis)]);
        let facts = TransactionFacts { utxo: Some(utxo), ..self.begin() };
        self.batch.transactions.push(facts);
        self
    }

    /// A transaction that spends outputs, given as (block, index, output), without telling what they hold.
    #[must_use]
    pub fn spend(mut self, outputs: &[(u64, u32, u32)], to: &[(u64, u64)]) -> Self {
        let input = |&(block, index, output): &(u64, u32, u32)| {
            InputFacts::new(OutPoint { hash: hash(block, index), index: output }, None)
        };
        let utxo = UtxoFacts::new(
            false,
            outputs.iter().map(input).collect(),
            to.iter().map(|&(number, satoshis)| pay_to(number, satoshis)).collect(),
        );
        let facts = TransactionFacts { utxo: Some(utxo), ..self.begin() };
        self.batch.transactions.push(facts);
        self
    }

    /// A list states who holds how much of a token at the end of the block of the last transaction.
    #[must_use]
    pub fn opening(mut self, token_number: u64, held: &[(u64, u64)]) -> Self {
        let chain = self.batch.chain;
        let contract = *token(chain, token_number).contract().expect("a token has one");
        let time = self.batch.blocks.last().expect("a transaction comes first").time;
        let held = held.iter().map(|&(number, amount)| (address(chain, number), Amount::from(amount))).collect();
        let parts = opening(chain, contract, self.block, time, held).expect("each holder is stated once");
        self.batch.transactions.extend(parts);
        self
    }

    /// Changes the last transaction in a way that has no call of its own.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut TransactionFacts)) -> Self {
        change(self.last());
        self
    }

    /// All of it.
    #[must_use]
    pub fn batch(self) -> Batch {
        self.batch
    }
}
