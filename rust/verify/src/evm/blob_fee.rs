//! The price of the gas of blobs (EIP-4844), which follows from a header and the fork that its time is in.

use headwater_types::Chain;
use ruint::aliases::U256;

/// A fork that changed how fast the price follows demand.
struct Fork {
    chain: Chain,
    /// Its time in seconds since 1970.
    from: u64,
    update_fraction: u64,
}

/// Forks by time: Cancun (EIP-4844), Prague (EIP-7691), and the blob parameter forks of EIP-7892.
const FORKS: &[Fork] = &[
    Fork { chain: Chain::ETHEREUM, from: 1_710_338_135, update_fraction: 3_338_477 },
    Fork { chain: Chain::ETHEREUM, from: 1_746_612_311, update_fraction: 5_007_716 },
    Fork { chain: Chain::ETHEREUM, from: 1_765_290_071, update_fraction: 8_346_193 },
    Fork { chain: Chain::ETHEREUM, from: 1_767_747_671, update_fraction: 11_684_671 },
];

/// The end of the table, 2026-08-20: later forks may exist.
const KNOWN_UNTIL: u64 = 1_787_184_000;

/// Returns the price per unit of blob gas in wei, or `None` where the forks of the chain or of the time are not known.
///
/// Formula: `exp(excess / fraction)`, by the integer approximation of EIP-4844.
pub(super) fn blob_gas_price(chain: Chain, timestamp: u64, excess: u64) -> Option<U256> {
    let fork = FORKS.iter().rfind(|fork| fork.chain == chain && fork.from <= timestamp)?;
    if timestamp >= KNOWN_UNTIL {
        return None;
    }
    exponential(excess, fork.update_fraction)
}

/// Returns `exp(numerator / denominator)` by its Taylor series in whole numbers; `None` beyond 256 bits.
fn exponential(numerator: u64, denominator: u64) -> Option<U256> {
    let (numerator, denominator) = (U256::from(numerator), U256::from(denominator));
    let mut sum = U256::ZERO;
    let mut term = denominator;
    let mut step = U256::from(1);
    while !term.is_zero() {
        sum = sum.checked_add(term)?;
        term = term.checked_mul(numerator)? / denominator.checked_mul(step)?;
        step += U256::from(1);
    }
    Some(sum / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worked by hand: the terms of (2, 1) are 1, 2, 2, 1; those of (5, 2) are 2, 5, 6, 5, 3, 1.
    #[test]
    fn exponential_sums_its_whole_terms() {
        for (numerator, denominator, expected) in [(0, 1, 1), (2, 1, 6), (5, 2, 11), (0, 1_000, 1)] {
            assert_eq!(exponential(numerator, denominator), Some(U256::from(expected)));
        }
        assert_eq!(exponential(u64::MAX, 3_338_477), None);
    }

    #[test]
    fn price_is_unknown_outside_the_known_forks() {
        let of = |chain, time| blob_gas_price(chain, time, 0);
        let one = Some(U256::from(1));
        assert_eq!((of(Chain::ETHEREUM, 1_710_338_135), of(Chain::ETHEREUM, 1_787_183_999)), (one, one));
        assert_eq!((of(Chain::ETHEREUM, 1_710_338_134), of(Chain::ETHEREUM, 1_787_184_000)), (None, None));
        assert_eq!(of(Chain::BSC, 1_720_000_000), None);
    }

    /// The same excess costs less after each fork.
    #[test]
    fn price_falls_with_each_fork() {
        let prices: Vec<_> = [1_710_338_135, 1_746_612_311, 1_765_290_071, 1_767_747_671]
            .map(|time| blob_gas_price(Chain::ETHEREUM, time, 100_000_000).unwrap())
            .into();
        assert!(prices.windows(2).all(|pair| pair[1] < pair[0]), "{prices:?}");
    }
}
