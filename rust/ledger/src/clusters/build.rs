//! Builds the cluster table of segments: one pass over transactions in the order of the chain.

use std::io::Write;

use super::file::{ClusterFile, EVIDENCE, MEMBER_OF, MEMBERS, STARTS, SUMMARY, Summary};
use super::forest::Forest;
use super::link::Link;
use super::payments::{NumberedSegment, Payment, Payments, first_in, places};
use crate::Cancel;
use crate::error::Result;
use crate::external::Scratch;
use crate::primitives::unpack;
use crate::segment::{PackedTableWriter, SectionPart, Segment, SegmentFile, Spool};

/// No node.
const NONE: u32 = u32::MAX;

/// A table, and which of some segments it covers, in its order. All others come behind them.
pub(super) type CoveredTable<'a> = (&'a ClusterFile, &'a [usize]);

/// Writes the cluster table of segments, which all are of one chain and at least one. What a table says of some of them
/// is taken over. `progress` hears of transactions done. In memory are 4 bytes for each account of each segment, and some
/// 100 for each address that is in a cluster.
///
/// # Errors
/// When a segment is damaged, a file cannot be written, or the work is cancelled.
pub(crate) fn build(
    segments: &[&Segment],
    held: Option<CoveredTable<'_>>,
    (scratch, out): (&Scratch, &mut dyn Write),
    progress: &dyn Fn(u64),
    cancel: &Cancel,
) -> Result<()> {
    let placed: Vec<NumberedSegment<'_>> = (0..).zip(segments.iter().copied()).collect();
    let mut grouping = Grouping::new(&placed)?;
    if let Some(held) = held {
        grouping.take_over(held)?;
    }
    let is_newer = |number: &usize| held.is_none_or(|(_, covered)| !covered.contains(number));
    let newer: Vec<usize> = (0..placed.len()).filter(is_newer).collect();
    let read: Vec<NumberedSegment<'_>> = newer.iter().map(|number| placed[*number]).collect();
    let mut payments = Payments::of(&read, progress, cancel)?;
    while let Some(payment) = payments.next()? {
        grouping.add(newer[payment.segment], &payment)?;
    }
    grouping.write(scratch, out)
}

/// Clusters in progress.
struct Grouping<'a> {
    segments: &'a [NumberedSegment<'a>],
    forest: Forest,
    /// An account of each node.
    accounts: Vec<(u32, u32)>,
    /// The nodes of the accounts of each segment.
    nodes: Vec<Vec<u32>>,
}

