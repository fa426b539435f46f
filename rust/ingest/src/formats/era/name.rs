//! The name of a history file: network, number of the era, and the beginning of a hash.

/// Blocks of an era.
pub(super) const ERA_BLOCKS: u64 = 8_192;

/// The parts of a name such as `mainnet-00000-5ec1ffb8.era1` or `mainnet-01900-0a1b2c3d-noproofs.ere`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StatedName<'a> {
    pub(super) network: &'a str,
    /// The number of the era: its first block is 8,192 times this.
    pub(super) era: u64,
    /// The first bytes of the accumulator (era1), or of the hash of the last block (ere).
    pub(super) hash: [u8; 4],
}

impl<'a> StatedName<'a> {
    /// Reads a name; `None` where it has another form.
    pub(super) fn of(name: &'a str) -> Option<Self> {
        let stem = [".era1", ".ere", ".erae"].iter().find_map(|ending| name.strip_suffix(ending))?;
        let mut parts = stem.split('-');
        let (network, era, hash) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = era.len() >= 5 && era.bytes().all(|byte| byte.is_ascii_digit());
        let mut bytes = [0; 4];
        hex::decode_to_slice(hash, &mut bytes).ok()?;
        let era = era.parse().ok().filter(|_| is_number)?;
        Some(Self { network, era, hash: bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_each_form_is_read() {
        let hash = [0x5e, 0xc1, 0xff, 0xb8];
        for name in [
            "mainnet-00007-5ec1ffb8.era1",
            "mainnet-00007-5ec1ffb8-noproofs-noreceipts.ere",
            "mainnet-00007-5ec1ffb8.erae",
        ] {
            assert_eq!(StatedName::of(name), Some(StatedName { network: "mainnet", era: 7, hash }), "{name}");
        }
        for name in
            ["blocks.era1", "mainnet-7-5ec1ffb8.era1", "mainnet-00007-5ec1ffb.era1", "mainnet-00007-5ec1ffb8.era"]
        {
            assert_eq!(StatedName::of(name), None, "{name}");
        }
    }
}
