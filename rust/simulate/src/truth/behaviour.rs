//! Planted behaviours: the addresses that behave like an entry of the catalogue of behaviours.

use headwater_types::{Address, Chain, TxHash};

use super::table::{Cell, Cells, Kind, Row};

macro_rules! behaviours {
    ($($(#[$doc:meta])* $variant:ident = $code:literal,)*) => {
        /// An entry of the catalogue of behaviours.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Behaviour { $($(#[$doc])* $variant,)* }

        impl Behaviour {
            /// The whole catalogue, in its order.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code of the catalogue.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }
        }
    };
}

behaviours! {
    /// Money leaves within the hour.
    RapidInOut = "rapid_in_out",
    /// All that comes continues.
    PassThrough = "pass_through",
    /// Few sources, many recipients within a day.
    FanOut = "fan_out",
    /// Many senders within a day, few targets after it.
    FanIn = "fan_in",
    /// Many senders, then many recipients.
    GatherScatter = "gather_scatter",
    /// Several intermediaries pay one address.
    ScatterGather = "scatter_gather",
    /// A week of life, then empty and silent.
    BurnerWallet = "burner_wallet",
    /// Hop after hop, a little less each time.
    PeelChain = "peel_chain",
    /// A rich address wakes after half a year.
    DormantReactivation = "dormant_reactivation",
    /// Many amounts just below a limit.
    Structuring = "structuring",
    /// Many equal amounts to many.
    EqualAmountSplit = "equal_amount_split",
    /// Mostly round amounts.
    RoundAmounts = "round_amounts",
    /// Uses a mixer.
    MixerInteraction = "mixer_interaction",
    /// Its first coins come from a mixer.
    GasFundedByMixer = "gas_funded_by_mixer",
    /// Sends from look-alikes of the victims' own counterparties.
    AddressPoisoning = "address_poisoning",
    /// Sends next to nothing to very many.
    Dusting = "dusting",
    /// Receives poison or dust.
    PoisoningTarget = "poisoning_target",
    /// Money comes back within a week.
    RoundTrip = "round_trip",
    /// A few accounts trade with each other and nobody's balance changes.
    WashTrading = "wash_trading",
    /// Bridge after bridge within a day.
    BridgeHopping = "bridge_hopping",
    /// Swap after swap, then gone.
    AssetHopping = "asset_hopping",
    /// A path of fresh addresses.
    LayeringHop = "layering_hop",
    /// Cashes out at several exchanges.
    MultiExchangeCashout = "multi_exchange_cashout",
    /// Buys before a victim and sells after it in one block.
    SandwichAttack = "sandwich_attack",
    /// Gains within single transactions.
    MevBot = "mev_bot",
    /// Transfers too fast for a person.
    HighFrequency = "high_frequency",
    /// Never sleeps.
    AlwaysOn = "always_on",
    /// Transfers by the clock.
    FixedInterval = "fixed_interval",
    /// Sells a token at once that it got at birth.
    NewTokenDump = "new_token_dump",
    /// Takes by an allowance nearly all that owners have.
    ApprovalDrain = "approval_drain",
    /// Pays early payers from the money of later ones.
    PonziPayout = "ponzi_payout",
}

/// The verdict on an address: whether the rule of a behaviour holds, at the default thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// It holds.
    Planted,
    /// It nearly holds: the address stays just below a threshold, and is innocent.
    Innocent,
}

impl Verdict {
    /// The name in truth tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Planted => "planted",
            Self::Innocent => "innocent",
        }
    }
}

/// By what a behaviour can be known. The numbers are of the planted act; what else the address does may add to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evidence {
    /// The number of transactions make it up.
    pub count: u64,
    /// The number of others that take part.
    pub counterparties: u64,
    /// The value that moved, in cents of the prices of the economy; 0 where no value is part of the rule.
    pub usd_cents: u64,
    /// Its first transaction.
    pub first: TxHash,
    /// Its last transaction.
    pub last: TxHash,
}

/// An address that behaves like an entry of the catalogue on purpose, or nearly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedBehaviour {
    /// The chain.
    pub chain: Chain,
    /// The address that behaves so.
    pub address: Address,
    /// The behaviour.
    pub behaviour: Behaviour,
    /// The verdict: it does, or only nearly.
    pub verdict: Verdict,
    /// By what it can be known.
    pub evidence: Evidence,
}

impl Row for PlantedBehaviour {
    const NAME: &'static str = "behaviours";
    const COLUMNS: &'static [(&'static str, Kind)] = &[
        ("blockchain", Kind::Text),
        ("address", Kind::Text),
        ("code", Kind::Text),
        ("verdict", Kind::Text),
        ("count", Kind::Number),
        ("counterparties", Kind::Number),
        ("usd_cents", Kind::Number),
        ("first_tx_hash", Kind::Text),
        ("last_tx_hash", Kind::Text),
    ];

    fn cells(&self) -> Vec<Cell> {
        let Evidence { count, counterparties, usd_cents, first, last } = self.evidence;
        let family = self.chain.family();
        vec![
            Cell::text(&self.chain),
            Cell::text(&self.address),
            Cell::text(self.behaviour.code()),
            Cell::text(self.verdict.name()),
            Cell::Number(count),
            Cell::Number(counterparties),
            Cell::Number(usd_cents),
            Cell::text(&first.display(family)),
            Cell::text(&last.display(family)),
        ]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let chain = cells.chain()?;
        Some(Self {
            chain,
            address: cells.address(chain)?,
            behaviour: cells.parse(|text| Behaviour::ALL.iter().copied().find(|behaviour| behaviour.code() == text))?,
            verdict: cells.parse(|text| {
                [Verdict::Planted, Verdict::Innocent].into_iter().find(|verdict| verdict.name() == text)
            })?,
            evidence: Evidence {
                count: cells.number(),
                counterparties: cells.number(),
                usd_cents: cells.number(),
                first: cells.hash(chain)?,
                last: cells.hash(chain)?,
            },
        })
    }
}
