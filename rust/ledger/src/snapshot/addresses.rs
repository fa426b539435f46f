//! Addresses by the beginning of their text, over all segments.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use headwater_types::Address;

use crate::read::{AddressMatches, Result};
use crate::segment::Segment;

/// The matches of one segment, in order of text, one at a time.
struct Matches<'a> {
    segment: &'a Segment,
    places: std::ops::Range<usize>,
}

impl Matches<'_> {
    fn next(&mut self) -> Result<Option<(String, Address, u64)>> {
        let Some(place) = self.places.next() else { return Ok(None) };
        let id = self.segment.at_text(place)?;
        let address = self.segment.address(id)?;
        let postings = self.segment.postings().range(id)?;
        Ok(Some((address.to_string(), address, postings.end - postings.start)))
    }
}

/// The most active matches first, then by text. Takes time in the number of matches.
pub(super) fn find(segments: &[&Segment], prefix: &str, limit: usize, count_limit: usize) -> Result<AddressMatches> {
    let mut matches = Vec::new();
    let mut fronts = BinaryHeap::new();
    for &segment in segments {
        let mut of_segment = Matches { segment, places: segment.with_prefix(prefix)? };
        if let Some(front) = of_segment.next()? {
            fronts.push(Reverse((front, matches.len())));
        }
        matches.push(of_segment);
    }
    let mut total = 0_usize;
    // The least active one kept is on top.
    let mut best: BinaryHeap<Reverse<(u64, Reverse<String>, Address)>> = BinaryHeap::new();
    while let Some(Reverse(((text, address, mut activity), from))) = fronts.pop() {
        advance(&mut fronts, &mut matches, from)?;
        while fronts.peek().is_some_and(|Reverse(((next, ..), _))| *next == text) {
            let Some(Reverse(((_, _, more), from))) = fronts.pop() else { break };
            activity += more;
            advance(&mut fronts, &mut matches, from)?;
        }
        total += 1;
        best.push(Reverse((activity, Reverse(text), address)));
        if best.len() > limit {
            best.pop();
        }
    }
    let addresses = best.into_sorted_vec().into_iter().map(|Reverse((_, _, address))| address).collect();
    Ok(AddressMatches { addresses, total: total.min(count_limit) })
}

type Fronts = BinaryHeap<Reverse<((String, Address, u64), usize)>>;

fn advance(fronts: &mut Fronts, matches: &mut [Matches<'_>], from: usize) -> Result<()> {
    if let Some(front) = matches[from].next()? {
        fronts.push(Reverse((front, from)));
    }
    Ok(())
}
