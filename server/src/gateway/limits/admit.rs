//! Whether a call is admitted, and what it is told when it is not.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::calls::Call;
use super::gcra::{Decision, Quota};
use super::standing::whole_seconds;
use super::{Admitted, Bucket, Gate, Limits, Plan, Standing, Who, nanoseconds, nanoseconds_at};
use crate::config::Overflow;
use crate::gateway::problem::{Details, Status};
use crate::gateway::{Context, Problem};

/// The latest that a refused caller is told to come back.
const LATEST_SECS: u64 = 60;
/// Nanoseconds per second.
const SECOND: u64 = 1_000_000_000;

impl Limits {
    /// Refuses an address that showed too many keys that are none, before its next one is looked at.
    pub fn check_address(&self, address: IpAddr) -> Result<(), Problem> {
        if !self.settings.enabled {
            return Ok(());
        }
        let (who, quota) = (Who::at(address), Quota::new(self.settings.wrong_keys));
        if self.wrong_keys.is_unknown(&who) {
            return Ok(());
        }
        let decision = self.wrong_keys.call(&who, nanoseconds(), quota, 0);
        if decision.remaining > 0 {
            return Ok(());
        }
        let empty_for = quota.interval.saturating_sub(quota.burst - decision.full_in);
        let message = "too many keys that are not valid came from this address: check the header X-API-Key";
        Err(refusal("rate_limited", self.settings.wrong_keys.per_second, message).after(whole_seconds(empty_for)))
    }

    /// A key of this address was refused.
    pub fn note_refused_key(&self, address: IpAddr) {
        if self.settings.enabled {
            self.wrong_keys.call(&Who::at(address), nanoseconds(), Quota::new(self.settings.wrong_keys), 1);
        }
    }

    /// Plan, rate and calls at a time. `who` is nobody where a caller is not limited.
    pub async fn admit(
        &self,
        who: Option<Who>,
        plan: &Plan,
        gate: Gate,
        context: &Context,
    ) -> Result<Admitted, Problem> {
        let (rate, class) = (plan.rate(gate.class), gate.class.name());
        let Some(who) = who.filter(|_| self.settings.enabled) else {
            return if plan.has_endpoint(gate.path) {
                Ok(Admitted { _call: None })
            } else {
                Err(not_in_plan(plan, gate))
            };
        };
        let (bucket, quota) = ((who, gate.path), Quota::new(rate));
        if !plan.has_endpoint(gate.path) {
            let decision = self.decide(&bucket, nanoseconds(), quota, 0).await;
            context.set_standing(Standing::new(class, rate, &decision));
            return Err(not_in_plan(plan, gate));
        }
        let (decision, waited_ms) = match self.settings.overflow {
            // It came a moment ago, so that its own time will do.
            Overflow::Reject => (self.decide(&bucket, nanoseconds_at(context.began()), quota, 1).await, None),
            Overflow::Queue => {
                let started = Instant::now();
                let decision = Box::pin(self.in_line(&bucket, quota, context)).await?;
                (decision, Some(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)))
            }
        };
        context.set_standing(Standing::new(class, rate, &decision).after_waiting(waited_ms));
        if !decision.is_admitted() {
            let message = format!(
                "{} takes {} calls a second and {} at once from one caller: wait as long as Retry-After says",
                gate.path, rate.per_second, rate.burst
            );
            let seconds = self.come_back(&bucket, quota, decision.retry_in);
            return Err(refusal("rate_limited", rate.per_second, message).after(seconds));
        }
        let call = match context.caller() {
            Some(caller) => Call::of_key(caller, plan.concurrency),
            None => self.calls.begin(who, plan.concurrency),
        };
        let call = call.ok_or_else(|| {
            let message = format!("{} calls are under way already: wait for one of them to end", plan.concurrency);
            refusal("concurrency", plan.concurrency, message).after(1)
        })?;
        Ok(Admitted { _call: Some(call) })
    }

    /// One call in its turn. What is not admitted in time is refused, and so is what could not be.
    async fn in_line(&self, bucket: &Bucket, quota: Quota, context: &Context) -> Result<Decision, Problem> {
        let before = self.lines.waiting(bucket) as u64;
        let first = self.decide(bucket, nanoseconds(), quota, u64::from(before == 0)).await;
        if before == 0 && first.is_admitted() {
            return Ok(first);
        }
        let wait = (first.full_in + quota.interval * (before + 1)).saturating_sub(quota.burst);
        let refused = Decision { retry_in: wait.max(1), ..first };
        if Duration::from_nanos(wait) > self.settings.longest_wait {
            return Ok(refused);
        }
        let Some(place) = self.lines.join(*bucket) else { return Ok(refused) };
        let admitted = async {
            let _turn = place.turn().await;
            loop {
                let decision = self.decide(bucket, nanoseconds(), quota, 1).await;
                if decision.is_admitted() {
                    return decision;
                }
                tokio::time::sleep(Duration::from_nanos(decision.retry_in)).await;
            }
        };
        tokio::select! {
            waited = tokio::time::timeout(self.settings.longest_wait, admitted) => Ok(waited.unwrap_or(refused)),
            () = context.until_client_leaves() => Err(Problem::new(Status::ClientGone, "the client went away")),
        }
    }

    async fn decide(&self, bucket: &Bucket, now: u64, quota: Quota, calls: u64) -> Decision {
        let Some(shared) = &self.shared else { return self.rates.call(bucket, now, quota, calls) };
        let name = match &bucket.0 {
            Who::Key(id) => format!("headwater:rate:{id}:{}", bucket.1),
            Who::Address(address) => format!("headwater:rate:{address}:{}", bucket.1),
        };
        // When it is asked, not when the call began: what is known is told for this moment.
        let now = nanoseconds();
        let known = self.rates.full_in(bucket, now);
        match Box::pin(shared.call(&name, now, quota, calls, known)).await {
            Some(decision) => {
                self.rates.learn(bucket, now, decision.arrival);
                decision
            }
            None => {
                let share = quota.shared_by(self.settings.replicas);
                self.rates.call(bucket, nanoseconds(), share, calls)
            }
        }
    }

    /// In how many seconds a refused caller may come back. Callers that are refused together are told different times,
    /// as many to a second as will be admitted in it.
    fn come_back(&self, bucket: &Bucket, quota: Quota, retry_in: u64) -> u64 {
        let now = nanoseconds();
        let spacing = quota.interval.max(SECOND / (quota.burst / quota.interval));
        self.promises.learn(bucket, now, now + retry_in);
        let promises = Quota { interval: spacing, burst: LATEST_SECS * SECOND };
        let promise = self.promises.call(bucket, now, promises, 1).full_in.saturating_sub(spacing);
        whole_seconds(promise.max(retry_in)).clamp(1, LATEST_SECS)
    }
}

fn refusal(reason: &str, limit: u32, message: impl Into<String>) -> Problem {
    let details = Details { reason: reason.to_owned(), limit: Some(limit.into()), ..Details::default() };
    Problem { details: Some(Box::new(details)), ..Problem::new(Status::TooManyRequests, message) }
}

fn not_in_plan(plan: &Plan, gate: Gate) -> Problem {
    Problem::new(Status::Forbidden, format!("the plan {:?} of this key does not include {}", plan.name, gate.path))
}
