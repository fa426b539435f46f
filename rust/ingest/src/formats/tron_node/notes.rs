//! The effect of internal transactions of TRON's virtual machine on the TRX that they name, by their notes.
//!
//! Contracts stake, lend and vote through internal transactions that look like transfers: the amount is a share of the
//! caller's stake, and the receiver of delegated energy gets none of it. The notes are those of java-tron (`Program.java`).

use crate::source::Object;

/// The effect on the TRX of an internal transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It goes from the caller to the receiver.
    Moves,
    /// The caller withdraws what its votes earned, which comes from no account.
    Reward,
    /// It remains its owner's.
    Remains,
    /// The note is not a known one.
    Unknown,
}

/// The beginning of notes where TRX remains its owner's; most end with the resource. What
/// `withdrawExpireUnfreezeWhileSuiciding` names is part of the amount of the `suicide` before it.
const OF_STAKE: [&str; 9] = [
    "cancelAllUnfreezeV2",
    "delegateResourceOf",
    "freezeBalanceV2For",
    "freezeFor",
    "unDelegateResourceOf",
    "unfreezeBalanceV2For",
    "unfreezeFor",
    "voteWitness",
    "withdrawExpireUnfreeze",
];

impl Effect {
    /// The effect under a note. Sources without notes list calls.
    pub(super) fn of(note: &str) -> Self {
        match note {
            "" | "call" | "create" | "suicide" => Self::Moves,
            "withdrawReward" => Self::Reward,
            note if OF_STAKE.iter().any(|begin| note.starts_with(begin)) => Self::Remains,
            _ => Self::Unknown,
        }
    }
}

/// The note of an internal transaction. Nodes write it in hex, some providers as text.
pub(super) fn note(inner: &Object<'_>) -> String {
    let written = inner.text("note").unwrap_or_default();
    let bytes = hex::decode(written.trim_start_matches("0x")).ok();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| written.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effect_of_a_note_is_that_of_its_operation() {
        for note in ["call", "create", "suicide", ""] {
            assert_eq!(Effect::of(note), Effect::Moves, "{note}");
        }
        for note in [
            "freezeForEnergy",
            "unfreezeForBandwidth",
            "freezeBalanceV2ForEnergy",
            "unfreezeBalanceV2ForTronPower",
            "withdrawExpireUnfreeze",
            "withdrawExpireUnfreezeWhileUnfreezing",
            "withdrawExpireUnfreezeWhileCanceling",
            "withdrawExpireUnfreezeWhileSuiciding",
            "cancelAllUnfreezeV2",
            "delegateResourceOfEnergy",
            "delegateResourceOfBandwidth",
            "unDelegateResourceOfEnergy",
            "unDelegateResourceOfBandwidth",
            "voteWitness",
        ] {
            assert_eq!(Effect::of(note), Effect::Remains, "{note}");
        }
        assert_eq!(Effect::of("withdrawReward"), Effect::Reward);
        assert_eq!(Effect::of("lendResourceOfEnergy"), Effect::Unknown);
    }
}
