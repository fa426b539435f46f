//! Change, `CoinJoin` shapes and peel chains of the bitcoin economy.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context, Result};
use headwater_intel::bitcoin::change::{Case, Judgement, NoChange, RULES, judge};
use headwater_intel::bitcoin::coinjoin::{CoinJoin, Protocol};
use headwater_intel::bitcoin::gather::{Gathered, in_cluster_of_inputs};
use headwater_intel::bitcoin::peel_chain::{PeelRules, peel_chain};
use headwater_ledger::Cancel;
use headwater_simulate::truth::JointKind;
use headwater_types::{Chain, TxHash};

use super::Economy;
use super::auc::Scores;
use super::interval::Share;

/// Rules with the precision that Möser and Narayanan (2022) measured, in hundredths.
const PUBLISHED: [(&str, &str); 26] = [
    ("fresh_output", "95.98"),
    ("power_of_ten_2", "97.55"),
    ("power_of_ten_3", "98.55"),
    ("power_of_ten_4", "98.67"),
    ("power_of_ten_5", "98.19"),
    ("power_of_ten_6", "97.70"),
    ("power_of_ten_7", "99.53"),
    ("optimal_change", "92.08"),
    ("optimal_change_with_fee", "92.20"),
    ("address_type", "88.58"),
    ("locktime", "99.05"),
    ("version", "98.49"),
    ("rbf", "96.54"),
    ("segwit", "90.12"),
    ("multisig", "99.61"),
    ("p2pkh", "94.65"),
    ("p2sh", "94.63"),
    ("p2wpkh", "90.48"),
    ("p2wsh", "89.79"),
    ("address_types", "92.78"),
    ("ordered", "83.20"),
    ("zero_conf", "62.05"),
    ("in_out_count", "71.08"),
    ("output_count", "68.65"),
    ("absolute_fee", "82.26"),
    ("relative_fee", "83.79"),
];

/// The result of one way to combine rules: scores of outputs, by confidence and by votes, and answers that are right.
#[derive(Default)]
struct CombinationScores {
    scores: Scores,
    counted: Scores,
    answers: Share,
}

/// The counts of answers about bitcoin transactions.
#[derive(Default)]
pub struct Tally {
    transactions: usize,
    /// Payments with change that are not `CoinJoin`.
    payments: usize,
    /// By rule: votes that are right, of all votes.
    votes: BTreeMap<&'static str, Share>,
    abstained: BTreeMap<&'static str, usize>,
    /// By level: answers that are right.
    levels: BTreeMap<&'static str, Share>,
    /// The reasons why payments with change have no answer.
    reasons: BTreeMap<&'static str, usize>,
    /// Answers about transactions without change, by what they are.
    invented: BTreeMap<&'static str, usize>,
    all: CombinationScores,
    /// Without the rules that decide.
    signs: CombinationScores,
    /// And without one more.
    without: BTreeMap<&'static str, CombinationScores>,
    recall: BTreeMap<JointKind, Share>,
    precision: BTreeMap<Protocol, Share>,
    /// Lookalikes that are not a `CoinJoin`, by what they were taken for.
    mistaken: BTreeMap<(&'static str, &'static str), usize>,
    premix_recall: Share,
    premix_precision: Share,
    /// Steps of thefts that lie on a chain that is found.
    peeled: Share,
}

impl Tally {
    pub fn add(&mut self, economy: &Economy) -> Result<()> {
        let (ledger, truth) = (&*economy.ledger, &economy.truth);
        let changes: HashMap<TxHash, usize> =
            truth.change_outputs.iter().map(|change| (change.hash, change.output_index as usize)).collect();
        let joints: HashMap<TxHash, JointKind> = truth.joints.iter().map(|joint| (joint.hash, joint.kind)).collect();
        let cancel = Cancel::new();
        let clusters = ledger.clusters(Chain::BITCOIN, &cancel)?.context("clusters of an economy are few, or built")?;
        let last = ledger.coverage().get(&Chain::BITCOIN).and_then(|coverage| coverage.last_block).unwrap_or(0);
        for block in 0..=last {
            for index in 0.. {
                let Some(found) = ledger.transaction_at(Chain::BITCOIN, block, index)? else { break };
                let transaction = ledger.transaction(found)?;
                let hash = transaction.head.hash;
                let same_cluster = in_cluster_of_inputs(ledger, clusters, &transaction);
                let gathered = Gathered::read(ledger, transaction, Some(&same_cluster), &Cancel::new())?;
                let gathered = gathered.context("a bitcoin transaction has inputs and outputs")?;
                let (case, joint) = (gathered.case(), joints.get(&hash).copied());
                self.transactions += 1;
                self.coinjoin(joint, case.coinjoin, gathered.premix().is_some());
                self.change(&case, changes.get(&hash).copied(), joint);
            }
        }
        let steps = truth.cases.iter().filter(|step| step.chain == Chain::BITCOIN && step.stage == "layer");
        for step in steps {
            let rules = PeelRules::default();
            let chain = peel_chain(ledger, Chain::BITCOIN, &step.hash, (&rules, &mut |_| Ok(false)), &Cancel::new())?;
            self.peeled.count(chain.is_some_and(|chain| chain.steps.iter().any(|one| one.hash == step.hash)));
        }
        Ok(())
    }

