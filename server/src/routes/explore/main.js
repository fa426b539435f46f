// The page: what the user does becomes calls of the API, and their answers become parts of the case.

import { Api, Refusal } from "./api.js";
import * as calls from "./calls.js";
import { Case, addPayment, keyOf, remove, update } from "./case.js";
import { button, element, legend, many } from "./dom.js";
import { FACTS } from "./facts.js";
import * as files from "./files.js";
import { OPEN, filterForm, isFiltered } from "./filters.js";
import { arrange } from "./layout.js";
import { mergeAddress, mergeCrossings, mergeTrace, mergeTransaction } from "./merge.js";
import { Panel } from "./panel.js";
import { Picture } from "./picture.js";
import { searchForm } from "./search.js";
import { fillTable } from "./table.js";
import { RISK_BATCH, keyDisplay, toolbar } from "./tools.js";
import { clean, cleanLines, day, short } from "./words.js";

const at = (id) => document.getElementById(id);

class App {
  constructor() {
    this.hypothesis = FACTS.vocabulary.hypothesis;
    this.filters = OPEN;
    this.calls = [];
    // The last trace of each address.
    this.traces = new Map();
    // The chains of which the server has data.
    this.held = new Set();
    this.waiting = 0;
    this.isSaved = true;
    this.api = new Api((entry) => this.called(entry));
    this.case = new Case(() => {
      this.isSaved = false;
      this.draw();
    });
    this.picture = new Picture(at("picture"), {
      open: (key, isFocused) => this.openKey(key, isFocused),
      openLine: (from, to) => this.openLine(from, to),
      close: () => this.close(),
      move: (moved) => this.move(moved),
      held: (key) => this.panel.page && this.openKey(key),
      press: (letter, key) => this.press(letter, key),
      say: (text) => this.say(text),
    });
    this.panel = new Panel(at("panel"), this);
    this.search = searchForm(at("search"), this);
    this.key = keyDisplay(at("credits"), this);
    this.tools = toolbar(at("tools"), this);
    filterForm(at("filters"), (filters) => {
      this.filters = filters;
      this.draw();
    });
    const { kinds, edge_kinds: edgeKinds } = FACTS.vocabulary;
    const entries = (pairs) => pairs.map(([kind, text]) => ({ kind, text }));
    at("foot").replaceChildren(
      legend(entries(kinds), entries(edgeKinds)),
      element("p", {}, `A wider line is more money. ${this.hypothesis}`),
    );
    this.listen();
    this.draw();
  }

