// The page of an address: its buttons with their prices, and the answers about it.

import * as answers from "./answers.js";
import * as calls from "./calls.js";
import { button, choice, copyButton, element, facts, field, link, many } from "./dom.js";
import { isFiltered } from "./filters.js";
import { chainsOf, linesOf, titleOf } from "./picture.js";
import { more, rowsOf, sameElsewhere } from "./shared.js";
import { followedText, labelsText, riskText, short, stopText, sumText } from "./words.js";

const LIMITS = [10, 25, 50, 100];
const HOPS = [0, 1, 2, 3, 4, 5, 6, 7];

/** Fills the page of an address, which may be in the picture or not. */
export function fillAddress(panel, host, place) {
  const { app } = panel;
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
  host.append(actions(panel, place, one), tabs(panel, place, one));
}

// The buttons of an address, with their prices.
function actions(panel, place, one) {
  const { app } = panel;
  const { filters } = app;
  const limit = choice(
    LIMITS.map((count) => [count, `${count} largest`]),
    panel.limit,
    { "aria-label": "Counterparties at most" },
  );
  limit.addEventListener("change", () => (panel.limit = Number(limit.value)));
  const expand = (text, direction) => {
    const call = calls.payments(place, direction, panel.limit, filters);
    const key = direction === "out" ? "O" : "I";
    return button(app.priced(text, call), () => app.expand(place, direction, panel.limit), {
      title: `${text} (${key})`,
      "data-focus": direction,
    });
  };
  const first = element("div", { class: "actions" }, expand("Money out", "out"), expand("Money in", "in"), limit);
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
    second.append(button("Add to the picture", () => app.startAt(place.chain, place.address), { "data-focus": "add" }));
  }
  return element("div", {}, first, traceForm(panel, place), second);
}

function traceForm(panel, place) {
  const { app, trace } = panel;
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
  form.open = panel.isTraceOpen;
  form.addEventListener("toggle", () => (panel.isTraceOpen = form.open));
  return form;
}

function tabs(panel, place, one) {
  const { app } = panel;
  const open = (address, hash, chain) =>
    hash ? app.openTransaction(hash, place.chain) : app.openAddress(chain ?? place.chain, address, true);
  const traced = app.traces.get(place.key);
  const all = [
    ["here", "Here", null, () => here(panel, place, one)],
    traced && ["trace", "Trace", traced, (data) => [unfiltered(panel), ...answers.ends(data, open)]],
    ["overview", "Overview", calls.overview(place), (data) => answers.overview(data, open)],
    ["risk", "Risk", calls.risk(place), (data) => answers.risk(data, open)],
    [
      "counterparties",
      "Counterparties",
      calls.counterparties(place, app.filters, rowsOf(panel, "counterparties")),
      (data) => answers.counterparties(data, open, (row) => app.addCounterparty(place, row)),
    ],
    ["labels", "Labels", calls.labels(place), answers.labels],
    [
      "transactions",
      "Transfers",
      calls.transactions(place, app.filters, rowsOf(panel, "transactions")),
      (data) => answers.movements(data, open),
    ],
    place.chain === "bitcoin" && [
      "cluster",
      "Cluster",
      calls.cluster(place.address),
      (data) => [markCluster(panel, data), ...answers.cluster(data, open)],
    ],
  ].filter(Boolean);
  if (!all.some(([id]) => id === panel.tab)) {
    panel.tab = "here";
  }
  const bar = element("div", {
    class: "tabs",
    role: "tablist",
    "aria-label": "Answers about this address, with their prices in credits",
  });
  const body = element("div", { class: "answer", role: "tabpanel", id: "answer", tabindex: "0" });
  for (const [id, text, call, render] of all) {
    const isOpen = id === panel.tab;
    const tab = button(
      call === null || !app.price([call]) ? text : `${text} · ${app.price([call])}`,
      () => choose(panel, id, call),
      {
        role: "tab",
        "aria-selected": String(isOpen),
        "aria-controls": "answer",
        tabindex: isOpen ? "0" : "-1",
        "data-focus": `tab ${id}`,
      },
    );
    bar.append(tab);
    if (isOpen) {
      body.setAttribute("aria-label", text);
      fillTab(panel, body, call, render);
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

async function choose(panel, id, call) {
  const answer = call === null ? null : await panel.app.ask(call);
  if (call === null || answer) {
    panel.tab = id;
    panel.draw();
  }
  if (answer && id === "risk") {
    panel.app.judged([answer.data]);
  }
}

// Fills an answer from what is at hand; a filter that changed may leave nothing, and a click asks again.
function fillTab(panel, body, call, render) {
  if (call === null) {
    body.append(...render());
    return;
  }
  const answer = panel.app.api.known(call);
  if (answer) {
    const { data, meta } = answer;
    body.append(
      answers.warnings({ warnings: [...(meta.warnings ?? []), ...(data.meta?.warnings ?? [])] }),
      ...render(data),
      more(panel, panel.tab, data),
      sameElsewhere(call),
    );
  } else {
    body.append(button(panel.app.priced("Ask", call), () => choose(panel, panel.tab, call), { "data-focus": "ask" }));
  }
}

function unfiltered(panel) {
  const text = "The filters of the page hide lines of the picture, not rows of this list.";
  return isFiltered(panel.app.filters) ? element("p", { class: "faint" }, text) : "";
}

// What the picture has of an address.
function here(panel, place, one) {
  if (!one) {
    return [element("p", {}, "Add it to the picture to see payments here.")];
  }
  const { app } = panel;
  const note = element("textarea", { rows: "3", maxlength: "5000" });
  note.value = one.note;
  note.addEventListener("change", () => app.note(place.key, note.value));
  const parts = [field("Note", note)];
  if (one.end) {
    parts.push(element("p", {}, `A trace stops here: ${stopText(one.end)}.`));
  }
  parts.push(
    facts([
      ["labels", labelsText(one)],
      ["disputed", one.isDisputed ? "a claim about it is disputed" : null],
      ["cluster", one.cluster && short(one.cluster)],
    ]),
  );
  const { state } = app.case;
  const lines = linesOf(state, app.filters);
  for (const [title, end, other] of [
    ["Came from", "to", "from"],
    ["Went to", "from", "to"],
  ]) {
    const found = lines.filter((line) => line[end] === place.key).sort((first, second) => second.usd - first.usd);
    if (found.length) {
      const items = found.map((line) => {
        const far = state.addresses.get(line[other]);
        const followed = followedText(line.payments);
        const money = link(
          [sumText(line.payments), followed].filter(Boolean).join(", "),
          () => app.openLine(line.from, line.to, true),
          {
            title: "Payments",
          },
        );
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
    parts.push(element("p", {}, "No payments are in the picture yet: ask with Money out or Money in."));
  }
  return parts;
}

function markCluster(panel, data) {
  const members = new Set(data.addresses);
  const shown = [...panel.app.case.state.addresses.values()].filter(
    (one) => one.chain === "bitcoin" && members.has(one.address),
  );
  const open = shown.filter((one) => one.cluster !== data.cluster_id);
  return open.length
    ? button(`Mark ${many(open.length, "address", "addresses")} in the picture`, () =>
        panel.app.markCluster(
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
