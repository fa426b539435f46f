// The case as tables: for screen readers, and to look values up.

import { element, grid, link } from "./dom.js";
import { linesOf, titleOf, chainsOf } from "./picture.js";
import { days, exactAmount, labelsText, money, riskText } from "./words.js";

/** Fills the tables of addresses and payments that the filters show. */
export function fillTable(host, state, filters, app) {
  const chains = chainsOf(state);
  const lines = linesOf(state, filters);
  const open = (one) =>
    link(titleOf(one, chains), () => app.openAddress(one.chain, one.address, true), { title: one.address });
  const sum = (key, end) => {
    const found = lines.filter((line) => line[end] === key);
    return found.length ? money(found.reduce((total, line) => total + line.usd, 0)) : "";
  };
  const addresses = [...state.addresses.values()].map((one) => [
    open(one),
    element("span", { class: "whole" }, one.address),
    one.chain,
    labelsText(one),
    one.risk ? riskText(one.risk) : "",
    sum(one.key, "to"),
    sum(one.key, "from"),
    one.note,
  ]);
  const payments = lines.flatMap((line) =>
    line.payments.map((payment) => [
      open(state.addresses.get(line.from)),
      open(state.addresses.get(line.to)),
      link(exactAmount(payment), () => app.openLine(line.from, line.to, true)),
      payment.usd === null ? "no price" : money(payment.usd),
      payment.followed?.usd === null || payment.followed === null ? "" : money(payment.followed.usd),
      days(payment.first, payment.last),
      String(payment.count),
      payment.isChange ? "change" : payment.crossing ? `over ${payment.crossing.bridge || "a bridge"}` : "",
    ]),
  );
  host.replaceChildren(
    element("h2", {}, `Addresses: ${addresses.length}`),
    grid(
      "Addresses",
      ["Name", "Address", "Chain", "Labels", "Risk", "Came in here", "Went out here", "Note"],
      addresses,
    ),
    element("h2", {}, `Payments: ${payments.length}`),
    grid(
      "Payments",
      ["From", "To", "Amount", "US dollars", "Of it followed", "Dates", "Transactions", "Kind"],
      payments,
    ),
  );
}
