// Filters of payments by time, amount and asset. They choose what is shown, and times and assets also what is asked next.

import { button, element, field } from "./dom.js";
import { clean, sumUsd } from "./words.js";

export const OPEN = { from: null, to: null, least: null, assets: [] };

/** Returns whether anything is filtered. */
export function isFiltered(filters) {
  return filters.from !== null || filters.to !== null || filters.least !== null || filters.assets.length > 0;
}

/** Returns whether a payment is of the times and assets that are shown. */
export function passes(payment, { from, to, assets }) {
  return (
    (from === null || payment.last >= from) &&
    (to === null || payment.first <= to) &&
    (assets.length === 0 || assets.includes(payment.symbol.toLowerCase()))
  );
}

/** Returns whether payments between two addresses are large enough. One without a price may be of any worth. */
export function areEnough(payments, { least }) {
  return least === null || payments.some((payment) => payment.usd === null) || sumUsd(payments) >= least;
}

// Returns the epoch seconds of a date field: the first or the last second of the day.
function seconds(text, isEnd) {
  const start = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(start) ? null : start / 1000 + (isEnd ? 86_399 : 0);
}

/** Fills the form of filters; `onChange(filters)` is called when they change. */
export function filterForm(host, onChange) {
  const date = () => element("input", { type: "date", min: "2009-01-03", max: "2100-01-01" });
  const [from, to] = [date(), date()];
  const least = element("input", { type: "number", min: "0", step: "any", inputmode: "decimal" });
  const assets = element("input", { type: "text", placeholder: "usdt, eth", autocomplete: "off", spellcheck: "false" });
  const read = () => {
    const wanted = assets.value.split(/[\s,;]+/).map((symbol) => clean(symbol).toLowerCase());
    const amount = least.value === "" || Number(least.value) <= 0 ? null : Number(least.value);
    onChange({
      from: seconds(from.value, false),
      to: seconds(to.value, true),
      least: amount,
      assets: wanted.filter(Boolean),
    });
  };
  const reset = button("No filter", () => {
    for (const input of [from, to, least, assets]) {
      input.value = "";
    }
    read();
  });
  for (const input of [from, to, least, assets]) {
    input.addEventListener("change", read);
  }
  const hint =
    "Times and assets also apply to what is asked next; a trace follows all assets. The amount is that of a whole line; one with a payment without a price is always shown.";
  host.replaceChildren(
    field("From", from),
    field("To", to),
    field("At least US$", least),
    field("Assets", assets),
    reset,
    element("p", {}, hint),
  );
}
