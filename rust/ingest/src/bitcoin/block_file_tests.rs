use std::io::Cursor;

use super::*;

const MAIN: [u8; 4] = [0xf9, 0xbe, 0xb4, 0xd9];

fn frame(block: &[u8]) -> Vec<u8> {
    [&MAIN[..], &u32::try_from(block.len()).unwrap().to_le_bytes(), block].concat()
}

fn read(file: &[u8], key: XorKey) -> (Vec<(u64, Vec<u8>)>, Option<FrameError>) {
    let mut records = Records::new(Cursor::new(file), key);
    let mut found = Vec::new();
    loop {
        match records.next_record() {
            Ok(Some(record)) => found.push((record.offset, record.block.to_vec())),
            Ok(None) => return (found, None),
            Err(error) => return (found, Some(error)),
        }
    }
}

#[test]
fn blocks_are_found_around_reserved_space_of_any_length() {
    let (one, two) = (vec![1; 100], vec![2; 90]);
    for gap in [0, 1, 2, 3, 4, 5, 7, 8, 64] {
        for tail in [0, 1, 3, 4, 1000] {
            let file = [frame(&one), vec![0; gap], frame(&two), vec![0; tail]].concat();
            let (found, error) = read(&file, XorKey::default());
            assert!(error.is_none(), "gap {gap}, tail {tail}: {error:?}");
            assert_eq!(found, [(8, one.clone()), (116 + gap as u64, two.clone())]);
        }
    }
}

#[test]
fn a_file_with_a_key_reads_like_one_without() {
    let key = XorKey::new(&[1, 2, 3, 0xff, 5, 0, 7, 8]).unwrap();
    let file = [frame(&[1; 101]), frame(&[2; 90]), vec![0; 21]].concat();
    let mut hidden = file.clone();
    key.apply(0, &mut hidden);
    assert_ne!(hidden, file);
    assert_eq!(read(&hidden, key).0, read(&file, XorKey::default()).0);
    assert!(read(&hidden, key).1.is_none());
    let error = read(&hidden, XorKey::default()).1.unwrap();
    assert!(error.to_string().contains("xor.dat"), "{error}");
    assert_eq!(XorKey::new(&[0; 7]), None);
}

#[test]
fn cut_file_is_reported_with_the_blocks_before_the_cut() {
    let file = [frame(&[1; 100]), frame(&[2; 90])].concat();
    for length in 0..file.len() {
        let (found, error) = read(&file[..length], XorKey::default());
        match length {
            0 | 108 => assert!(error.is_none()),
            _ => assert!(error.is_some(), "cut at {length}"),
        }
        assert_eq!(found.len(), usize::from(length >= 108));
    }
}

#[test]
fn forged_lengths_are_refused_and_allocate_nothing() {
    for length in [0, 79, 4_000_001, 0x7fff_ffff, u32::MAX] {
        let file = [&MAIN[..], &length.to_le_bytes(), &[9; 200]].concat();
        let (found, error) = read(&file, XorKey::default());
        assert!(found.is_empty());
        assert!(matches!(error, Some(FrameError::Length { at: 0, length: found }) if found == length));
    }
    // The longest that is believed is read as far as the file goes.
    let file = [&MAIN[..], &4_000_000_u32.to_le_bytes(), &[9; 200]].concat();
    let mut records = Records::new(Cursor::new(file), XorKey::default());
    assert!(matches!(records.next_record(), Err(FrameError::Cut { at: 8, length: 4_000_000 })));
    assert!(records.block.capacity() < 1024);
}

#[test]
fn what_is_no_magic_is_named_with_its_place() {
    let file = [frame(&[1; 100]), vec![0xde, 0xad, 0xbe, 0xef, 1]].concat();
    assert!(matches!(
        read(&file, XorKey::default()).1,
        Some(FrameError::Magic { at: 108, found: [0xde, 0xad, 0xbe, 0xef] })
    ));
    assert_eq!(network_of([0xfa, 0xbf, 0xb5, 0xda]), Some(Network::Regtest));
    assert_eq!(network_of([0; 4]), None);
}
