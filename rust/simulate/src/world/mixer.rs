//! The mixer as its customers see it: pools of one denomination each, and notes that are paid out later.

use headwater_types::{Address, Amount, Asset, Chain, TxHash};

use super::queue::Queue;
use super::{Case, Flow, World};
use crate::abi;
use crate::book::{Call, Effect, Insufficient, Receipt};
use crate::identity::digest;

/// The pools and the notes that wait.
#[derive(Default)]
pub(crate) struct Mixer {
    /// Pools in order of chain and denomination.
    pub(crate) pools: Vec<Pool>,
    pub(crate) notes: Queue<Note>,
    pub(crate) deposits: u64,
}

/// One pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pool {
    /// The chain.
    pub(crate) chain: Chain,
    /// The contract.
    pub(crate) contract: Address,
    /// The amount of every deposit, raw.
    pub(crate) denomination: u128,
}

/// A note that waits to be paid out.
pub(crate) struct Note {
    pub(crate) pool: Pool,
    pub(crate) recipient: Address,
    pub(crate) deposit: TxHash,
    pub(crate) depositor: Address,
    pub(crate) case: Option<Case>,
}

impl World {
    /// Deposits one denomination; the note is paid out to `recipient` at about `due`.
    pub(crate) fn mix(
        &mut self,
        now: i64,
        pool: Pool,
        (from, recipient): (Address, Address),
        due: i64,
        case: Option<Case>,
    ) -> Result<Receipt, Insufficient> {
        let number = self.mixer.deposits;
        let commitment = digest(self.seed, "mixer commitment", &number.to_be_bytes());
        let input = abi::call("deposit(bytes32)", &[commitment]);
        let mut call = Call::contract(from, pool.contract, 950_000, input);
        call.value = Amount::from_u128(pool.denomination);
        let topics = vec![abi::topic("Deposit(bytes32,uint32,uint256)"), commitment];
        let data = [abi::number(number), abi::number(now.unsigned_abs())].concat();
        call.effects.push(Effect::Log { address: pool.contract, topics, data });
        let receipt = self.book(pool.chain).send(now, call)?;
        self.mixer.deposits += 1;
        if let Some(case) = &case {
            let flow = Flow::new(from, pool.contract, Asset::Native, pool.denomination);
            self.step(case, "mix", pool.chain, receipt.hash, flow);
        }
        self.mixer.notes.push(due, Note { pool, recipient, deposit: receipt.hash, depositor: from, case });
        Ok(receipt)
    }

    /// The largest pool of a chain that an amount fills.
    pub(crate) fn pool_for(&self, chain: Chain, raw: u128) -> Option<Pool> {
        let fits = |pool: &&Pool| pool.chain == chain && pool.denomination <= raw;
        self.mixer.pools.iter().rev().find(fits).copied()
    }
}