  listen() {
    document.addEventListener("keydown", (event) => {
      const isWriting = event.target.matches?.("input, textarea, select");
      const letter = event.key.toLowerCase();
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) {
        this.close();
      } else if ((event.ctrlKey || event.metaKey) && letter === "s") {
        this.save();
      } else if ((event.ctrlKey || event.metaKey) && !isWriting && (letter === "z" || letter === "y")) {
        letter === "y" || event.shiftKey ? this.redo() : this.undo();
      } else if (event.key === "/" && (!isWriting || (event.target.type === "search" && !event.target.value))) {
        this.search.focus();
      } else {
        return;
      }
      event.preventDefault();
    });
    at("skip").addEventListener("click", () => this.picture.canvas.focus());
    globalThis.addEventListener("beforeunload", (event) => {
      if (!this.isSaved && this.case.state.addresses.size > 0) {
        event.preventDefault();
      }
    });
    globalThis.addEventListener("hashchange", () => this.follow());
  }

  /** Looks what is held, then follows the link that opened the page. */
  async start() {
    const isOpen = Boolean(this.api.key) || this.api.isFree;
    const answer = isOpen ? await this.ask(calls.chains()) : null;
    this.welcome(answer && answer.data.chains);
    this.draw();
    await this.follow();
  }

  welcome(chains) {
    const about = element("p", {}, "Enter an address, a transaction or a name above, or open a case file.");
    at("welcome").replaceChildren(element("h2", {}, "Follow the money"), about);
    if (chains === null) {
      at("welcome").append(
        element(
          "p",
          {},
          "This server wants an API key: ",
          button("Enter a key", () => this.key.ask()),
          ".",
        ),
      );
      return;
    }
    this.search.setChains(chains.map((one) => one.chain));
    const held = chains.filter((one) => one.indexed_to_ts !== null);
    this.held = new Set(held.map((one) => one.chain));
    const lines = held.map((one) => element("li", {}, `${clean(one.display_name)}, up to ${day(one.indexed_to_ts)}`));
    at("welcome").append(
      element("p", {}, held.length ? "Chains that are held:" : "No chain is held yet: headwater ingest loads files."),
      element("ul", {}, ...lines),
    );
  }

  /** Follows a link such as `#chain=ethereum&address=0x...&outward=3`: it asks at once only where that costs nothing. */
  async follow() {
    const link = new URLSearchParams(location.hash.slice(1));
    const [chain, address] = [link.get("chain"), link.get("address")];
    if (!chain || !address || !/^[a-z0-9:_-]{1,40}$/.test(chain) || !/^[0-9A-Za-z]{10,110}$/.test(address)) {
      return;
    }
    const hops = (name, otherwise) => Math.min(7, Math.max(0, Number.parseInt(link.get(name) ?? otherwise, 10) || 0));
    const settings = {
      ...calls.TRACE,
      outward: hops("outward", calls.TRACE.outward),
      inward: hops("inward", calls.TRACE.inward),
    };
    this.panel.trace = { ...settings };
    this.startAt(chain, address);
    if (settings.outward + settings.inward === 0) {
      return;
    }
    if (this.api.isFree) {
      await this.trace({ chain, address }, settings);
    } else {
      this.panel.isTraceOpen = true;
      this.panel.draw();
      this.warn(
        `The link asks for a trace of ${short(address)}: press Trace${this.api.key ? "" : " after you entered a key"}.`,
      );
    }
  }

  /** Makes the text of a button with the price of its calls in credits; a server without keys charges nothing. */
  priced(text, ...asked) {
    const credits = this.price(asked);
    return credits ? `${text} · ${many(credits, "credit", "credits")}` : text;
  }

  /** Returns the credits of calls; those whose answers are at hand cost nothing. */
  price(asked) {
    return asked.reduce((sum, call) => sum + (this.api.isFree || this.api.known(call) ? 0 : calls.cost(call)), 0);
  }

  /** Asks, and says what is wrong where there is no answer. */
  async ask(call) {
    if (!this.api.key && !this.api.isFree) {
      this.warn("This server wants an API key: enter one, and press the button again.");
      this.key.ask();
      return null;
    }
    this.waiting += 1;
    this.warn(null);
    this.drawTools();
    try {
      return await this.api.ask(call);
    } catch (error) {
      this.refused(error);
      return null;
    } finally {
      this.waiting -= 1;
      this.drawTools();
    }
  }

  refused(error) {
    if (!(error instanceof Refusal)) {
      throw error;
    }
    const request = error.requestId ? ` Request ${clean(error.requestId)}.` : "";
    this.warn([clean(error.message, 600), error.remedy].filter(Boolean).join(" ") + request);
    if (error.status === 401) {
      this.api.setKey("", false);
      this.key.ask();
    }
  }

  called(entry) {
    this.calls.push(entry);
  }

  async useKey(key, isKept) {
    this.api.setKey(key, isKept);
    this.warn(null);
    await this.start();
    this.search.focus();
  }

  /** Shows a message above the picture until the next one; null removes it. */
  warn(text) {
    const notice = at("notice");
    notice.hidden = text === null;
    notice.replaceChildren();
    if (text !== null) {
      notice.append(
        text,
        " ",
        button("Close", () => this.warn(null), { class: "small" }),
      );
    }
  }

  /** Says something to people who use a screen reader. */
  say(text) {
    at("spoken").textContent = text;
  }

  // Changes the case; a change that is refused is said.
  change(title, edit) {
    try {
      this.case.change(title, edit);
      return true;
    } catch (error) {
      this.warn(error.message);
      return false;
    }
  }

  draw() {
    this.shown = this.picture.show(this.case.state, this.filters);
    at("welcome").hidden = this.case.state.addresses.size > 0;
    if (!at("table").hidden) {
      fillTable(at("table"), this.case.state, this.filters, this);
    }
    this.panel.refresh();
    this.markPage();
    this.drawTools();
  }

  drawTools() {
    this.tools.show({
      isBusy: this.waiting > 0,
      canUndo: this.case.past.length > 0,
      canRedo: this.case.future.length > 0,
      unjudged: this.unjudged().length,
      isFiltered: isFiltered(this.filters),
      isTable: !at("table").hidden,
      areFilters: !at("filters").hidden,
      shown: this.shown,
      origin: this.case.state.origin,
    });
    this.key.show(
      this.api,
      this.calls.filter((entry) => !entry.isFromFile).reduce((sum, entry) => sum + entry.credits, 0),
    );
  }

  // Marks what the panel is about.
  markPage() {
    const { page } = this.panel;
    this.picture.mark(page?.key ?? (page?.line ? page.line.join(">") : this.picture.at));
  }

  openKey(key, isFocused) {
    const { chain, address } = this.case.state.addresses.get(key);
    this.openAddress(chain, address, isFocused);
  }

  openAddress(chain, address, isFocused) {
    this.panel.openAddress(chain, address, isFocused);
    this.markPage();
    this.picture.reveal(keyOf(chain, address));
  }

  openLine(from, to, isFocused) {
    this.panel.openLine(from, to, isFocused);
    this.markPage();
  }

  async openTransaction(hash, chain) {
    const call = calls.transaction(hash, chain);
    const answer = await this.ask(call);
    if (answer) {
      this.panel.openTransaction(answer, call);
    }
  }

  openPage(title, call, fill) {
    this.panel.openPage(title, call, fill);
  }

  close() {
    if (this.panel.close()) {
      (at("table").hidden ? this.picture.canvas : at("table")).focus();
    }
    this.picture.mark(this.picture.at);
  }

  /** Adds an address as a start, and opens it. */
  startAt(chain, address, names = {}) {
    const key = keyOf(chain, address);
    if (!this.case.state.addresses.has(key)) {
      this.change(`Add ${short(address)}`, (draft) =>
        mergeAddress(draft, chain, address, { isStart: true, column: 0, ...names }),
      );
      this.picture.view(key);
    }
    this.openAddress(chain, address, true);
  }

  async expand(place, direction, limit) {
    const answer = await this.ask(calls.payments(place, direction, limit, this.filters));
    if (!answer) {
      return;
    }
    const { data } = answer;
    const way = direction === "out" ? "out of" : "into";
    if (!data.edges.length) {
      const filters = isFiltered(this.filters) ? " with these filters" : "";
      this.warn(`No payments ${way} ${short(place.address)} are held${filters}.`);
      return;
    }
    const isPart = this.filters.from !== null || this.filters.to !== null;
    this.added(`Money ${way} ${short(place.address)}`, place, (draft) => mergeTrace(draft, data, isPart));
    if (data.truncation_reasons.includes("fanout_limit")) {
      this.warn(`Only the ${limit} largest counterparties are added: choose more beside the button.`);
    }
  }

  async trace(place, settings) {
    const call = calls.trace(place, settings, this.filters);
    const answer = await this.ask(call);
    if (answer) {
      this.traces.set(keyOf(place.chain, place.address), call);
      this.panel.tab = "trace";
      this.added(`Trace of ${short(place.address)}`, place, (draft) => mergeTrace(draft, answer.data, true), true);
      this.panel.openAddress(place.chain, place.address);
    }
  }

  // Adds an answer to the case, and says how much that is.
  added(title, place, merge, isWhole = false) {
    let fresh = [];
    if (this.change(title, (draft) => (fresh = merge(draft)))) {
      const key = keyOf(place.chain, place.address);
      if (isWhole) {
        this.picture.view(key);
      } else {
        this.picture.include([key, ...fresh]);
      }
      this.say(`${title}: ${many(fresh.length, "address", "addresses")} added.`);
    }
  }

  addTransaction(data) {
    let fresh = [];
    if (this.change(`Transaction ${short(data.tx_hash)}`, (draft) => (fresh = mergeTransaction(draft, data)))) {
      this.picture.include(fresh.length ? fresh : [...this.case.state.addresses.keys()].slice(0, 1));
      this.say(`Transaction added: ${many(fresh.length, "new address", "new addresses")}.`);
    }
  }

  addCrossings(results) {
    this.change("Over a bridge", (draft) => mergeCrossings(draft, results, null));
    this.picture.view(null);
  }

  /** Follows a payment over a bridge; `via` is the bridge in the picture. */
  async cross(call, via) {
    const answer = await this.ask(call);
    if (!answer) {
      return;
    }
    let last = null;
    this.change("Over a bridge", (draft) => {
      last = mergeCrossings(draft, answer.data.results, via);
      if (last === null) {
        throw new Error("The other side of this crossing is not known: see the transaction for its status.");
      }
    });
    if (last !== null) {
      this.picture.include([via, last]);
      this.openKey(last, true);
    }
  }

  addCounterparty(place, row) {
    const [here, there] = [keyOf(place.chain, place.address), keyOf(row.blockchain, row.address)];
    this.change(`Add ${short(row.address)}`, (draft) => {
      mergeAddress(draft, place.chain, place.address, {});
      const column =
        draft.addresses.get(here).column + (Number(row.received_amount_usd) > Number(row.sent_amount_usd) ? -1 : 1);
      for (const asset of row.assets) {
        for (const [from, to, amount, count, usd] of [
          [there, here, asset.received_amount, row.received_count, row.received_amount_usd],
          [here, there, asset.sent_amount, row.sent_count, row.sent_amount_usd],
        ]) {
          if (Number(amount) > 0) {
            const { symbol, contract } = asset;
            const isOnly = row.assets_total === 1 && row.unpriced_count === 0;
            const known = { symbol: clean(symbol), contract, amount, raw: amount, usd: isOnly ? usd : null, count };
            const times = {
              first: row.first_activity,
              last: row.last_activity,
              hashes: [],
              isChange: false,
              isPart: true,
              crossing: null,
            };
            addPayment(draft, { key: `${from}>${to}>${contract ?? symbol}>`, from, to, ...known, ...times });
          }
        }
      }
      const name = row.entity_name === null ? null : clean(row.entity_name);
      const isNew = !draft.addresses.has(there);
      mergeAddress(draft, row.blockchain, row.address, {
        name,
        labels: row.labels.map((code) => clean(code)),
        areLabelsKnown: true,
        ...(isNew ? { column } : {}),
      });
    });
    this.picture.include([here, there]);
  }

  press(letter, key) {
    const { chain, address } = this.case.state.addresses.get(key);
    if (letter === "o" || letter === "i") {
      this.expand({ chain, address }, letter === "o" ? "out" : "in", this.panel.limit);
    } else if (letter === "p") {
      this.pin(key);
    } else if (letter === "n") {
      this.panel.tab = "here";
      this.openAddress(chain, address);
      at("panel").querySelector("textarea")?.focus();
    } else {
      this.remove(key);
    }
  }

  pin(key) {
    const { isPinned, address } = this.case.state.addresses.get(key);
    const title = isPinned ? "Unpin" : "Pin";
    this.change(`${title} ${short(address)}`, (draft) => update(draft, key, { isPinned: !isPinned }));
    this.say(`${short(address)} ${isPinned ? "is free" : "is pinned"}.`);
  }

  remove(key) {
    const { address } = this.case.state.addresses.get(key);
    this.change(`Remove ${short(address)}`, (draft) => remove(draft, key));
    if (this.panel.page?.key === key) {
      this.close();
    }
    this.say(`${short(address)} was removed. Undo brings it back.`);
  }

  note(key, text) {
    const { address } = this.case.state.addresses.get(key);
    this.panel.hold(() => {
      this.change(`Note on ${short(address)}`, (draft) => update(draft, key, { note: cleanLines(text, 5000) }));
    });
  }

  move(moved) {
    this.change("Move", (draft) => moved.forEach(([key, x, y]) => update(draft, key, { x, y })));
  }

  markCluster(keys, cluster) {
    this.change("Mark a cluster", (draft) => keys.forEach((key) => update(draft, key, { cluster })));
  }

  arrange() {
    this.change("Lay out", arrange);
    this.picture.view(null);
  }

  undo() {
    const title = this.case.undo();
    this.say(title === null ? "There is nothing to undo." : `Undone: ${title}.`);
  }

  redo() {
    const title = this.case.redo();
    this.say(title === null ? "There is nothing to redo." : `Done again: ${title}.`);
  }

  // Lists addresses that are shown and were not judged yet, as many as one call judges.
  unjudged() {
    const shown = this.picture.graph.nodes().map((node) => this.case.state.addresses.get(node.id()));
    return shown.filter((one) => one.risk === null).slice(0, RISK_BATCH);
  }

  async judgeAll() {
    const places = this.unjudged();
    const answer = await this.ask(calls.risks(places));
    if (!answer) {
      return;
    }
    const { results } = answer.data;
    const done = results.filter((one) => one.error === null || one.error === undefined);
    // Each result is the answer of the call for one address.
    for (const one of done) {
      this.api.keep(calls.risk({ chain: one.blockchain, address: one.address }), { data: one, meta: answer.meta });
    }
    this.judged(done);
    const high = done.filter((one) => one.risk_level === "high" && one.meta.assessment !== "insufficient");
    const failed = results.find((one) => !done.includes(one));
    const judged = `${many(done.length, "address", "addresses")} judged, ${high.length} of high risk.`;
    const open = many(results.length - done.length, "address", "addresses");
    this.warn(failed ? `${judged} ${open} could not be judged: ${clean(failed.error, 300)}` : judged);
  }

  /** Writes risks to the addresses of the picture. */
  judged(results) {
    const risks = new Map(
      results.map((one) => {
        const risk = { score: one.composite_score, level: one.risk_level, assessment: one.meta.assessment };
        return [keyOf(one.blockchain, one.address), risk];
      }),
    );
    const isNew = ([key, risk]) =>
      JSON.stringify(this.case.state.addresses.get(key)?.risk ?? null) !== JSON.stringify(risk);
    const shown = [...risks].filter(([key]) => this.case.state.addresses.has(key)).filter(isNew);
    if (shown.length) {
      this.change("Risk", (draft) => shown.forEach(([key, risk]) => update(draft, key, { risk })));
    }
  }

  toggleFilters() {
    at("filters").hidden = !at("filters").hidden;
    this.drawTools();
  }

  toggleTable() {
    const table = at("table");
    table.hidden = !table.hidden;
    at("picture").hidden = !table.hidden;
    this.draw();
    if (!table.hidden) {
      table.focus();
    }
  }

  save() {
    files.download(
      "headwater-case.json",
      new Blob([files.write(this.case.state, this.calls)], { type: "application/json" }),
    );
    this.isSaved = true;
    this.warn("The case was saved as headwater-case.json. The key is not in it.");
  }

  async openFile(file) {
    try {
      const { state, calls: asked } = await files.read(file);
      this.change(`Open ${clean(file.name, 60)}`, (draft) =>
        Object.assign(draft, state, { origin: clean(file.name, 40) }),
      );
      this.calls.push(...asked);
      this.close();
      this.picture.view(null);
      this.draw();
      this.warn(
        "Opened from a file: names, labels, risks and amounts are as its author left them. Ask again before you rely on them.",
      );
    } catch (error) {
      this.warn(`${clean(file.name, 60)} cannot be opened: ${clean(error.message, 300)}.`);
    }
  }

  image() {
    if (this.case.state.addresses.size) {
      files.download("headwater-case.png", this.picture.png());
    }
  }
}

new App().start();
