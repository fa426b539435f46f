//! Postings by account, and what accounts paid in fees.

use std::sync::Arc;

use headwater_types::Amount;

use super::super::container::{SegmentFile, StreamedSection};
use super::super::layout::{self, HUB};
use super::super::pack::bits::BitWriter;
use super::super::pack::{AmountTableWriter, BLOCK, IntWriter};
use super::super::posting::{RawPosting, Shape, encode};
use super::super::spool::Spool;
use super::hubs::HubsWriter;
use super::summary::Frame;
use crate::error::Result;

/// Takes the postings of all accounts: accounts in order, the postings of each in theirs.
pub(crate) struct PostingsWriter<'o, 's> {
    out: &'o mut SegmentFile<'s>,
    shape: Shape,
    blocks: StreamedSection<u8>,
    starts: IntWriter,
    accounts: IntWriter,
    hubs: HubsWriter,
    /// The account being written, and its postings that are not.
    account: Option<u32>,
    waiting: Vec<RawPosting>,
    count: usize,
    bits: BitWriter,
    amounts: Vec<Amount>,
}

impl<'o, 's> PostingsWriter<'o, 's> {
    /// `shape` states how many transactions, accounts and assets the segment has, and where its rows are. Postings go
    /// into the file as they come.
    pub(crate) fn new(spool: &Arc<Spool>, shape: Shape, frame: Frame, out: &'o mut SegmentFile<'s>) -> Self {
        Self {
            blocks: StreamedSection::new(layout::POSTING_BYTES),
            out,
            shape,
            starts: IntWriter::new(spool),
            accounts: IntWriter::new(spool),
            hubs: HubsWriter::new(spool, frame),
            account: None,
            waiting: Vec::with_capacity(HUB + 1),
            count: 0,
            bits: BitWriter::default(),
            amounts: Vec::with_capacity(BLOCK),
        }
    }

    /// Adds the next posting of an account; accounts come in order, those without postings may be left out.
    pub(crate) fn push(&mut self, account: u32, posting: &RawPosting) -> Result<()> {
        if self.account != Some(account) {
            self.end_account()?;
            self.skip_to(account)?;
            self.account = Some(account);
        }
        self.waiting.push(*posting);
        self.count += 1;
        // Whether it is a hub shows only now; until then all its postings wait.
        if self.count > HUB {
            let new = if self.count == HUB + 1 { 0 } else { self.waiting.len() - 1 };
            for (place, posting) in (self.count - self.waiting.len()..).zip(&self.waiting).skip(new) {
                self.hubs.push(place, posting);
            }
            let whole = self.waiting.len() / BLOCK * BLOCK;
            if whole > 0 {
                self.write_blocks(whole)?;
            }
        }
        Ok(())
    }

    fn end_account(&mut self) -> Result<()> {
        self.write_blocks(self.waiting.len())?;
        if let Some(account) = self.account
            && self.count > HUB
        {
            self.hubs.end(account)?;
        }
        self.count = 0;
        Ok(())
    }

    fn write_blocks(&mut self, postings: usize) -> Result<()> {
        for block in self.waiting[..postings].chunks(BLOCK) {
            self.starts.push([self.blocks.len()])?;
            self.bits.clear();
            encode(block, &self.shape, &mut self.bits, &mut self.amounts);
            self.blocks.write(self.bits.bytes(), self.out)?;
        }
        self.waiting.drain(..postings);
        Ok(())
    }

    /// All accounts below one begin, and end, where the next block does.
    fn skip_to(&mut self, account: u32) -> Result<()> {
        while self.accounts.len() <= u64::from(account) {
            self.accounts.push([self.starts.len()])?;
        }
        Ok(())
    }

    /// Ends the postings of a segment of so many accounts; the number of hubs.
    pub(crate) fn put(mut self, accounts: u64) -> Result<u64> {
        self.end_account()?;
        while self.accounts.len() <= accounts {
            self.accounts.push([self.starts.len()])?;
        }
        self.starts.push([self.blocks.len()])?;
        self.blocks.end(self.out)?;
        self.accounts.put(self.out, layout::ACCOUNT_BLOCKS)?;
        self.starts.put(self.out, layout::POSTING_STARTS)?;
        self.hubs.put(self.out)
    }
}

/// Takes what each account paid in fees, for those that paid any, accounts in order.
pub(crate) struct FeesWriter {
    accounts: IntWriter,
    sums: AmountTableWriter,
}

impl FeesWriter {
    pub(crate) fn new(spool: &Arc<Spool>) -> Self {
        Self { accounts: IntWriter::new(spool), sums: AmountTableWriter::new(spool) }
    }

    /// Accounts so far.
    pub(crate) fn len(&self) -> u64 {
        self.accounts.len()
    }

    pub(crate) fn push(&mut self, account: u32, sum: Amount) -> Result<()> {
        self.accounts.push([u64::from(account)])?;
        self.sums.push(sum)
    }

    pub(crate) fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.accounts.put(out, layout::FEE_ACCOUNTS)?;
        self.sums.put(out, layout::FEE_SUMS)
    }
}