impl<'a> Grouping<'a> {
    fn new(segments: &'a [NumberedSegment<'a>]) -> Result<Self> {
        let nodes = segments.iter().map(|(_, segment)| Ok(vec![NONE; segment.accounts()? as usize]));
        let nodes = nodes.collect::<Result<_>>()?;
        Ok(Self { segments, forest: Forest::default(), accounts: Vec::new(), nodes })
    }

    /// Takes over what a table says.
    fn take_over(&mut self, (file, covered): CoveredTable<'_>) -> Result<()> {
        for member in 0..file.members() {
            let stored = file.stored(member)?;
            let segment = covered.get(stored.segment).copied().ok_or_else(|| file.misleads(member))?;
            let node = match stored.joined {
                None => self.forest.push(stored.first),
                Some((by, into)) if into < member => {
                    self.forest.push_joined(stored.first, (by, u32::try_from(into).unwrap_or(NONE)))
                }
                Some(_) => return Err(file.misleads(member)),
            };
            debug_assert_eq!(node as usize, member, "nodes are numbered as members");
            self.accounts.push((u32::try_from(segment).unwrap_or(NONE), stored.id));
        }
        let mut at = 0;
        for segment in covered {
            for node in &mut self.nodes[*segment] {
                *node = file.member_at(at)?.map_or(NONE, |member| u32::try_from(member).unwrap_or(NONE));
                at += 1;
            }
        }
        Ok(())
    }

    /// Joins the payers of a payment of a segment.
    fn add(&mut self, at: usize, payment: &Payment) -> Result<()> {
        let (_, segment) = self.segments[at];
        if let Link::Consolidates(address) = &payment.link {
            let Some(payee) = segment.account(address)? else { return Ok(()) };
            let mut root = |id: u32| {
                Some(self.nodes[at][id as usize]).filter(|node| *node != NONE).map(|node| self.forest.root(node))
            };
            let of_payee = root(payee);
            if !payment.payers.iter().any(|payer| *payer == payee || of_payee.is_some() && root(*payer) == of_payee) {
                return Ok(());
            }
        }
        let hash = segment.hash(unpack(payment.transaction.0).1)?;
        let first = self.node(at, payment.payers[0])?;
        for payer in &payment.payers[1..] {
            let node = self.node(at, *payer)?;
            self.forest.join(first, node, hash);
        }
        Ok(())
    }

    /// The node of an account, in all segments that have it.
    fn node(&mut self, segment: usize, id: u32) -> Result<u32> {
        let known = self.nodes[segment][id as usize];
        if known != NONE {
            return Ok(known);
        }
        let places = places(self.segments, segment, id)?;
        let of_others = places.iter().map(|(number, id)| self.nodes[*number][*id as usize]);
        let node = match of_others.into_iter().find(|node| *node != NONE) {
            Some(node) => node,
            None => {
                let mut first = None;
                for (number, id) in &places {
                    let found = first_in(self.segments[*number].1, *id)?;
                    first = first.into_iter().chain(found).min();
                }
                let Some(first) = first else { return Err(self.segments[segment].1.miscounted(id)) };
                self.accounts.push((u32::try_from(segment).unwrap_or(NONE), id));
                self.forest.push(first)
            }
        };
        for (number, id) in places {
            self.nodes[number][id as usize] = node;
        }
        Ok(node)
    }

    fn write(mut self, scratch: &Scratch, out: &mut dyn Write) -> Result<()> {
        let count = u32::try_from(self.accounts.len()).unwrap_or(NONE);
        let roots: Vec<u32> = (0..count).map(|node| self.forest.root(node)).collect();
        let nodes = self.forest.nodes();
        let first = |node: u32| nodes[node as usize].first;
        let mut order: Vec<u32> = (0..count).collect();
        order.sort_unstable_by_key(|node| (first(roots[*node as usize]), first(*node)));
        let mut numbers = vec![0_u32; order.len()];
        for (number, node) in (0..).zip(&order) {
            numbers[*node as usize] = number;
        }
        let spool = Spool::within(scratch);
        let (mut starts, mut members) = (PackedTableWriter::<1>::new(&spool), PackedTableWriter::<7>::new(&spool));
        let mut evidence = SectionPart::new(&spool);
        for (number, node) in (0_u64..).zip(&order) {
            if roots[*node as usize] == *node {
                starts.push([number])?;
            }
            let (segment, id) = self.accounts[*node as usize];
            let seen = first(*node);
            let into = match nodes[*node as usize].joined {
                None => {
                    evidence.write(&[0; 32])?;
                    number
                }
                Some((transaction, older)) => {
                    evidence.write(transaction.as_bytes())?;
                    u64::from(numbers[older as usize])
                }
            };
            let [segment, id, index, position] = [segment, id, seen.index, seen.position].map(u64::from);
            members.push([segment, id, seen.block, index, seen.hash, position, into])?;
        }
        let (mut member_of, mut accounts) = (PackedTableWriter::<1>::new(&spool), 0);
        for nodes in &self.nodes {
            accounts += nodes.len() as u64;
            for node in nodes {
                member_of.push([numbers.get(*node as usize).map_or(0, |number| u64::from(*number) + 1)])?;
            }
        }
        let summary =
            Summary { segments: self.segments.len() as u64, accounts, clusters: starts.len(), members: members.len() };
        let (_, any) = self.segments[0];
        let mut out = SegmentFile::begin(out, any.chain(), any.network())?;
        out.put(SUMMARY, &[summary])?;
        starts.put(&mut out, STARTS)?;
        members.put(&mut out, MEMBERS)?;
        out.part(EVIDENCE, evidence)?;
        member_of.put(&mut out, MEMBER_OF)?;
        out.finish()?;
        Ok(())
    }
}
