//! Areas under curves.

/// Scores of what is, and of what is not.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    scores: Vec<(f64, bool)>,
}

impl Scores {
    pub fn add(&mut self, score: f64, is_so: bool) {
        self.scores.push((score, is_so));
    }

    /// The area under the curve, equal scores half; and the share of what is so that scores above all but a thousandth of
    /// what is not.
    #[expect(clippy::cast_precision_loss, reason = "counts of a few millions")]
    pub fn area(&self) -> (f64, f64) {
        let mut ordered = self.scores.clone();
        ordered.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (so, not) = (self.count(true) as f64, self.count(false) as f64);
        let (mut below, mut area) = (0.0, 0.0);
        for equal in ordered.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()) {
            let here = equal.iter().filter(|(_, is_so)| *is_so).count() as f64;
            let others = equal.len() as f64 - here;
            area += here * (below + others / 2.0);
            below += others;
        }
        (area / (so * not), self.above_a_thousandth(&ordered))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a few millions")]
    fn above_a_thousandth(&self, ordered: &[(f64, bool)]) -> f64 {
        let most = self.count(false) / 1_000;
        let (mut wrong, mut right, mut held) = (0, 0, 0);
        for equal in ordered.chunk_by(|one, other| one.0.total_cmp(&other.0).is_eq()).rev() {
            let here = equal.iter().filter(|(_, is_so)| *is_so).count();
            (wrong, right) = (wrong + equal.len() - here, right + here);
            if wrong > most {
                break;
            }
            held = right;
        }
        held as f64 / self.count(true) as f64
    }

    fn count(&self, is_so: bool) -> usize {
        self.scores.iter().filter(|(_, so)| *so == is_so).count()
    }
}

/// The chance that one of the first scores higher than one of the second; equal scores count half.
pub fn area_between(positive: &[f64], negative: &[f64]) -> f64 {
    let mut scores = Scores::default();
    for (of_kind, is_positive) in [(positive, true), (negative, false)] {
        for score in of_kind {
            scores.add(*score, is_positive);
        }
    }
    scores.area().0
}
