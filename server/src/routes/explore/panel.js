// The panel beside the picture: an address, a line, a transaction or another page, with the answers that were asked for.

import * as answers from "./answers.js";
import * as calls from "./calls.js";
import { keyOf } from "./case.js";
import { button, choice, copyButton, element, facts, field, focus, link, many } from "./dom.js";
import { drawable } from "./merge.js";
import { chainsOf, linesOf, titleOf } from "./picture.js";
import { days, exactAmount, labelText, money, riskText, short, stopText, sumText } from "./words.js";

const LIMITS = [10, 25, 50, 100];
// Rows of a list: at first, and where more are asked for.
const ROWS = [20, 100, 1000];
const HOPS = [0, 1, 2, 3, 4, 5, 6, 7];

/** Shows how to ask the same elsewhere. */
export function sameElsewhere(call) {
  const block = (name, text) =>
    element(
      "div",
      { class: "code" },
      element("b", {}, name),
      copyButton(text, `for ${name}`),
      element("pre", { tabindex: "0", "aria-label": name }, text),
    );
  const parts = [block("curl", calls.curl(call, location.origin))];
  if (call.python !== undefined) {
    parts.push(block("Python", calls.python(call, location.origin)));
  }
  return element(
    "details",
    { class: "same" },
    element("summary", {}, `${call.title}: the same in curl and Python`),
    ...parts,
  );
}

export class Panel {
  constructor(host, app) {
    this.host = host;
    this.app = app;
    this.page = null;
    this.before = [];
    // The settings that the user chose last.
    this.limit = LIMITS[0];
    this.trace = { ...calls.TRACE };
    this.isTraceOpen = false;
    this.rows = new Map();
    this.tab = "here";
  }

  /** Shows a page anew after the case has changed. */
  refresh() {
    if (this.page && !this.host.contains(document.activeElement?.closest?.("textarea, input, select") ?? null)) {
      this.draw();
    }
  }

  /** Closes the panel. */
  close() {
    const hadFocus = this.host.contains(document.activeElement);
    this.page = null;
    this.before = [];
    this.host.hidden = true;
    this.host.replaceChildren();
    return hadFocus;
  }

  open(page, isFocused) {
    if (this.page && this.page.id !== page.id) {
      this.before.push({ ...this.page, tab: this.tab });
    }
    if (this.page?.id !== page.id) {
      this.tab = "here";
      this.rows.clear();
    }
    this.page = page;
    this.draw();
    this.host.scrollTop = 0;
    if (isFocused) {
      focus(this.host);
    }
  }

  back() {
    this.page = null;
    const last = this.before.pop();
    last.again();
    this.tab = last.tab;
    this.draw();
  }

  draw() {
    const { host, page } = this;
    const hadFocus = host.contains(document.activeElement);
    const focused = hadFocus ? document.activeElement.dataset.focus : null;
    const scrolled = host.scrollTop;
    const top = element("div", { class: "top" });
    if (this.before.length) {
      top.append(button("Back", () => this.back(), { "data-focus": "back" }));
    }
    top.append(button("Close", () => this.app.close(), { title: "Close (Escape)", "data-focus": "close" }));
    host.replaceChildren(top, element("h2", {}, page.title));
    host.hidden = false;
    page.fill(host);
    host.scrollTop = scrolled;
    if (hadFocus) {
      focus((focused && host.querySelector(`[data-focus="${CSS.escape(focused)}"]`)) || host);
    }
  }

  /** Opens any page. */
  openPage(title, call, fill, isFocused = true) {
    const page = {
      id: `page ${title}`,
      title,
      fill: (host) => {
        const body = element("div", { class: "answer" });
        fill(body);
        host.append(body);
        if (call) {
          host.append(sameElsewhere(call));
        }
      },
    };
    page.again = () => this.open(page, true);
    this.open(page, isFocused);
  }

  /** Opens an address, which may be in the picture or not. */
  openAddress(chain, address, isFocused) {
    const key = keyOf(chain, address);
    const state = () => this.app.case.state;
    const page = {
      id: key,
      key,
      fill: (host) => this.fillAddress(host, { chain, address, key }),
      get title() {
        const one = state().addresses.get(key);
        return one ? titleOf(one, 1) : short(address);
      },
      again: () => this.app.openAddress(chain, address, true),
    };
    this.open(page, isFocused);
  }

