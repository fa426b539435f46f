//! Payments that everybody can see on chain, and accounts that others look like.

use std::collections::{HashMap, VecDeque};

use headwater_types::{Address, Chain};

use super::World;
use crate::identity::digest;
use crate::truth::Role;

/// Payments that are remembered.
const MEMORY: usize = 256;

/// Payments of people that everybody can see on chain.
#[derive(Default)]
pub(crate) struct VisiblePayments {
    pub(crate) payments: VecDeque<Payment>,
    /// Accounts on TRON, and addresses that look like them.
    pub(crate) twins: HashMap<Address, Address>,
}

/// One of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payment {
    /// When.
    pub(crate) at: i64,
    /// The chain.
    pub(crate) chain: Chain,
    /// The payer.
    pub(crate) from: Address,
    /// The payee.
    pub(crate) to: Address,
    /// In what.
    pub(crate) token: usize,
    /// The amount.
    pub(crate) raw: u128,
}

impl World {
    /// An account on TRON that somebody will find an address for that looks like it.
    pub(crate) fn imitated_account(&mut self, owner: &str, role: Role) -> Address {
        let [account, twin] = twins(self.seed, owner);
        self.file(account, role, owner);
        self.watched.twins.insert(account, twin);
        account
    }

    /// Lets everybody see a payment in a token. On TRON only payments to somebody whom an address looks like matter.
    pub(crate) fn notice(&mut self, payment: Payment) {
        if payment.chain == Chain::TRON && !self.watched.twins.contains_key(&payment.to) {
            return;
        }
        let seen = &mut self.watched.payments;
        if seen.len() == MEMORY {
            seen.pop_front();
        }
        seen.push_back(payment);
    }
}

/// Two addresses of TRON whose texts begin with the same three characters and end with the same four. The end depends
/// on a checksum, so it takes trying: some thousands, as any two of those tried will do.
fn twins(seed: u64, name: &str) -> [Address; 2] {
    let mut tried: HashMap<String, Address> = HashMap::new();
    for number in 0_u32.. {
        let digest = digest(seed, "twins", format!("{name}/{number}").as_bytes());
        let mut bytes = [0; 20];
        bytes.copy_from_slice(&digest[..20]);
        // The first bytes make the first characters.
        bytes[..2].fill(0x5a);
        let address = Address::Tron(bytes);
        let text = address.to_string();
        if let Some(other) = tried.insert([&text[..3], &text[text.len() - 4..]].concat(), address) {
            return [other, address];
        }
    }
    unreachable!("there are fewer ends than numbers")
}
