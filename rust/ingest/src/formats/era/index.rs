//! The index at the end of a file, which names the places of the entries of each block.

use super::entries::kind;
use super::survey::{PackedIndex, Survey};
use super::{AGAIN, Layout};
use crate::IngestError;
use crate::error::Place;
use crate::source::Input;

/// Compares an index with the entries of the file.
///
/// `era1`: first block, one place a block, count of blocks. `ere`: first block, a place for each part of each block, count
/// of parts, count of blocks. All are 64 bits; places are relative to the beginning of the index.
pub(super) fn check_index(
    input: &Input,
    layout: Layout,
    survey: &Survey,
    PackedIndex { entry, content }: &PackedIndex,
) -> Result<(), IngestError> {
    let fails = |what: String| input.damaged(Some(Place::Byte(entry.at)), format!("{what}; {AGAIN}"));
    let expected = match layout {
        Layout::Era1 => kind::BLOCK_INDEX,
        Layout::Ere => kind::DYNAMIC_INDEX,
    };
    if entry.kind != expected {
        return Err(fails(format!("its index has the type 0x{:04x}; expected 0x{expected:04x}", entry.kind)));
    }
    let parts = parts(layout, survey);
    let ends = if layout == Layout::Era1 { 2 } else { 3 };
    let blocks = survey.headers.len();
    let (words, rest) = content.as_chunks::<8>();
    if !rest.is_empty() || words.len() != blocks * parts.len() + ends {
        let expected = 8 * (blocks * parts.len() + ends);
        return Err(fails(format!("the block index has {} bytes; expected {expected}", content.len())));
    }
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (places, tail) = words[1..].split_at(blocks * parts.len());
    let counts: &[u64] = if layout == Layout::Era1 { &[blocks as u64] } else { &[parts.len() as u64, blocks as u64] };
    if words[0] != survey.first || tail != counts {
        let (first, tail) = (words[0], tail.iter().map(u64::to_string).collect::<Vec<_>>().join(" and "));
        let expected = counts.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ");
        return Err(fails(format!(
            "the block index begins at block {first} and counts {tail}; expected block {} and {expected}",
            survey.first
        )));
    }
    let mut slots = Vec::new();
    for place in &places[..parts.len()] {
        let begins = |part: &&&[u64]| relative(part[0], entry.at) == *place;
        match parts.iter().find(begins) {
            Some(part) if !slots.contains(part) => slots.push(*part),
            _ => return Err(fails(wrong(survey.first))),
        }
    }
    for (block, places) in places.chunks_exact(parts.len()).enumerate() {
        let agrees = places.iter().zip(&slots).all(|(place, part)| relative(part[block], entry.at) == *place);
        if !agrees {
            return Err(fails(wrong(survey.first + block as u64)));
        }
    }
    Ok(())
}

/// The places that the index has for each block, by part.
fn parts(layout: Layout, survey: &Survey) -> Vec<&[u64]> {
    let all = [&survey.headers, &survey.bodies, &survey.receipts, &survey.difficulties, &survey.proofs];
    let count = if layout == Layout::Era1 { 1 } else { all.len() };
    all.into_iter().take(count).map(Vec::as_slice).filter(|part| !part.is_empty()).collect()
}

/// A place as the index has it: a number with a sign, in two's complement.
const fn relative(place: u64, index: u64) -> u64 {
    place.wrapping_sub(index)
}

fn wrong(block: u64) -> String {
    format!("the block index names another place for block {block} than the one that it has")
}