    fn coinjoin(&mut self, joint: Option<JointKind>, found: Option<CoinJoin>, is_premix: bool) {
        let expected = joint.and_then(protocol);
        if let (Some(kind), Some(expected)) = (joint, expected) {
            self.recall.entry(kind).or_default().count(found.is_some_and(|found| found.protocol == expected));
        }
        if let Some(found) = found {
            self.precision.entry(found.protocol).or_default().count(expected == Some(found.protocol));
            if expected.is_none() {
                *self.mistaken.entry((joint.map_or("payment", JointKind::name), found.protocol.name())).or_default() +=
                    1;
            }
        }
        if joint == Some(JointKind::WhirlpoolPremix) {
            self.premix_recall.count(is_premix);
        }
        if is_premix {
            self.premix_precision.count(joint == Some(JointKind::WhirlpoolPremix));
        }
    }

    fn change(&mut self, case: &Case<'_>, change: Option<usize>, joint: Option<JointKind>) {
        let judgement = judge(case, RULES);
        let Some(change) = change.filter(|_| joint.is_none_or(|kind| !kind.is_coinjoin())) else {
            if judgement.change.is_ok() {
                *self.invented.entry(joint.map_or("payment without change", JointKind::name)).or_default() += 1;
            }
            return;
        };
        self.payments += 1;
        for vote in &judgement.votes {
            for output in &vote.outputs {
                self.votes.entry(vote.rule.name()).or_default().count(*output == change);
            }
        }
        for (rule, _) in &judgement.abstentions {
            *self.abstained.entry(rule.name()).or_default() += 1;
        }
        match judgement.change {
            Ok(found) => {
                let level = found.level().map_or("below 0.90", |level| level.name());
                self.levels.entry(level).or_default().count(found.output == change);
            }
            Err(reason) => *self.reasons.entry(reason_name(reason)).or_default() += 1,
        }
        if judgement.change.is_err_and(|reason| reason != NoChange::NoConsensus) {
            return;
        }
        self.all.add(case, &judgement, change);
        let signs = || RULES.iter().filter(|rule| !rule.is_decisive());
        let by_signs = judge(case, signs());
        self.signs.add(case, &by_signs, change);
        for left_out in signs() {
            let without = judge(case, signs().filter(|rule| *rule != left_out));
            self.without.entry(left_out.name()).or_default().add(case, &without, change);
        }
    }

    pub fn print(&self) {
        println!("## Bitcoin\n");
        println!(
            "{} transactions, {} payments with change that are not a CoinJoin.\n",
            self.transactions, self.payments
        );
        self.print_rules();
        self.print_combinations();
        self.print_coinjoins();
    }

    fn print_rules(&self) {
        println!("| rule | right | wrong | precision | published | abstains |");
        println!("|---|---|---|---|---|---|");
        for rule in RULES {
            let votes = self.votes.get(rule.name()).copied().unwrap_or_default();
            let published = PUBLISHED.iter().find(|(name, _)| *name == rule.name()).map_or("–", |(_, share)| share);
            let abstained = self.abstained.get(rule.name()).copied().unwrap_or(0);
            let (right, wrong) = (votes.part, votes.whole - votes.part);
            println!("| `{}` | {right} | {wrong} | {votes} | {published} | {abstained} |", rule.name());
        }
        println!("\n| answer | right | wrong | precision |\n|---|---|---|---|");
        for (level, share) in &self.levels {
            println!("| {level} | {} | {} | {share} |", share.part, share.whole - share.part);
        }
        println!("\n| no answer | payments with change |\n|---|---|");
        for (reason, count) in &self.reasons {
            println!("| `{reason}` | {count} |");
        }
        println!("\nAnswers where there is no change:\n\n| transaction | answers |\n|---|---|");
        for (kind, count) in &self.invented {
            println!("| {kind} | {count} |");
        }
    }

