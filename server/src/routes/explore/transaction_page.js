// The page of a transaction.

import * as answers from "./answers.js";
import * as calls from "./calls.js";
import { button, element } from "./dom.js";
import { drawable } from "./merge.js";
import { sameElsewhere } from "./shared.js";

/** Fills the page of a transaction. */
export function fillTransaction(panel, host, { data, meta }, call) {
  const { app } = panel;
  const open = (address, hash, chain) =>
    hash ? app.openTransaction(hash, data.blockchain) : app.openAddress(chain ?? data.blockchain, address, true);
  host.append(element("div", { class: "answer" }, answers.warnings(meta), ...answers.transaction(data, open)));
  const actions = element("div", { class: "actions" });
  if (drawable(data).length) {
    actions.append(button("Add to the picture", () => app.addTransaction(data), { "data-focus": "add" }));
  }
  host.append(actions);
  if (data.cross_chain !== false) {
    const crossing = calls.crossing(data.tx_hash, data.blockchain);
    asked(panel, host, actions, crossing, "Other side of a bridge", (found) => [
      ...answers.crossings(found, open),
      found.results.length ? button("Add both sides to the picture", () => app.addCrossings(found.results)) : "",
    ]);
  }
  if (data.blockchain === "bitcoin") {
    asked(panel, host, actions, calls.change(data.tx_hash), "Which output is change", answers.change);
  }
  host.append(sameElsewhere(call));
}

// Shows an answer, or the button that asks for it.
function asked(panel, host, actions, call, text, render) {
  const { app } = panel;
  const answer = app.api.known(call);
  if (answer) {
    const parts = [element("h3", {}, text), ...render(answer.data), sameElsewhere(call)];
    host.append(element("div", { class: "answer" }, ...parts));
  } else {
    const ask = async () => (await app.ask(call)) && panel.draw();
    actions.append(button(app.priced(text, call), ask, { "data-focus": text }));
  }
}
