//! The true ways of money: scams, bridges, mixers.

use headwater_types::{Address, Amount, Asset, Chain, TxHash};

use super::table::{Cell, Cells, Kind, Row};

/// One step of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseStep {
    /// The case.
    pub case: String,
    /// The kind of crime: `drainer`, `investment_fraud`, `theft`.
    pub kind: String,
    /// Number of the step in its case, from 0.
    pub step: u64,
    /// The purpose of the step: `setup`, `lure`, `loot`, `payout`, `collect`, `layer`, `mix`, `bridge`, `cash_out`.
    pub stage: String,
    /// The chain.
    pub chain: Chain,
    /// The transaction.
    pub hash: TxHash,
    /// The address that lost the money in this step.
    pub from: Address,
    /// The address that got it.
    pub to: Address,
    /// The asset.
    pub asset: Asset,
    /// The amount, raw; 0 for steps that move nothing (an approval).
    pub amount: Amount,
}

impl Row for CaseStep {
    const NAME: &'static str = "cases";
    const COLUMNS: &'static [(&'static str, Kind)] = &[
        ("case", Kind::Text),
        ("kind", Kind::Text),
        ("step", Kind::Number),
        ("stage", Kind::Text),
        ("blockchain", Kind::Text),
        ("tx_hash", Kind::Text),
        ("from", Kind::Text),
        ("to", Kind::Text),
        ("contract", Kind::Text),
        ("amount_raw", Kind::Text),
    ];

    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::text(&self.case),
            Cell::text(&self.kind),
            Cell::Number(self.step),
            Cell::text(&self.stage),
            Cell::text(&self.chain),
            Cell::text(&self.hash.display(self.chain.family())),
            Cell::text(&self.from),
            Cell::text(&self.to),
            Cell::maybe(self.asset.contract()),
            Cell::text(&self.amount),
        ]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let (case, kind) = (cells.text()?, cells.text()?);
        let (step, stage, chain) = (cells.number(), cells.text()?, cells.chain()?);
        Some(Self {
            case,
            kind,
            step,
            stage,
            chain,
            hash: cells.hash(chain)?,
            from: cells.address(chain)?,
            to: cells.address(chain)?,
            asset: cells.asset(chain)?,
            amount: cells.amount()?,
        })
    }
}

/// The way in which the legs of a bridge can be joined from their events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BridgeClass {
    /// One id of 32 bytes is in both.
    UniqueId,
    /// A tuple (origin chain, counter) is in both.
    UniqueTuple,
    /// The second names the transaction of the first.
    SourceHash,
    /// The second carries an id that follows from the first.
    DerivedId,
    /// The content is equal, and order decides.
    Content,
    /// Only amount, asset and time speak for it.
    Heuristic,
}

impl BridgeClass {
    /// All classes, strongest first.
    pub const ALL: [Self; 6] =
        [Self::UniqueId, Self::UniqueTuple, Self::SourceHash, Self::DerivedId, Self::Content, Self::Heuristic];

    /// The letter in truth tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UniqueId => "A",
            Self::UniqueTuple => "B",
            Self::SourceHash => "C",
            Self::DerivedId => "D",
            Self::Content => "E",
            Self::Heuristic => "F",
        }
    }
}

/// The outcome of a transfer over a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BridgeOutcome {
    /// It came out on the other chain.
    Completed,
    /// It went back to its sender on the first chain; the second leg is the refund.
    Refunded,
    /// It never ended.
    Pending,
}

impl BridgeOutcome {
    /// All ends.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Refunded, Self::Pending];

    /// The name in truth tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Refunded => "refunded",
            Self::Pending => "pending",
        }
    }
}

/// One transfer over a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeTransfer {
    /// The bridge.
    pub bridge: String,
    /// Number of the transfer among those of all bridges.
    pub id: u64,
    /// The way in which its legs can be joined.
    pub class: BridgeClass,
    /// The outcome.
    pub outcome: BridgeOutcome,
    /// The leg where the money goes in.
    pub source: BridgeLeg,
    /// The leg where it comes out, less the fee, or comes back; `None` when it never does.
    pub destination: Option<BridgeLeg>,
}

/// One leg of a bridge transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BridgeLeg {
    /// The chain.
    pub chain: Chain,
    /// The transaction.
    pub hash: TxHash,
    /// The user's address on this side.
    pub user: Address,
    /// The asset.
    pub asset: Asset,
    /// The amount, raw in the decimals of this side.
    pub amount: Amount,
    /// Time of the block, epoch seconds.
    pub time_secs: u64,
}

