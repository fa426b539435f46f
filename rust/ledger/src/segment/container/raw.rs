//! Writing a file of format 1, whole in memory.

use bytemuck::Pod;
use headwater_types::{Chain, Network};

use super::super::layout::Section;
use super::{ALIGN, Entry, Header, PAGE, RAW, Trailer};

/// Collects sections and makes the bytes of a file.
pub(in super::super) struct ContainerWriter {
    out: Vec<u8>,
    chain: Chain,
    network: Network,
    entries: Vec<Entry>,
}

impl ContainerWriter {
    pub(in super::super) fn new(chain: Chain, network: Network) -> Self {
        Self { out: vec![0; size_of::<Header>()], chain, network, entries: Vec::new() }
    }

    /// Adds a section. Empty ones are written too: a missing section is damage.
    pub(in super::super) fn put<T: Pod>(&mut self, section: Section<T>, values: &[T]) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let align = if bytes.len() > PAGE { PAGE } else { ALIGN };
        self.out.resize(self.out.len().next_multiple_of(align), 0);
        self.entries.push(Entry::new(section, self.out.len() as u64, values.len() as u64));
        self.out.extend_from_slice(bytes);
    }

    pub(in super::super) fn finish(self) -> Vec<u8> {
        let Self { mut out, chain, network, entries } = self;
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        let header =
            Header { directory: out.len() as u64, sections: entries.len() as u64, ..Header::new(RAW, chain, network) };
        out[..size_of::<Header>()].copy_from_slice(bytemuck::bytes_of(&header));
        out.extend_from_slice(bytemuck::cast_slice(&entries));
        out.resize(out.len().next_multiple_of(ALIGN), 0);
        let checks: Vec<u32> = out.chunks(PAGE).map(crc32c::crc32c).collect();
        let checks_at = out.len();
        out.extend_from_slice(bytemuck::cast_slice(&checks));
        let trailer = Trailer::of(checks_at as u64, &out[checks_at..]);
        out.extend_from_slice(bytemuck::bytes_of(&trailer));
        out
    }
}
