//! The counts of rows of an import of labels by outcome.

/// The counts of rows of an import of labels by outcome. Each address that makes no claim is counted once, by its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counts {
    /// Claims.
    pub claims: u64,
    /// Repeats of address, code, entity and group.
    pub duplicates: u64,
    /// Addresses of chains that are not held, kept under the ticker.
    pub other_ticker: u64,
    /// Addresses whose Base58 or Bech32 checksum does not match.
    pub bad_checksum: u64,
    /// Texts that have the form of no address.
    pub malformed: u64,
    /// Rows with an empty address or a placeholder.
    pub no_address: u64,
    /// Texts that end inside an address.
    pub cut: u64,
    /// Addresses with a name and without a code.
    pub no_code: u64,
    /// Rows that a column of theirs denies, such as `is_scam` with the value 0.
    pub denied: u64,
    /// EVM chains that are not held.
    pub unknown_chain: u64,
    /// Freeze events of contracts of no known issuer.
    pub unknown_contract: u64,
    /// Confidences that name no level.
    pub unknown_confidence: u64,
    /// EVM addresses in mixed case with a wrong EIP-55 checksum: accepted.
    pub eip55: u64,
    /// Addresses whose look-alike letters were replaced because the checksum then matches.
    pub repaired: u64,
    /// Freezes that ended.
    pub ends: u64,
    /// Freezes whose funds were destroyed.
    pub destroyed: u64,
    /// Ends of freezes that never began.
    pub end_without_start: u64,
}