  fillAddress(host, place) {
    const { app } = this;
    const one = app.case.state.addresses.get(place.key);
    const whole = element(
      "p",
      {},
      element("span", { class: "whole" }, place.address),
      " ",
      copyButton(place.address, "address"),
    );
    host.append(whole, element("p", { class: "faint" }, `on ${place.chain}${one ? "" : " · not in the picture"}`));
    if (one?.risk) {
      host.append(element("p", {}, "Risk: ", riskText(one.risk)));
    }
    host.append(this.actions(place, one), this.tabs(place, one));
  }

  // The buttons of an address, with their prices.
  actions(place, one) {
    const { app } = this;
    const { filters } = app;
    const limit = choice(
      LIMITS.map((count) => [count, `${count} largest`]),
      this.limit,
      { "aria-label": "Counterparties at most" },
    );
    limit.addEventListener("change", () => (this.limit = Number(limit.value)));
    const expand = (text, direction) => {
      const call = calls.payments(place, direction, this.limit, filters);
      const key = direction === "out" ? "O" : "I";
      return button(app.priced(text, call), () => app.expand(place, direction, this.limit), {
        title: `${text} (${key})`,
        "data-focus": direction,
      });
    };
    const first = element(
      "div",
      { class: "actions" },
      expand("Payments out", "out"),
      expand("Payments in", "in"),
      limit,
    );
    const second = element("div", { class: "actions" });
    if (one) {
      second.append(
        button(one.isPinned ? "Unpin" : "Pin", () => app.pin(place.key), {
          title: "Keep its place (P)",
          "data-focus": "pin",
        }),
        button("Remove", () => app.remove(place.key), { title: "Remove it from the picture (Delete)" }),
      );
    } else {
      second.append(
        button("Add to the picture", () => app.startAt(place.chain, place.address), { "data-focus": "add" }),
      );
    }
    return element("div", {}, first, this.traceForm(place), second);
  }

  traceForm(place) {
    const { app, trace } = this;
    const part = (text, name, values) => {
      const made = choice(
        values.map((value) => [value, String(value)]),
        trace[name],
      );
      made.addEventListener("change", () => (trace[name] = Number(made.value)));
      return field(text, made);
    };
    const call = calls.trace(place, trace, app.filters);
    const start = button(app.priced("Trace", call), () => app.trace(place, { ...trace }), { "data-focus": "trace" });
    const form = element(
      "details",
      { class: "trace" },
      element("summary", {}, "Trace over several hops"),
      element(
        "div",
        { class: "actions" },
        part("Hops out", "outward", HOPS),
        part("in", "inward", HOPS),
        part("Largest", "limit", LIMITS),
        part("Addresses", "addresses", [100, 500, 1000, 2000]),
        start,
      ),
    );
    form.open = this.isTraceOpen;
    form.addEventListener("toggle", () => (this.isTraceOpen = form.open));
    return form;
  }

