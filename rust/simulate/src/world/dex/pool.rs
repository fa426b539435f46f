//! A pool of two tokens: constant product, a fee of 0.3 %, in integers as the contract computes it.

use headwater_types::{Address, Amount, Chain};
use ruint::aliases::U256;

use crate::abi;
use crate::book::Effect;

/// Shares that the first deposit locks away for good.
pub(crate) const MINIMUM_SHARES: u128 = 1_000;

/// One pair contract.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    /// The chain.
    pub(crate) chain: Chain,
    /// The exchange that it belongs to, by place.
    pub(crate) dex: usize,
    /// The contract, which is also the token of its shares.
    pub(crate) pair: Address,
    /// Its two tokens by their place in the world, in order of contract.
    pub(crate) tokens: [usize; 2],
    /// Their contracts.
    pub(crate) contracts: [Address; 2],
    /// The reserves.
    pub(crate) reserves: [u128; 2],
    /// Shares in being.
    pub(crate) shares: u128,
}

/// One swap, computed but not yet done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leg {
    /// The pool by place.
    pub(crate) pool: usize,
    /// The token that goes in.
    pub(crate) side: usize,
    /// The amount that goes in.
    pub(crate) paid: u128,
    /// The amount that comes out.
    pub(crate) got: u128,
}

/// `in·997·reserve_out / (reserve_in·1000 + in·997)`, rounded down.
pub(crate) fn amount_out(paid: u128, reserve_in: u128, reserve_out: u128) -> u128 {
    let with_fee = U256::from(paid) * U256::from(997);
    let below = U256::from(reserve_in) * U256::from(1_000) + with_fee;
    if below.is_zero() {
        return 0;
    }
    (with_fee * U256::from(reserve_out) / below).to()
}

/// `floor(sqrt(left·right))`.
pub(crate) fn geometric(left: u128, right: u128) -> u128 {
    (U256::from(left) * U256::from(right)).root(2).to()
}

/// `part·whole/of`, rounded down.
pub(crate) fn share(part: u128, whole: u128, of: u128) -> u128 {
    if of == 0 { 0 } else { (U256::from(part) * U256::from(whole) / U256::from(of)).to() }
}

impl Pool {
    /// The side of a token; `None` when the pool does not have it.
    pub(crate) fn side(&self, token: usize) -> Option<usize> {
        self.tokens.iter().position(|&held| held == token)
    }

    /// Returns what comes out for this much of a side.
    pub(crate) fn out(&self, side: usize, paid: u128) -> u128 {
        amount_out(paid, self.reserves[side], self.reserves[1 - side])
    }

    /// Counts a swap.
    pub(crate) fn apply(&mut self, leg: Leg) {
        self.reserves[leg.side] += leg.paid;
        self.reserves[1 - leg.side] -= leg.got;
    }

    /// The events of a swap behind the transfer into the pool: the transfer out, `Sync`, `Swap`.
    pub(crate) fn swap_effects(&self, leg: Leg, sender: Address, to: Address) -> [Effect; 3] {
        let mut after = self.clone();
        after.apply(leg);
        let mut words = [0; 4];
        words[leg.side] = leg.paid;
        words[3 - leg.side] = leg.got;
        [
            Effect::Token {
                contract: self.contracts[1 - leg.side],
                from: self.pair,
                to,
                amount: Amount::from_u128(leg.got),
            },
            after.sync(),
            Effect::Log {
                address: self.pair,
                topics: vec![
                    abi::topic("Swap(address,uint256,uint256,uint256,uint256,address)"),
                    abi::account(&sender),
                    abi::account(&to),
                ],
                data: words.map(|word| abi::amount(Amount::from_u128(word))).concat(),
            },
        ]
    }

    /// `Sync` with what it has.
    pub(crate) fn sync(&self) -> Effect {
        Effect::Log {
            address: self.pair,
            topics: vec![abi::topic("Sync(uint112,uint112)")],
            data: self.reserves.map(|reserve| abi::amount(Amount::from_u128(reserve))).concat(),
        }
    }

    /// `Mint` or `Burn` of a pair of amounts.
    pub(crate) fn liquidity_log(&self, sender: Address, receiver: Option<Address>, amounts: [u128; 2]) -> Effect {
        let signature = match receiver {
            None => "Mint(address,uint256,uint256)",
            Some(_) => "Burn(address,uint256,uint256,address)",
        };
        let mut topics = vec![abi::topic(signature), abi::account(&sender)];
        topics.extend(receiver.map(|receiver| abi::account(&receiver)));
        let data = amounts.map(|amount| abi::amount(Amount::from_u128(amount))).concat();
        Effect::Log { address: self.pair, topics, data }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_gives_what_the_formula_of_the_contract_gives() {
        // 1000 into 1 000 000 : 1 000 000: 997000 * 1e6 / (1e9 + 997000) = 996.006...
        assert_eq!(amount_out(1_000, 1_000_000, 1_000_000), 996);
        assert_eq!(amount_out(0, 5, 5), 0);
        assert_eq!(geometric(10_u128.pow(30), 10_u128.pow(28)), 10_u128.pow(29));
        assert_eq!(share(u128::MAX / 3, 6, 2), u128::MAX / 3 * 3);
    }

    #[test]
    fn the_product_never_shrinks() {
        for paid in [1, 17, 1_000, 123_456_789, 10_u128.pow(24)] {
            let (left, right) = (7 * 10_u128.pow(20), 3 * 10_u128.pow(12));
            let got = amount_out(paid, left, right);
            let before = U256::from(left) * U256::from(right);
            assert!(U256::from(left + paid) * U256::from(right - got) >= before);
        }
    }
}
