//! What a rule says of the outputs of a transaction.

use std::collections::BTreeSet;

/// The outputs that a rule cannot rule out as change, by their places.
///
/// ```
/// use headwater_intel::bitcoin::change::Candidates;
///
/// let smaller: Candidates = [0, 1].into_iter().collect();
/// let fresh: Candidates = [1, 2].into_iter().collect();
/// assert_eq!(smaller.single(), None);
/// assert_eq!(smaller.and(&fresh).single(), Some(1));
/// assert_eq!(smaller.or(&fresh).iter().collect::<Vec<_>>(), [0, 1, 2]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Candidates(BTreeSet<usize>);

impl Candidates {
    /// The outputs that neither of two rules rules out.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).copied().collect())
    }

    /// The outputs that one of two rules does not rule out.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).copied().collect())
    }

    /// The output that the rule votes for: the only one that it does not rule out.
    #[must_use]
    pub fn single(&self) -> Option<usize> {
        self.0.first().copied().filter(|_| self.0.len() == 1)
    }

    /// Returns whether an output is not ruled out.
    #[must_use]
    pub fn contains(&self, output: usize) -> bool {
        self.0.contains(&output)
    }

    /// Returns whether every output is ruled out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their places, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<usize> for Candidates {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}

/// Why a rule says nothing of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Abstention {
    /// It is not held what some input spends.
    InputsUnknown,
    /// The chain is not held from its first block on, so nobody can say that an address is new.
    HistoryIncomplete,
    /// No later transaction is held that spends an output.
    Unspent,
    /// No source told the property that is compared.
    PropertyUnknown,
    /// The transaction does not have the form that the rule is about.
    OtherForm,
    /// Nothing is known of clusters.
    ClustersUnknown,
}

impl Abstention {
    /// The name in documents and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InputsUnknown => "inputs_unknown",
            Self::HistoryIncomplete => "history_incomplete",
            Self::Unspent => "unspent",
            Self::PropertyUnknown => "property_unknown",
            Self::OtherForm => "other_form",
            Self::ClustersUnknown => "clusters_unknown",
        }
    }
}
