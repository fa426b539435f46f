// The page of a line: the payments from one address to another.

import * as answers from "./answers.js";
import * as calls from "./calls.js";
import { button, element, link, many } from "./dom.js";
import { chainsOf, linesOf, titleOf } from "./picture.js";
import { more, rowsOf, sameElsewhere } from "./shared.js";
import { days, decimal, exactAmount, money, short } from "./words.js";

/** Fills the page of a line. */
export function fillLine(panel, host, from, to) {
  const { app } = panel;
  const { state } = app.case;
  const line = linesOf(state, app.filters).find((one) => one.from === from && one.to === to);
  if (!line) {
    host.append(
      element("p", {}, "These payments are not in the picture: they were removed, or the filters leave them out."),
    );
    return;
  }
  const [payer, payee] = [from, to].map((key) => state.addresses.get(key));
  const place = (one) => link(titleOf(one, chainsOf(state)), () => app.openAddress(one.chain, one.address, true));
  host.append(element("p", {}, "From ", place(payer), " to ", place(payee)));
  for (const payment of line.payments) {
    host.append(paymentPart(panel, payment, payer.chain, to));
  }
  if (payer.chain === payee.chain && payer !== payee) {
    const call = calls.between(payer.chain, payer.address, payee.address, app.filters, rowsOf(panel, "between"));
    const open = (address, hash, chain) =>
      hash ? app.openTransaction(hash, payer.chain) : app.openAddress(chain ?? payer.chain, address, true);
    const answer = app.api.known(call);
    if (answer) {
      host.append(
        element("h3", {}, "All transfers between the two"),
        element("div", { class: "answer" }, ...answers.movements(answer.data, open)),
        more(panel, "between", answer.data),
        sameElsewhere(call),
      );
    } else {
      host.append(
        button(app.priced("All transfers between the two", call), async () => (await app.ask(call)) && panel.draw(), {
          "data-focus": "between",
        }),
      );
    }
  }
}

function paymentPart(panel, payment, chain, to) {
  const { app } = panel;
  const list = element(
    "ul",
    {},
    ...payment.hashes.map((hash) =>
      element(
        "li",
        {},
        link(hash, () => app.openTransaction(hash, chain), { class: "link whole" }),
      ),
    ),
  );
  if (payment.count > payment.hashes.length && payment.hashes.length) {
    list.append(element("li", {}, `and ${payment.count - payment.hashes.length} smaller transactions`));
  }
  const remarks = [
    payment.isChange ? "change, back to the payer" : "",
    payment.isPart ? "there may be more: found along a trace, with filters or by one transaction" : "",
  ];
  const parts = [
    element("h3", {}, `${exactAmount(payment)} (${payment.usd === null ? "no price" : money(payment.usd)})`),
    element(
      "p",
      {},
      [days(payment.first, payment.last), many(payment.count, "transaction", "transactions"), ...remarks]
        .filter(Boolean)
        .join(" · "),
    ),
    list,
  ];
  if (payment.followed) {
    const worth = payment.followed.usd === null ? "" : ` (${money(payment.followed.usd)})`;
    const start = panel.app.case.state.addresses.get(payment.followed.start);
    const whence = start ? ` from ${short(start.address)}` : "";
    parts.push(
      element("p", {}, `Followed${whence}: ${decimal(payment.followed.amount)} ${payment.symbol}${worth} of it.`),
    );
  }
  const over = payment.crossing;
  if (over) {
    const isOpen = over.status && over.status !== "completed";
    parts.push(
      element(
        "p",
        {},
        `Crossed over ${over.bridge || "a bridge"} from ${over.from} to ${over.to || "an unknown chain"}${isOpen ? ` (${over.status})` : ""}.`,
      ),
    );
    const hash = over.sourceHash || payment.hashes[0];
    // A line that ends on the other chain has crossed already.
    if (hash && !to.startsWith(`${over.to}:`)) {
      const call = calls.crossing(hash, over.from || null);
      parts.push(
        button(app.priced("Follow to the other chain", call), () => app.cross(call, to), {
          "data-focus": `cross ${hash}`,
        }),
      );
    }
  }
  return element("section", {}, ...parts);
}