  tabs(place, one) {
    const { app } = this;
    const open = (address, hash, chain) =>
      hash ? app.openTransaction(hash, place.chain) : app.openAddress(chain ?? place.chain, address, true);
    const traced = app.traces.get(place.key);
    const all = [
      ["here", "Here", null, () => this.here(place, one)],
      traced && ["trace", "Trace", traced, (data) => answers.ends(data, open)],
      ["overview", "Overview", calls.overview(place), (data) => answers.overview(data, open)],
      ["risk", "Risk", calls.risk(place), (data) => answers.risk(data, open)],
      [
        "counterparties",
        "Counterparties",
        calls.counterparties(place, app.filters, this.rowsOf("counterparties")),
        (data) => answers.counterparties(data, open, (row) => app.addCounterparty(place, row)),
      ],
      ["labels", "Labels", calls.labels(place), answers.labels],
      [
        "transactions",
        "Transfers",
        calls.transactions(place, app.filters, this.rowsOf("transactions")),
        (data) => answers.movements(data, open),
      ],
      place.chain === "bitcoin" && [
        "cluster",
        "Cluster",
        calls.cluster(place.address),
        (data) => [this.markCluster(data), ...answers.cluster(data, open)],
      ],
    ].filter(Boolean);
    if (!all.some(([id]) => id === this.tab)) {
      this.tab = "here";
    }
    const bar = element("div", {
      class: "tabs",
      role: "tablist",
      "aria-label": "Answers about this address, with their prices in credits",
    });
    const body = element("div", { class: "answer", role: "tabpanel", id: "answer", tabindex: "0" });
    for (const [id, text, call, render] of all) {
      const isOpen = id === this.tab;
      const tab = button(call === null ? text : app.priced(text, call, true), () => this.choose(id, call), {
        role: "tab",
        "aria-selected": String(isOpen),
        "aria-controls": "answer",
        tabindex: isOpen ? "0" : "-1",
        "data-focus": `tab ${id}`,
      });
      bar.append(tab);
      if (isOpen) {
        body.setAttribute("aria-label", text);
        this.fillTab(body, call, render);
      }
    }
    // Arrows move between tabs without asking; Enter asks.
    bar.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) {
        event.preventDefault();
        const buttons = [...bar.children];
        const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
        next.focus();
      }
    });
    return element("div", {}, bar, body);
  }

  async choose(id, call) {
    const answer = call === null ? null : await this.app.ask(call);
    if (call === null || answer) {
      this.tab = id;
      this.draw();
    }
    if (answer && id === "risk") {
      this.app.judged([answer.data]);
    }
  }

  // Fills an answer from what is at hand; a filter that changed may leave nothing, and a click asks again.
  fillTab(body, call, render) {
    if (call === null) {
      body.append(...render());
      return;
    }
    const answer = this.app.api.known(call);
    if (answer) {
      const { data, meta } = answer;
      body.append(
        answers.warnings({ warnings: [...(meta.warnings ?? []), ...(data.meta?.warnings ?? [])] }),
        ...render(data),
        this.more(this.tab, data),
        sameElsewhere(call),
      );
    } else {
      body.append(button(this.app.priced("Ask", call), () => this.choose(this.tab, call), { "data-focus": "ask" }));
    }
  }

  rowsOf(list) {
    return this.rows.get(list) ?? ROWS[0];
  }

  // Offers more rows of a list that has them.
  more(list, data) {
    const next = ROWS.find((rows) => rows > this.rowsOf(list));
    const isMore = next !== undefined && data.datas !== undefined && data.pagination.has_more;
    const take = () => {
      this.rows.set(list, next);
      this.draw();
    };
    return isMore ? button(`Up to ${next} rows`, take, { "data-focus": "more" }) : "";
  }

  // What the picture has of an address.
  here(place, one) {
    if (!one) {
      return [element("p", {}, "Add it to the picture to see payments here.")];
    }
    const { app } = this;
    const note = element("textarea", { rows: "3", maxlength: "5000" });
    note.value = one.note;
    note.addEventListener("change", () => app.note(place.key, note.value));
    const parts = [field("Note", note)];
    if (one.end) {
      parts.push(element("p", {}, `A trace stops here: ${stopText(one.end)}.`));
    }
    parts.push(
      facts([
        ["labels", one.labels.map(labelText).join(", ")],
        ["disputed", one.isDisputed ? "a claim about it is disputed" : null],
        ["cluster", one.cluster && short(one.cluster)],
      ]),
    );
    const { state } = app.case;
    const lines = linesOf(state, app.filters);
    for (const [title, end, other] of [
      ["Received from", "to", "from"],
      ["Paid to", "from", "to"],
    ]) {
      const found = lines.filter((line) => line[end] === place.key).sort((first, second) => second.usd - first.usd);
      if (found.length) {
        const items = found.map((line) => {
          const far = state.addresses.get(line[other]);
          const money = link(sumText(line.payments), () => app.openLine(line.from, line.to, true), {
            title: "Payments",
          });
          return element(
            "li",
            {},
            link(titleOf(far, chainsOf(state)), () => app.openAddress(far.chain, far.address, true)),
            " ",
            money,
          );
        });
        parts.push(element("h3", {}, title), element("ul", {}, ...items));
      }
    }
    if (parts.length < 4 && !lines.some((line) => line.from === place.key || line.to === place.key)) {
      parts.push(element("p", {}, "No payments are in the picture yet: ask with Payments out or Payments in."));
    }
    return parts;
  }

  markCluster(data) {
    const members = new Set(data.addresses);
    const shown = [...this.app.case.state.addresses.values()].filter(
      (one) => one.chain === "bitcoin" && members.has(one.address),
    );
    const open = shown.filter((one) => one.cluster !== data.cluster_id);
    return open.length
      ? button(`Mark ${many(open.length, "address", "addresses")} in the picture`, () =>
          this.app.markCluster(
            open.map((one) => one.key),
            data.cluster_id,
          ),
        )
      : element(
          "p",
          { class: "faint" },
          `${many(shown.length, "address", "addresses")} of it ${shown.length === 1 ? "is" : "are"} in the picture, marked.`,
        );
  }

  /** Opens the payments from one address to another. */
  openLine(from, to, isFocused) {
    const { app } = this;
    const page = {
      id: `${from}>${to}`,
      line: [from, to],
      title: "Payments",
      fill: (host) => this.fillLine(host, from, to),
      again: () => app.openLine(from, to, true),
    };
    this.open(page, isFocused);
  }

  fillLine(host, from, to) {
    const { app } = this;
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
    host.append(element("p", {}, place(payer), " paid ", place(payee)));
    for (const payment of line.payments) {
      host.append(this.payment(payment, payer.chain, to));
    }
    if (payer.chain === payee.chain && payer !== payee) {
      const call = calls.between(payer.chain, payer.address, payee.address, app.filters, this.rowsOf("between"));
      const open = (address, hash, chain) =>
        hash ? app.openTransaction(hash, payer.chain) : app.openAddress(chain ?? payer.chain, address, true);
      const answer = app.api.known(call);
      if (answer) {
        host.append(
          element("h3", {}, "All transfers between the two"),
          element("div", { class: "answer" }, ...answers.movements(answer.data, open)),
          this.more("between", answer.data),
          sameElsewhere(call),
        );
      } else {
        host.append(
          button(app.priced("All transfers between the two", call), async () => (await app.ask(call)) && this.draw(), {
            "data-focus": "between",
          }),
        );
      }
    }
  }

  payment(payment, chain, to) {
    const { app } = this;
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
    const over = payment.crossing;
    if (over) {
      parts.push(
        element(
          "p",
          {},
          `Crossed over ${over.bridge || "a bridge"} from ${over.from} to ${over.to || "an unknown chain"}.`,
        ),
      );
      const hash = over.sourceHash || payment.hashes[0];
      if (hash) {
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

  /** Opens a transaction of an answer. */
  openTransaction(answer, call) {
    const { app } = this;
    const { data } = answer;
    const page = {
      id: `transaction ${data.tx_hash}`,
      title: "Transaction",
      fill: (host) => {
        const open = (address, hash, chain) =>
          hash ? app.openTransaction(hash, data.blockchain) : app.openAddress(chain ?? data.blockchain, address, true);
        host.append(
          element("div", { class: "answer" }, answers.warnings(answer.meta), ...answers.transaction(data, open)),
        );
        const actions = element("div", { class: "actions" });
        if (drawable(data).length) {
          actions.append(button("Add to the picture", () => app.addTransaction(data), { "data-focus": "add" }));
        }
        host.append(actions);
        this.asked(host, actions, calls.crossing(data.tx_hash, data.blockchain), "Other side of a bridge", (found) => [
          ...answers.crossings(found, open),
          found.results.length ? button("Add both sides to the picture", () => app.addCrossings(found.results)) : "",
        ]);
        if (data.blockchain === "bitcoin") {
          this.asked(host, actions, calls.change(data.tx_hash), "Which output is change", (found) =>
            answers.change(found),
          );
        }
        host.append(sameElsewhere(call));
      },
    };
    page.again = () => this.open(page, true);
    this.open(page, true);
  }

  // Shows an answer, or the button that asks for it.
  asked(host, actions, call, text, render) {
    const { app } = this;
    const answer = app.api.known(call);
    if (answer) {
      host.append(
        element("div", { class: "answer" }, element("h3", {}, text), ...render(answer.data), sameElsewhere(call)),
      );
    } else {
      actions.append(
        button(app.priced(text, call), async () => (await app.ask(call)) && this.draw(), { "data-focus": text }),
      );
    }
  }
}
