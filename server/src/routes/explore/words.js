// Amounts, times, names and labels as people read them, from texts that strangers wrote.

import { dollars, many } from "./dom.js";
import { FACTS } from "./facts.js";

const LABELS = new Map(Object.entries(FACTS.vocabulary.labels));
const STOP_REASONS = new Map(Object.entries(FACTS.vocabulary.stop_reasons));
// Controls, marks of format and direction, private and unassigned characters: invisible, or able to turn text around.
const INVISIBLE = /\p{C}|\p{Zl}|\p{Zp}/gu;
const MAX_TEXT = 200;
const MAX_SYMBOL = 12;
// The share of a payment from which all of it counts as followed.
const NEARLY = 0.995;

/** Returns a text on one line without invisible characters, and not longer than names are. */
export function clean(text, max = MAX_TEXT) {
  const letters = [...String(text ?? "").trim()];
  const kept = letters.slice(0, max).join("").replace(INVISIBLE, "\ufffd");
  return letters.length > max ? `${kept.slice(0, -1)}…` : kept;
}

/** Returns a text of several lines without other invisible characters. */
export function cleanLines(text, max) {
  const lines = text.split(/\r?\n/).map((line) => clean(line, max));
  return [...lines.join("\n")].slice(0, max).join("");
}

/** Returns both ends of an address. */
export function short(address) {
  return address.length <= 14 ? address : `${address.slice(0, 6)}…${address.slice(-4)}`;
}

/** Describes a label. */
export function labelText(code) {
  return LABELS.get(code)?.text ?? clean(code).replaceAll("_", " ");
}

/** Returns the kind of an address: that of its most confident label that has one. Disputed claims make nobody illicit. */
export function kindOf(labels, isNamed, isDisputed) {
  const found = labels.map((code) => LABELS.get(code)?.kind ?? null).find((kind) => kind !== null);
  const kind = found ?? (isNamed ? "named" : "unnamed");
  return kind === "illicit" && isDisputed ? "named" : kind;
}

/** Describes why a trace stops at an address. */
export function stopText(reason) {
  return STOP_REASONS.get(reason) ?? clean(reason);
}

function withCommas(number) {
  const [whole, fraction] = number.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** Keeps five significant digits of a decimal number. */
function significant(number) {
  const [whole, fraction = ""] = number.split(".");
  if (whole.length > 15) {
    return `${whole[0]}.${whole.slice(1, 3)} × 10^${whole.length - 1}`;
  }
  const zeros = fraction.length - fraction.replace(/^0+/, "").length;
  const digits = whole === "0" ? 5 + zeros : Math.max(5 - whole.length, whole.length < 4 ? 1 : 0);
  const kept = fraction.slice(0, digits).replace(/0+$/, "");
  return withCommas(kept ? `${whole}.${kept}` : whole);
}

/** Formats a payment's amount with five significant digits. */
export function shortAmount({ amount, raw, symbol }) {
  const unit = clean(symbol, MAX_SYMBOL);
  return amount === null ? `${significant(raw)} units of ${unit}` : `${significant(amount)} ${unit}`;
}

/** Formats a payment's exact amount. */
export function exactAmount({ amount, raw, symbol }) {
  const unit = clean(symbol, MAX_SYMBOL);
  return amount === null ? `${withCommas(raw)} units of ${unit}` : `${withCommas(amount)} ${unit}`;
}

/** Formats a decimal number of an answer, such as a balance. */
export function decimal(text) {
  return withCommas(String(text));
}

/** Formats US dollars; null is said to be without a price. */
export function money(usd) {
  return usd > 0 && usd < 0.005 ? "under $0.01" : dollars(usd);
}

/** Formats a share. */
export function percent(share) {
  return share > 0 && share < 0.0005 ? "under 0.1 %" : `${(100 * share).toFixed(1)} %`;
}

/** Formats the day of a time in epoch seconds. */
export function day(secs) {
  return new Date(secs * 1000).toISOString().slice(0, 10);
}

/** Formats a time in epoch seconds. */
export function moment(secs) {
  return secs === null || secs === undefined
    ? null
    : `${new Date(secs * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** Formats the days of the first and the last of something. */
export function days(first, last) {
  const [from, to] = [day(first), day(last)];
  return from === to ? from : `${from} – ${to}`;
}

/** Returns the sum of US dollars of payments; null if none of them has a price. */
export function sumUsd(payments, usdOf = (payment) => payment.usd) {
  const priced = payments.map(usdOf).filter((usd) => usd !== null);
  return priced.length ? priced.reduce((sum, usd) => sum + usd, 0) : null;
}

/** Describes how much of payments a trace followed; null if it is all of them, or unknown. */
export function followedText(payments) {
  const traced = payments.filter((payment) => payment.followed !== null);
  const [part, all] = [sumUsd(traced, (payment) => payment.followed.usd), sumUsd(payments)];
  if (part !== null && all !== null) {
    return part > NEARLY * all ? null : `${money(part)} of it followed`;
  }
  // Without prices amounts of one asset can be compared.
  const [only] = traced;
  if (
    payments.length > 1 ||
    !only ||
    only.amount === null ||
    Number(only.followed.amount) > NEARLY * Number(only.amount)
  ) {
    return null;
  }
  return `${shortAmount({ ...only, amount: only.followed.amount })} of it followed`;
}

/** Describes the labels of an address; that they were not asked for is said. */
export function labelsText({ labels, areLabelsKnown }) {
  return areLabelsKnown ? labels.map(labelText).join(", ") : "labels not asked";
}

/** Describes the amount of the payments between two addresses. */
export function sumText(payments) {
  const usd = sumUsd(payments);
  if (payments.length === 1) {
    return usd === null ? shortAmount(payments[0]) : `${shortAmount(payments[0])} (${money(usd)})`;
  }
  return usd === null
    ? `${shortAmount(payments[0])} + ${payments.length - 1} more`
    : `${money(usd)} in ${many(payments.length, "asset", "assets")}`;
}

/** Describes a risk before its number: an answer without enough data is no judgement. */
export function riskText(risk) {
  if (risk.assessment === "insufficient") {
    return "not enough data to judge";
  }
  const part = risk.assessment === "partial" ? "in part, " : "";
  return `${part}${risk.level} ${risk.score.toFixed(1)}`;
}
