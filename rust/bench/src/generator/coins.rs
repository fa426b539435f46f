//! Payments in bitcoin between wallets: as large as asked for, and the same for the same seed.
//!
//! Wallets are drawn by a shifted Zipf law, so that a few are services with very many coins. A payment spends up to eight
//! of the payer's coins, most often one or two, pays a new or a known address of another wallet, and keeps the rest at a
//! new address. One transaction in fifty mints coins.

use headwater_ledger::facts::{Batch, BlockFacts, InputFacts, OutPoint, OutputFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;
use headwater_types::address::{UtxoAddress, UtxoPayload};
use headwater_types::{Address, Chain, Network, Timestamp, TxHash};

use super::draw::{Draws, Zipf, mix};

/// Transactions of a block.
pub const BLOCK_TRANSACTIONS: u64 = 2_000;
/// A new wallet for so many transactions.
const TRANSACTIONS_PER_WALLET: u64 = 20;
const SECS_PER_BLOCK: i64 = 600;
const START: i64 = 1_500_000_000;
const MINTED: u64 = 625_000_000;
const FEE: u64 = 1_000;

/// A coin of a wallet.
#[derive(Debug, Clone, Copy)]
struct Coin {
    transaction: u64,
    output: u32,
    address: u64,
    amount: u64,
}

/// The payments so far, and who owns which coins.
#[derive(Debug)]
pub struct Coins {
    draws: Draws,
    wallets: Vec<Vec<Coin>>,
    by_rank: Zipf,
    addresses: u64,
    transactions: u64,
}

impl Coins {
    /// A chain of about so many transactions, none of which is made yet.
    #[must_use]
    pub fn new(transactions: u64, seed: u64) -> Self {
        let wallets = u32::try_from((transactions / TRANSACTIONS_PER_WALLET).max(10)).unwrap_or(u32::MAX);
        Self {
            draws: Draws::new(mix(seed)),
            wallets: vec![Vec::new(); wallets as usize],
            by_rank: Zipf::new(wallets, 50.0),
            addresses: 0,
            transactions: 0,
        }
    }

    /// The next blocks.
    #[must_use]
    pub fn blocks(&mut self, count: u64) -> Batch {
        let mut batch = Batch::new(Chain::BITCOIN);
        for _ in 0..count {
            let number = self.transactions / BLOCK_TRANSACTIONS;
            let time = Timestamp::new(START + SECS_PER_BLOCK * number.cast_signed());
            batch.blocks.push(BlockFacts { number, hash: None, parent: None, time });
            for index in 0..BLOCK_TRANSACTIONS {
                let utxo = self.transaction(index);
                batch.transactions.push(TransactionFacts {
                    time: Some(time),
                    index: u32::try_from(index).ok(),
                    utxo: Some(utxo),
                    ..TransactionFacts::new(hash(self.transactions), number)
                });
                self.transactions += 1;
            }
        }
        batch
    }

    fn transaction(&mut self, index: u64) -> UtxoFacts {
        let (payer, payee) = (self.wallet(), self.wallet());
        if index == 0 || self.draws.next().is_multiple_of(50) || self.wallets[payer].is_empty() {
            return UtxoFacts::new(true, Vec::new(), vec![self.pay(payee, 0, MINTED)]);
        }
        let wanted = 1 + (self.draws.next() % 256).leading_zeros().saturating_sub(56);
        let mut inputs = Vec::new();
        let mut total = 0;
        for _ in 0..wanted {
            let held = self.wallets[payer].len() as u64;
            if held == 0 {
                break;
            }
            let place = usize::try_from(self.draws.next() % held).unwrap_or(0);
            let coin = self.wallets[payer].swap_remove(place);
            total += coin.amount;
            let previous = OutPoint { hash: hash(coin.transaction), index: coin.output };
            inputs.push(InputFacts::new(previous, Some(output(coin.address, coin.amount))));
        }
        let total = total.saturating_sub(FEE);
        let paid = (total / 3).max(1) + self.draws.next() % (total / 3).max(1);
        let outputs = vec![self.pay(payee, 0, paid), self.pay(payer, 1, total.saturating_sub(paid))];
        UtxoFacts::new(false, inputs, outputs)
    }

    fn wallet(&mut self) -> usize {
        self.by_rank.rank(self.draws.unit()) as usize
    }

    /// An output of the next transaction: every third payment goes to an address that the wallet had before.
    fn pay(&mut self, wallet: usize, index: u32, amount: u64) -> OutputFacts {
        let known = self.wallets[wallet].last().filter(|_| index == 0).map(|coin| coin.address);
        let address = match known {
            Some(known) if self.draws.next().is_multiple_of(3) => known,
            _ => {
                self.addresses += 1;
                self.addresses
            }
        };
        self.wallets[wallet].push(Coin { transaction: self.transactions, output: index, address, amount });
        output(address, amount)
    }
}

fn output(address: u64, amount: u64) -> OutputFacts {
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&mix(address).to_be_bytes());
    bytes[8..16].copy_from_slice(&address.to_be_bytes());
    let owner = UtxoAddress { network: Network::Mainnet, payload: UtxoPayload::PublicKeyHash(bytes) };
    OutputFacts { owner: Some(Address::Utxo(owner)), amount, script: ScriptType::P2pkh, data: None }
}

fn hash(transaction: u64) -> TxHash {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&mix(transaction).to_be_bytes());
    bytes[8..16].copy_from_slice(&transaction.to_be_bytes());
    TxHash::new(bytes)
}