    fn print_combinations(&self) {
        println!("\n| combination | AUC | true positives at one false of 1,000 | answers right | wrong | precision |");
        println!("|---|---|---|---|---|---|");
        let print = |name: &str, scores: &Scores, answers: Option<Share>| {
            let (area, share) = scores.area();
            let answers = answers
                .map_or("– | – | –".to_owned(), |of| format!("{} | {} | {of}", of.part, of.whole - of.part));
            println!("| {name} | {area:.4} | {share:.3} | {answers} |");
        };
        print("all rules", &self.all.scores, Some(self.all.answers));
        print("all rules, votes counted", &self.all.counted, None);
        print("signs alone", &self.signs.scores, Some(self.signs.answers));
        print("signs alone, votes counted", &self.signs.counted, None);
        for rule in RULES {
            if let Some(without) = self.without.get(rule.name()) {
                print(&format!("signs without `{}`", rule.name()), &without.scores, Some(without.answers));
            }
        }
    }

    fn print_coinjoins(&self) {
        println!("\n| CoinJoin | planted | recall | type | found | precision |\n|---|---|---|---|---|---|");
        for (kind, recall) in &self.recall {
            let Some(protocol) = protocol(*kind) else { continue };
            let precision = self.precision.get(&protocol).copied().unwrap_or_default();
            let (planted, found) = (recall.whole, precision.whole);
            println!("| {} | {planted} | {recall} | `{}` | {found} | {precision} |", kind.name(), protocol.name());
        }
        let (recall, precision) = (self.premix_recall, self.premix_precision);
        println!(
            "| whirlpool_tx0 | {} | {recall} | `whirlpool_tx0` | {} | {precision} |\n",
            recall.whole, precision.whole
        );
        for ((kind, protocol), count) in &self.mistaken {
            println!("- {count} of {kind} look like `{protocol}`.");
        }
        println!(
            "\nPeel chains: {} steps of layered thefts, on a chain that is found {}.\n",
            self.peeled.whole, self.peeled
        );
    }
}

impl CombinationScores {
    /// Adds every output with its confidence and its votes, less those for other outputs.
    fn add(&mut self, case: &Case<'_>, judgement: &Judgement, change: usize) {
        for (place, _) in case.transaction.spendable() {
            let votes =
                |is_for: bool| judgement.votes.iter().filter(|vote| vote.outputs.contains(&place) == is_for).count();
            let counted = i32::try_from(votes(true)).unwrap_or(0) - i32::try_from(votes(false)).unwrap_or(0);
            self.scores.add(judgement.confidences[place], place == change);
            self.counted.add(f64::from(counted), place == change);
        }
        if let Ok(found) = judgement.change {
            self.answers.count(found.output == change);
        }
    }
}

/// Returns what a `CoinJoin` of the economy is recognised as.
const fn protocol(kind: JointKind) -> Option<Protocol> {
    match kind {
        JointKind::Whirlpool => Some(Protocol::Whirlpool),
        JointKind::WasabiOneZero | JointKind::WasabiOneOne => Some(Protocol::WasabiOne),
        JointKind::WasabiTwo => Some(Protocol::WasabiTwo),
        JointKind::JoinMarket => Some(Protocol::JoinMarket),
        JointKind::Generic => Some(Protocol::Unknown),
        JointKind::WhirlpoolPremix | JointKind::PayJoin | JointKind::Stonewall | JointKind::Wages => None,
    }
}

const fn reason_name(reason: NoChange) -> &'static str {
    match reason {
        NoChange::Coinbase => "coinbase",
        NoChange::SingleOutput => "single_output",
        NoChange::CoinJoin => "coinjoin",
        NoChange::AllOutputsToInputs => "all_outputs_to_inputs",
        NoChange::Batch => "batch",
        NoChange::NoConsensus => "no_consensus",
    }
}
