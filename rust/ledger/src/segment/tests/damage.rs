//! Damaged files: whatever happens to the bytes, wrong facts are never served and nothing panics.

use std::sync::LazyLock;

use headwater_types::Chain;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::economy::{address, input, is_full};
use super::hubs::busy;
use crate::segment::{DayChange, Segment, SegmentInput, build, openings_of};
use crate::{Cancel, LedgerError};

/// One input, always the same.
fn fixed(chain: Chain) -> SegmentInput {
    input(chain, 12..13).new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

/// Everything a segment can be asked, by the answers that came.
fn read_all(segment: &Segment, input: &SegmentInput) -> Result<(), LedgerError> {
    for facts in &input.transactions {
        let row = segment.find(&facts.hash)?.expect("a page that checks out is as it was written");
        assert_eq!(segment.facts(row)?, *facts);
        for place in 0..segment.addresses() {
            let account = u32::try_from(place).unwrap();
            let address = segment.address(account)?;
            assert_eq!(segment.account(&address)?, Some(account));
            segment.holdings(account, &segment.begins(&openings_of([segment]))?)?;
            let postings = segment.postings();
            postings.read(postings.range(account)?, &mut Vec::new())?;
        }
        segment.spenders_of(&facts.hash)?;
    }
    assert_eq!(segment.blocks()?, input.blocks);
    assert_eq!(segment.contracts()?, input.contracts);
    assert_eq!(segment.tokens()?, input.tokens);
    segment.unresolved_inputs()?;
    Ok(())
}

#[test]
fn segment_flipped_bit_is_reported_with_place_and_never_served() {
    for chain in [Chain::ETHEREUM, Chain::BITCOIN] {
        let input = fixed(chain);
        let mut bytes = build(&input, &Cancel::new()).unwrap();
        read_all(&Segment::from_bytes("small", &bytes).unwrap(), &input).unwrap();
        for at in 0..bytes.len() {
            bytes[at] ^= 1 << (at % 8);
            let verified = Segment::from_bytes("small", &bytes).and_then(|segment| segment.verify(&mut |_, _| {}));
            let Err(LedgerError::Corrupt { file, offset, .. }) = verified else {
                panic!("a flip at byte {at} of {} is not reported: {verified:?}", bytes.len());
            };
            assert_eq!(file.to_str(), Some("small"));
            let is_near = offset == 0 || offset.abs_diff(at as u64) <= 4096 || at + 4096 > bytes.len();
            assert!(is_near, "flip at {at} reported at {offset}");
            if at % 41 == 0 {
                let served = Segment::from_bytes("small", &bytes).and_then(|segment| read_all(&segment, &input));
                assert!(matches!(served, Ok(()) | Err(LedgerError::Corrupt { .. })), "{served:?}");
            }
            bytes[at] ^= 1 << (at % 8);
        }
    }
}

/// The answer of the sub-index of a hub and its days about one asset.
type OfAsset = (Option<Vec<u64>>, Vec<DayChange>);

/// The same of all assets of the account that [`busy`] makes a hub; nothing where it is not found.
fn of_hub(segment: &Segment) -> Result<Vec<OfAsset>, LedgerError> {
    let Some(hub) = segment.account(&address(Chain::ETHEREUM, 0))? else { return Ok(Vec::new()) };
    let of_asset = |asset| {
        let places = segment.asset_places(hub, asset)?.map(|places| {
            let mut read = Vec::new();
            places.read(0..usize::MAX, &mut read).map(|()| read)
        });
        Ok((places.transpose()?, segment.daily(hub, asset)?))
    };
    (0..8).map(of_asset).collect()
}

#[test]
fn hub_flipped_bit_is_never_served() {
    let mut bytes = build(&busy(1500), &Cancel::new()).unwrap();
    let segment = Segment::from_bytes("hub", &bytes).unwrap();
    let sound = of_hub(&segment).unwrap();
    assert!(
        sound.iter().any(|(places, days)| places.as_ref().is_some_and(|places| places.len() > 1000) && days.len() > 50)
    );
    let hub_sections = segment.sections().iter().filter(|(name, bytes)| name.starts_with("hub") && *bytes > 0).count();
    assert!(hub_sections > 5, "{:?}", segment.sections());
    let mut refused = 0;
    for at in (0..bytes.len()).step_by(if is_full() { 37 } else { 111 }) {
        bytes[at] ^= 1 << (at % 8);
        match Segment::from_bytes("hub", &bytes).and_then(|segment| of_hub(&segment)) {
            Ok(served) => assert!(served == sound, "a flip at byte {at} of {} is served", bytes.len()),
            Err(LedgerError::Corrupt { file, offset, .. }) => {
                let is_near = offset == 0 || offset.abs_diff(at as u64) <= 4096 || at + 4096 > bytes.len();
                assert!(file.to_str() == Some("hub") && is_near, "flip at {at} reported at {offset}");
                refused += 1;
            }
            Err(error) => panic!("a flip at byte {at}: {error}"),
        }
        bytes[at] ^= 1 << (at % 8);
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = build(&fixed(Chain::ETHEREUM), &Cancel::new()).unwrap();
    for length in 0..bytes.len() {
        let opened = Segment::from_bytes("cut", &bytes[..length]);
        assert!(matches!(opened, Err(LedgerError::Corrupt { .. })), "cut to {length}");
    }
    let longer = [&bytes[..], &[0; 8]].concat();
    assert!(matches!(Segment::from_bytes("longer", longer), Err(LedgerError::Corrupt { .. })));
}

#[test]
fn foreign_files_are_refused_by_what_they_lack() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("foreign");
    for content in [&b""[..], b"PK\x03\x04", &[0; 5000], &[0xff; 4096]] {
        std::fs::write(&path, content).unwrap();
        let error = Segment::open(&path).unwrap_err();
        assert!(matches!(&error, LedgerError::Corrupt { file, .. } if *file == path), "{error}");
    }
    assert!(matches!(Segment::open(&folder.path().join("absent")), Err(LedgerError::Io { .. })));
}

/// Whoever forges a file can forge its checksums too: then any answer may come, but bounded and without a panic.
fn resealed(mut bytes: Vec<u8>, at: usize, value: u8) -> Vec<u8> {
    let trailer = bytes.len() - 40;
    let checks = usize::try_from(u64::from_le_bytes(bytes[trailer..trailer + 8].try_into().unwrap())).unwrap();
    bytes[at % checks] = value;
    let page = at % checks / 4096;
    let crc = crc32c::crc32c(&bytes[page * 4096..checks.min((page + 1) * 4096)]);
    bytes[checks + page * 4..checks + page * 4 + 4].copy_from_slice(&crc.to_le_bytes());
    let of_checks = crc32c::crc32c(&bytes[checks..trailer]);
    bytes[trailer + 16..trailer + 20].copy_from_slice(&of_checks.to_le_bytes());
    let own = crc32c::crc32c(&bytes[trailer..trailer + 36]);
    bytes[trailer + 36..].copy_from_slice(&own.to_le_bytes());
    bytes
}

fn ask_everything(segment: &Segment, input: &SegmentInput) {
    for facts in &input.transactions {
        let _ = segment.find(&facts.hash);
        let _ = segment.spenders_of(&facts.hash);
        let _ = segment.row_at(facts.block, 0);
        let _ = segment.block(facts.block);
    }
    let begins = segment.begins(&openings_of([segment])).unwrap_or_default();
    for id in 0..40 {
        let _ = segment.facts(id);
        let _ = segment.asset(id);
        let _ = segment.holdings(id, &begins);
        if let Ok(address) = segment.address(id) {
            let _ = segment.account(&address);
            let _ = segment.token(&address);
        }
        let postings = segment.postings();
        if let Ok(range) = postings.range(id) {
            let _ = postings.read(range, &mut Vec::new());
        }
    }
    let _ = segment.with_prefix("0x").map(|range| range.take(99).for_each(|place| drop(segment.at_text(place))));
    let _ = (segment.contracts(), segment.tokens(), segment.unresolved_inputs());
}

/// A segment with a hub, built once.
static HUB: LazyLock<Vec<u8>> = LazyLock::new(|| build(&busy(1100), &Cancel::new()).unwrap());

/// A small segment of an account chain and one of outputs, with what they were built of.
static SMALL: LazyLock<[(SegmentInput, Vec<u8>); 2]> = LazyLock::new(|| {
    [Chain::ETHEREUM, Chain::BITCOIN].map(|chain| {
        let input = fixed(chain);
        let bytes = build(&input, &Cancel::new()).unwrap();
        (input, bytes)
    })
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if is_full() { 4000 } else { 600 }))]

    #[test]
    fn a_forged_hub_with_right_checksums_never_panics(at in any::<usize>(), value in any::<u8>()) {
        if let Ok(segment) = Segment::from_bytes("forged", resealed(HUB.clone(), at, value)) {
            let _ = of_hub(&segment);
        }
    }

    #[test]
    fn a_forged_file_with_right_checksums_never_panics(at in any::<usize>(), value in any::<u8>(), utxo in any::<bool>()) {
        let (input, bytes) = &SMALL[usize::from(utxo)];
        if let Ok(segment) = Segment::from_bytes("forged", resealed(bytes.clone(), at, value)) {
            ask_everything(&segment, input);
        }
    }
}
