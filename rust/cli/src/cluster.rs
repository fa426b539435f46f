//! `headwater cluster`: the Bitcoin addresses of one owner, in words.

use headwater_engine::endpoints::btc_cluster::{
    BtcCluster, BtcClusterReport, ChangeCluster, ChangeClusterLink, RefusalReason,
};
use serde_json::json;

use super::Settings;
use super::error::Failure;
use super::output::Output;
use super::session::Session;
use super::table::{Layout, fitted};
use super::view::WideFlag;
use super::words::{number, row};

/// Arguments of `cluster`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The Bitcoin address.
    address: String,
    /// Also find the clusters that change links to it.
    #[arg(long)]
    include_change: bool,
    /// Maximum number of addresses listed.
    #[arg(long, default_value_t = 20)]
    limit: u32,
    /// Number of addresses skipped before them.
    #[arg(long, default_value_t = 0)]
    offset: u32,
    #[command(flatten)]
    wide: WideFlag,
}

/// Lists the addresses that probably have one owner, and what links them.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { address, include_change, limit, offset, wide } = arguments;
    let request = json!({"address": address, "include_change": include_change, "limit": limit, "offset": offset});
    let response = Session::open(settings)?.ask::<BtcCluster>(request)?;
    output.answer(&response, || lines(&response.report, wide.layout(output)))
}

fn lines(report: &BtcClusterReport, layout: Layout) -> Vec<String> {
    let (address, size) = (&*report.address, report.size);
    let mut lines = match (size, &report.cluster_id) {
        (0, _) => return vec![format!("{address} was never seen on bitcoin.")],
        (2.., Some(cluster)) => vec![format!("{address} is one of {size} addresses of the cluster {}.", &**cluster)],
        _ => vec![format!("No transaction links {address} to another address.")],
    };
    let mut rows = vec![row(["address", "first block", "linked by"])];
    rows.extend(report.members.iter().map(|member| {
        let linked_by = member.joined_tx.as_deref().unwrap_or_default();
        row([&member.address, &member.first_block.to_string(), linked_by])
    }));
    lines.extend(fitted(&rows, layout));
    if let Some(weakest) = &report.weakest_link {
        let (addresses, txid) = (weakest.addresses, &*weakest.txid);
        lines.push(format!("Without transaction {txid}, nothing links {addresses} of them to the others."));
    }
    lines.extend(report.with_change.iter().flat_map(with_change));
    lines.push(
        "A cluster is an inference: one transaction spends from addresses that one person is taken to hold.".to_owned(),
    );
    lines
}

fn with_change(merged: &ChangeCluster) -> Vec<String> {
    let mut lines = vec![match merged.clusters.len() {
        0 | 1 => "Change links it to no other cluster.".to_owned(),
        count => {
            let (size, oldest) = (merged.size, &*merged.cluster_id);
            format!("Change makes {count} clusters of {size} addresses one, the oldest {oldest}.")
        }
    }];
    lines.extend(merged.links.iter().map(|link| {
        let ChangeClusterLink { txid, index, confidence, payer, owner } = link;
        let (payer, owner, txid, confidence) = (&**payer, &**owner, &**txid, number(*confidence));
        format!("  {payer} -> {owner}: output {index} of {txid} ({confidence})")
    }));
    lines.extend(merged.refused.iter().map(|refused| {
        let why = match refused.reason {
            RefusalReason::Entities => "they are known as different entities",
            RefusalReason::Payment => "one paid the other and kept other change",
        };
        let ChangeClusterLink { txid, index, payer, owner, .. } = &refused.link;
        format!("  {} and {} stay apart: {why}; output {index} of {}", &**payer, &**owner, &**txid)
    }));
    lines
}
