//! Rows as seen from one address.

use headwater_ledger::Ledger;
use headwater_ledger::read::{Direction, MovementKind};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::Address;

use super::row::{RowParts, TransferRow};
use super::utxo_sides::UtxoSides;
use crate::Error;
use crate::asset_book::AssetBook;
use crate::fields::TransferType;
use crate::labels::Labels;
use crate::movement_reader::Flow;
use crate::valuation::{Output, Valuer};

/// Makes rows of movements as seen from one address.
pub(crate) struct RowMaker<'a> {
    pub ledger: &'a dyn Ledger,
    pub address: Address,
    /// The counterparty, where all rows are with one.
    pub other: Option<Address>,
    pub valuer: &'a Valuer,
    pub labels: &'a Labels<'a>,
    pub output: &'a Output,
}

impl RowMaker<'_> {
    pub fn row(&self, book: &AssetBook<'_>, flow: &Flow) -> Result<TransferRow, Error> {
        match flow.posting.kind {
            MovementKind::Utxo => self.utxo_row(book, flow),
            MovementKind::Native | MovementKind::Internal | MovementKind::Token => self.account_row(book, flow),
        }
    }

    fn account_row(&self, book: &AssetBook<'_>, flow: &Flow) -> Result<TransferRow, Error> {
        let posting = &flow.posting;
        let counterparty = match (posting.direction, self.other, posting.counterparty) {
            (Direction::Own, _, _) => Some(self.address),
            (_, Some(other), _) => Some(other),
            (_, None, Some(other)) => Some(self.ledger.address(other)?),
            (_, None, None) => None,
        };
        let row = self.parts(book, flow, counterparty, counterparty)?.row(self.valuer, self.output);
        self.labelled(row, counterparty)
    }

    fn utxo_row(&self, book: &AssetBook<'_>, flow: &Flow) -> Result<TransferRow, Error> {
        let transaction = self.ledger.transaction(flow.posting.transaction)?;
        let attribution = Attribution::of_transaction(&transaction);
        let direction = flow.posting.direction;
        let sides = UtxoSides::of(&self.address, direction, &attribution);
        let sole = sides.sole(&self.address, direction, &attribution);
        let counterparty = self.other.or(sole);
        let mut row = self.parts(book, flow, sole, counterparty)?.row(self.valuer, self.output);
        if let Some(utxo) = &transaction.facts.utxo {
            if utxo.coinbase {
                row.transfer_type = TransferType::Coinbase;
            }
            row.inputs_count = u64::try_from(utxo.inputs.len()).ok();
            row.outputs_count = u64::try_from(utxo.outputs.len()).ok();
        }
        row.counterparties = Some(sides.shown());
        self.labelled(row, counterparty)
    }

    fn labelled(&self, row: TransferRow, counterparty: Option<Address>) -> Result<TransferRow, Error> {
        let label = counterparty.map(|address| self.labels.entity(&address)).transpose()?.flatten();
        Ok(TransferRow { counterparty_label: label, ..row })
    }

    fn parts<'b>(
        &self,
        book: &'b AssetBook<'_>,
        flow: &Flow,
        side: Option<Address>,
        counterparty: Option<Address>,
    ) -> Result<RowParts<'b>, Error> {
        let posting = &flow.posting;
        let (from, to) = match posting.direction {
            Direction::In => (side, Some(self.address)),
            Direction::Out => (Some(self.address), side),
            Direction::Own => (Some(self.address), Some(self.address)),
        };
        Ok(RowParts {
            head: self.ledger.transaction_head(posting.transaction)?,
            kind: posting.kind,
            ordinal: posting.ordinal,
            from,
            to,
            asset: book.view(flow.asset),
            amount: posting.amount,
            status: posting.status,
            creates_contract: posting.creates_contract,
            approximate: posting.approximate,
            rebases: book.rebases(flow.asset)?,
            seen: Some((posting.direction, counterparty)),
        })
    }
}
