//! The balances of an asset as measures see them: sums over all of them, and of the largest of them as many as are
//! enough for something. No holder is visited but those of a few blocks.

use headwater_types::Amount;

use super::file::AssetRows;
use super::moments::{Moments, Top};
use super::records::Holders;
use crate::error::Result;
use crate::segment::{search, search_from};

/// The balances of the holders of an asset, some of them left out.
pub struct HolderRanking<'a> {
    holders: &'a Holders<'a>,
    moments: Moments,
    /// Balances that are left out, largest first.
    out: Vec<Amount>,
    /// Balances that are in their place, largest first.
    left: Vec<Amount>,
}

impl Holders<'_> {
    /// The balances with sums over all of them, less some: of each balance that is left out, the part of it that is.
    ///
    /// Of a table this reads a few blocks. Where much is outside of it, all balances are read once per generation.
    ///
    /// # Errors
    /// When stored data cannot be read or is damaged.
    pub fn ranked(&self, without: &[(Amount, Amount)]) -> Result<HolderRanking<'_>> {
        HolderRanking::new(self, without)
    }
}

impl<'a> HolderRanking<'a> {
    pub(super) fn new(holders: &'a Holders<'a>, without: &[(Amount, Amount)]) -> Result<Self> {
        if let Some(rows) = &holders.rows {
            rows.will_search();
        }
        let mut this = Self { holders, moments: holders.moments()?, out: Vec::new(), left: Vec::new() };
        for &(balance, part) in without {
            let top = this.at_least(balance)?;
            this.moments.remove(balance, &top);
            this.out.push(balance);
            let left = balance.checked_sub(part).unwrap_or(Amount::ZERO);
            if !left.is_zero() {
                let top = this.at_least(left)?;
                this.moments.insert(left, &top);
                this.left.push(left);
            }
        }
        for balances in [&mut this.out, &mut this.left] {
            balances.sort_unstable_by(|one, other| other.cmp(one));
        }
        Ok(this)
    }

    /// Sums over the balances.
    #[must_use]
    pub const fn moments(&self) -> &Moments {
        &self.moments
    }

    /// All balances of at least so much, which is more than nothing.
    ///
    /// # Errors
    /// When stored data cannot be read or is damaged.
    pub fn at_least(&self, balance: Amount) -> Result<Top> {
        let of = |balances: &[Amount]| {
            let those = balances.iter().filter(|held| **held >= balance);
            those.fold(Top::default(), |top, held| top.and(1, *held))
        };
        Ok(self.holders.at_least(balance)?.without(of(&self.out)).with(of(&self.left)))
    }

    /// Takes the largest, one after the other, until they are enough, or all of them. What is enough stays so with more.
    ///
    /// # Errors
    /// When stored data cannot be read or is damaged.
    pub fn largest(&self, enough: &dyn Fn(&Top) -> bool) -> Result<Top> {
        let nobody = Top::default();
        if enough(&nobody) {
            return Ok(nobody);
        }
        // The largest balance so that those of at least as much are enough: in each list that has some, the first one.
        let is_short = |balance| self.at_least(balance).map(|top| !enough(&top));
        let mut last = None;
        if let Some(rows) = &self.holders.rows {
            last = last.max(first_enough(rows, enough, &is_short)?);
        }
        if let Some(changes) = self.holders.changes {
            let balance = |at| changes.new.get(at).map_or(Amount::ZERO, |row| row.balance);
            let at = search(0..changes.new.len(), |at| is_short(balance(at)))?;
            last = last.max(changes.new.get(at).map(|row| row.balance));
        }
        let at = search(0..self.left.len(), |at| is_short(self.left[at]))?;
        last = last.max(self.left.get(at).copied());
        let Some(last) = last else { return Ok(self.moments.top()) };
        // Of those who hold just as much, as many as it takes.
        let with = self.at_least(last)?;
        let more = last.checked_add(Amount::from(1));
        let before = more.map_or(Ok(nobody), |more| self.at_least(more))?;
        let (mut short, mut count) = (0, with.count.wrapping_sub(before.count));
        while count - short > 1 {
            let middle = short + (count - short) / 2;
            if enough(&before.and(middle, last)) {
                count = middle;
            } else {
                short = middle;
            }
        }
        Ok(before.and(count, last))
    }
}

/// The first balance of a table that is enough.
fn first_enough(
    rows: &AssetRows<'_>,
    enough: &dyn Fn(&Top) -> bool,
    is_short: &dyn Fn(Amount) -> Result<bool>,
) -> Result<Option<Amount>> {
    let blocks = rows.blocks();
    // What comes before each block is close to what it is with changes, and cheap.
    let guess = search(0..blocks, |block| Ok(!enough(&rows.before(block + 1)?)))?;
    let block = search_from(0..blocks, guess, |block| is_short(rows.least(block)?))?;
    if block == blocks {
        return Ok(None);
    }
    let balances = rows.balances(block)?;
    let at = search(0..balances.len(), |at| is_short(balances[at]))?;
    Ok(balances.get(at).copied())
}