impl BridgeLeg {
    fn cells(&self) -> [Cell; 6] {
        [
            Cell::text(&self.chain),
            Cell::text(&self.hash.display(self.chain.family())),
            Cell::text(&self.user),
            Cell::maybe(self.asset.contract()),
            Cell::text(&self.amount),
            Cell::Number(self.time_secs),
        ]
    }

    /// The cells of a leg that is missing.
    fn no_cells() -> [Cell; 6] {
        let nothing = || Cell::maybe(None::<&str>);
        [nothing(), nothing(), nothing(), nothing(), nothing(), Cell::Number(0)]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let chain = cells.chain()?;
        Some(Self {
            chain,
            hash: cells.hash(chain)?,
            user: cells.address(chain)?,
            asset: cells.asset(chain)?,
            amount: cells.amount()?,
            time_secs: cells.number(),
        })
    }
}

impl Row for BridgeTransfer {
    const NAME: &'static str = "bridge_transfers";
    const COLUMNS: &'static [(&'static str, Kind)] = &[
        ("bridge", Kind::Text),
        ("id", Kind::Number),
        ("class", Kind::Text),
        ("outcome", Kind::Text),
        ("source_blockchain", Kind::Text),
        ("source_tx_hash", Kind::Text),
        ("sender", Kind::Text),
        ("source_contract", Kind::Text),
        ("source_amount_raw", Kind::Text),
        ("source_time", Kind::Number),
        ("destination_blockchain", Kind::Text),
        ("destination_tx_hash", Kind::Text),
        ("recipient", Kind::Text),
        ("destination_contract", Kind::Text),
        ("destination_amount_raw", Kind::Text),
        ("destination_time", Kind::Number),
    ];

    fn cells(&self) -> Vec<Cell> {
        let mut cells = vec![
            Cell::text(&self.bridge),
            Cell::Number(self.id),
            Cell::text(self.class.name()),
            Cell::text(self.outcome.name()),
        ];
        cells.extend(self.source.cells());
        cells.extend(self.destination.as_ref().map_or_else(BridgeLeg::no_cells, BridgeLeg::cells));
        cells
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let (bridge, id) = (cells.text()?, cells.number());
        let class = cells.parse(|text| BridgeClass::ALL.into_iter().find(|class| class.name() == text))?;
        let outcome = cells.parse(|text| BridgeOutcome::ALL.into_iter().find(|outcome| outcome.name() == text))?;
        Some(Self {
            bridge,
            id,
            class,
            outcome,
            source: BridgeLeg::from_cells(cells)?,
            destination: if outcome == BridgeOutcome::Pending { None } else { Some(BridgeLeg::from_cells(cells)?) },
        })
    }
}

/// A deposit into a mixer and the withdrawal that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixerLink {
    /// The chain.
    pub chain: Chain,
    /// The pool.
    pub pool: Address,
    /// The deposit.
    pub deposit: TxHash,
    /// The depositor.
    pub depositor: Address,
    /// The withdrawal.
    pub withdrawal: TxHash,
    /// The recipient.
    pub recipient: Address,
}

impl Row for MixerLink {
    const NAME: &'static str = "mixer_links";
    const COLUMNS: &'static [(&'static str, Kind)] = &[
        ("blockchain", Kind::Text),
        ("pool", Kind::Text),
        ("deposit_tx_hash", Kind::Text),
        ("depositor", Kind::Text),
        ("withdrawal_tx_hash", Kind::Text),
        ("recipient", Kind::Text),
    ];

    fn cells(&self) -> Vec<Cell> {
        let family = self.chain.family();
        vec![
            Cell::text(&self.chain),
            Cell::text(&self.pool),
            Cell::text(&self.deposit.display(family)),
            Cell::text(&self.depositor),
            Cell::text(&self.withdrawal.display(family)),
            Cell::text(&self.recipient),
        ]
    }

    fn from_cells(cells: &mut Cells<'_>) -> Option<Self> {
        let chain = cells.chain()?;
        Some(Self {
            chain,
            pool: cells.address(chain)?,
            deposit: cells.hash(chain)?,
            depositor: cells.address(chain)?,
            withdrawal: cells.hash(chain)?,
            recipient: cells.address(chain)?,
        })
    }
}
