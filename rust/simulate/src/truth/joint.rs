//! Transactions that several people made together, and those that only look so.

use headwater_types::{Chain, TxHash};

use super::table::{Cell, Cells, Kind, Row};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kind of a joint transaction, or of what looks like one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum JointKind { $($(#[$doc])* $variant,)* }

        impl JointKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name in truth tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// A CoinJoin: as many equal outputs of a pool as inputs.
    Whirlpool = "whirlpool",
    /// A CoinJoin: equal outputs of about 0.1 BTC.
    WasabiOneZero = "wasabi_1_0",
    /// A CoinJoin: equal outputs of about 0.1 BTC and its doublings.
    WasabiOneOne = "wasabi_1_1",
    /// A CoinJoin: standard denominations.
    WasabiTwo = "wasabi_2_0",
    /// A CoinJoin: equal outputs of an amount that a taker names, each with change.
    JoinMarket = "joinmarket",
    /// A CoinJoin without a known protocol.
    Generic = "generic",
    /// Cuts coins into a pool's denomination; one owner.
    WhirlpoolPremix = "whirlpool_tx0",
    /// A payment to which the receiver adds a coin: two owners, nothing shows it.
    PayJoin = "payjoin",
    /// One owner in the shape of two.
    Stonewall = "stonewall",
    /// Equal payments of one owner to many, from as many coins.
    Wages = "wages",
}

impl JointKind {
    /// Returns whether several people hid among each other; the others look like it or prepare it, or hide that they do.
    #[must_use]
    pub const fn is_coinjoin(self) -> bool {
        match self {
            Self::Whirlpool
            | Self::WasabiOneZero
            | Self::WasabiOneOne
            | Self::WasabiTwo
            | Self::JoinMarket
            | Self::Generic => true,
            Self::WhirlpoolPremix | Self::PayJoin | Self::Stonewall | Self::Wages => false,
        }
    }
}

/// A bitcoin transaction that several people made together, or that looks so. All others are of one wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JointTransaction {
    /// The transaction.
    pub hash: TxHash,
    /// The kind.
    pub kind: JointKind,
}

impl Row for JointTransaction {
    const NAME: &'static str = "joint_transactions";
    const COLUMNS: &'static [(&'static str, Kind)] =
        &[("tx_hash", Kind::Text), ("kind", Kind::Text), ("coinjoin", Kind::Flag)];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.hash.display(Chain::BITCOIN.family())),
            Cell::text(self.kind.name()),
            Cell::Flag(self.kind.is_coinjoin()),
        ]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let hash = cells.hash(Chain::BITCOIN)?;
        let kind = cells.parse(|text| JointKind::ALL.iter().copied().find(|kind| kind.name() == text))?;
        (cells.flag() == kind.is_coinjoin()).then_some(Self { hash, kind })
    }
}
