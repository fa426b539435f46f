//! The core prices: daily closes of the native coins, which every store has without an import. `SOURCES.md` beside this
//! file has their sources, licences and weak spots.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use headwater_types::Timestamp;

use super::listing::Price;

const DAY_SECS: i64 = 86_400;

/// The rate symbols, in the order of the columns of the table.
const SYMBOLS: [&str; 4] = ["btc", "eth", "bnb", "trx"];

/// The table, packed by `scripts/core_prices.py`.
const PACKED: &[u8] = include_bytes!("daily.gz");

static PRICES: LazyLock<[(&str, Vec<Price>); 4]> = LazyLock::new(|| {
    let mut table = Vec::new();
    GzDecoder::new(PACKED).read_to_end(&mut table).expect("a test unpacks the table");
    let mut rest = table.as_slice();
    SYMBOLS.map(|symbol| (symbol, coin(&mut rest).expect("a test reads every price of the table")))
});

/// Returns the core prices by rate symbol: the closes of consecutive UTC days in US dollars, each with the last second of
/// its day as its time.
///
/// ```
/// use headwater_ledger::market::core_prices;
/// let (symbol, prices) = &core_prices()[0];
/// assert_eq!((*symbol, prices[0].usd, prices[0].time.to_string().as_str()), ("btc", 0.04951, "2010-07-17T23:59:59Z"));
/// ```
#[must_use]
pub fn core_prices() -> &'static [(&'static str, Vec<Price>)] {
    &*PRICES
}

/// Reads the prices of one coin: its first day, its number of days, then each place of their doubles, the lowest first.
fn coin(rest: &mut &[u8]) -> Option<Vec<Price>> {
    let (first, count) = (i32::from_le_bytes(number(rest)?), u32::from_le_bytes(number(rest)?));
    let count = usize::try_from(count).ok()?;
    let (places, after) = rest.split_at_checked(count * size_of::<f64>())?;
    *rest = after;
    let price = |(row, day): (usize, i64)| Price {
        usd: f64::from_le_bytes(std::array::from_fn(|place| places[place * count + row])),
        time: Timestamp::new(day * DAY_SECS + DAY_SECS - 1),
    };
    Some((0..count).zip(i64::from(first)..).map(price).collect())
}

fn number(rest: &mut &[u8]) -> Option<[u8; 4]> {
    let (number, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as text, parsed without the code above.
    const TABLE: &str = include_str!("daily.csv");

    #[test]
    fn core_prices_are_those_of_the_table_to_the_last_bit() {
        let mut lines = TABLE.lines();
        assert_eq!(lines.next(), Some("date,btc,eth,bnb,trx"));
        let mut expected: [Vec<(Timestamp, u64)>; 4] = Default::default();
        for line in lines {
            let (date, cells) = line.split_once(',').unwrap();
            let end: Timestamp = format!("{date}T23:59:59Z").parse().unwrap();
            for (cell, column) in cells.split(',').zip(&mut expected).filter(|(cell, _)| !cell.is_empty()) {
                column.push((end, cell.parse::<f64>().unwrap().to_bits()));
            }
        }
        assert_eq!(core_prices().iter().map(|(symbol, _)| *symbol).collect::<Vec<_>>(), SYMBOLS);
        for ((symbol, prices), expected) in core_prices().iter().zip(expected) {
            let packed: Vec<_> = prices.iter().map(|price| (price.time, price.usd.to_bits())).collect();
            assert!(packed == expected, "{symbol}: scripts/core_prices.py packs the table");
        }
    }

    #[test]
    fn core_prices_take_under_100_kb() {
        assert!(PACKED.len() < 100_000, "{} bytes", PACKED.len());
    }

    #[test]
    fn core_prices_are_above_zero_and_a_day_apart() {
        for (symbol, prices) in core_prices() {
            assert!(prices.iter().all(|price| price.usd > 0.0 && price.usd.is_finite()), "{symbol}");
            let days: Vec<i64> = prices.windows(2).map(|pair| pair[1].time.secs() - pair[0].time.secs()).collect();
            assert!(days.iter().all(|gap| *gap == DAY_SECS), "{symbol}");
        }
    }
}
