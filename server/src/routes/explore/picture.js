// The graph of a case. It shows what the case holds, and says what the user does with it.

import { BOX } from "./layout.js";
import { element, many } from "./dom.js";
import { areEnough, passes } from "./filters.js";
import { days, followedText, kindOf, labelText, labelsText, riskText, short, sumText, sumUsd } from "./words.js";

const { corners, styles, prepare } = globalThis.HeadwaterMarks;
const MAX_FIT = 1.25;
// The zoom from which the texts of lines are legible.
const LEGIBLE = 0.55;
// The number of lines up to which they are curved; more are straight, which draws faster.
const MAX_CURVED = 1200;
// The characters of a line of a box.
const MAX_LINE = 26;
const HELP =
  "Addresses and payments. Arrow keys move between addresses; Enter opens the details, O asks for money out, I for money in, " +
  "P pins, N writes a note, Delete removes, Escape closes. The button Table lists everything.";

/** Returns the name of an address with its short form, on one line. */
export function titleOf(one, chains) {
  const name = one.name ?? (one.labels.length ? one.labels.map(labelText).join(", ") : null);
  const place = chains > 1 ? `${one.chain}: ${short(one.address)}` : short(one.address);
  return name ? `${name} · ${place}` : place;
}

/** Counts the chains of a case. */
export function chainsOf(state) {
  return new Set([...state.addresses.values()].map((one) => one.chain)).size;
}

/** Joins the payments that are shown by both ends: `[{ from, to, payments, isChange, isBridge, usd, worth }]`. `worth`: the part of
 *  it that a trace followed, or all of it. */
export function linesOf(state, filters) {
  const lines = new Map();
  for (const payment of state.payments.values()) {
    if (passes(payment, filters)) {
      const id = `${payment.from}>${payment.to}`;
      const line = lines.get(id) ?? { id, from: payment.from, to: payment.to, payments: [] };
      line.payments.push(payment);
      lines.set(id, line);
    }
  }
  for (const line of lines.values()) {
    line.payments.sort((one, other) => (other.usd ?? -1) - (one.usd ?? -1));
    line.isChange = line.payments.every((payment) => payment.isChange);
    line.isBridge = state.addresses.get(line.from).chain !== state.addresses.get(line.to).chain;
    line.usd = sumUsd(line.payments) ?? 0;
    line.worth = sumUsd(line.payments, (payment) => (payment.followed ? payment.followed.usd : payment.usd)) ?? 0;
  }
  return [...lines.values()].filter((line) => areEnough(line.payments, filters));
}

function countBy(lines, end) {
  const counts = new Map();
  for (const line of lines) {
    counts.set(line[end], (counts.get(line[end]) ?? 0) + 1);
  }
  return counts;
}

function cut(text) {
  return text.length > MAX_LINE ? `${text.slice(0, MAX_LINE - 1)}…` : text;
}

// Writes the lines of a box: name, short address, and marks.
function boxText(one, chains) {
  const kind = kindOf(one.labels, one.name !== null, one.isDisputed);
  // The label that gives the kind comes first, for a box may cut the others.
  const first = one.labels.filter((code) => kindOf([code], false, false) === kind);
  const labels = labelsText({ ...one, labels: [...new Set([...first, ...one.labels])] });
  const place = chains > 1 ? `${one.chain}: ${short(one.address)}` : short(one.address);
  const marks = [];
  if (one.risk) {
    marks.push(one.risk.assessment === "insufficient" ? "risk: no judgement" : `risk: ${riskText(one.risk)}`);
  }
  if (one.cluster) {
    marks.push(`cluster ${short(one.cluster)}`);
  }
  const signs = [one.isPinned ? "pinned" : "", one.note ? "note" : ""].filter(Boolean).join(", ");
  return [one.name, labels, place, ...marks, signs].filter(Boolean).map(cut).join("\n");
}

export class Picture {
  /** `acts`: `open(key)`, `openLine(from, to)`, `close()`, `move(moved)` with `[[key, x, y]]`, `held(key)`, `press(letter, key)`, `say(text)`. */
  constructor(host, acts) {
    this.acts = acts;
    this.canvas = element("div", { class: "canvas", tabindex: "0", role: "application", "aria-label": HELP });
    host.replaceChildren(this.canvas);
    prepare();
    this.graph = globalThis.cytoscape({
      container: this.canvas,
      style: this.style(),
      layout: { name: "preset" },
      minZoom: 0.01,
      maxZoom: 4,
      motionBlur: false,
      boxSelectionEnabled: false,
      autounselectify: true,
      // While the picture moves it is one image: 1,000 addresses stay fluid.
      textureOnViewport: true,
    });
    this.at = null;
    this.lines = [];
    this.listen();
  }

  style() {
    const color = (name) => getComputedStyle(document.body).getPropertyValue(`--hw-${name}`).trim();
    // The address at hand gets a frame around its box, which keeps the colour of its kind.
    const shared = styles(color).filter(({ selector }) => selector !== "node.at");
    return shared.concat([
      { selector: "edge", style: { "curve-style": "straight" } },
      { selector: "edge.read.label-beside", style: { label: "data(label)", "text-margin-x": 78 } },
      { selector: "edge.curved", style: { "curve-style": "bezier", "control-point-step-size": 46 } },
      { selector: "node.pinned", style: { "border-style": "double", "border-width": 4 } },
      {
        selector: "edge.at",
        style: { "line-opacity": 1, "underlay-color": color("focus"), "underlay-opacity": 0.35, "underlay-padding": 4 },
      },
      {
        selector: "node.at",
        style: { "outline-width": 4, "outline-color": color("focus"), "outline-offset": 3, "outline-opacity": 1 },
      },
    ]);
  }

  listen() {
    const { graph, canvas, acts } = this;
    graph.on("tap", (event) => {
      if (event.target === graph) {
        acts.close();
      } else if (event.target.isNode()) {
        acts.open(event.target.id());
      } else {
        acts.openLine(event.target.data("source"), event.target.data("target"));
      }
    });
    graph.on("dragfree", "node", (event) => {
      const { x, y } = event.target.position();
      acts.move([[event.target.id(), x, y]]);
      acts.held(event.target.id());
    });
    graph.on("mouseover", "node, edge", () => canvas.style.setProperty("cursor", "pointer"));
    graph.on("mouseout", "node, edge", () => canvas.style.removeProperty("cursor"));
    let writing = 0;
    graph.on("viewport", () => {
      clearTimeout(writing);
      writing = setTimeout(() => this.writeLabels(), 150);
    });
    canvas.addEventListener("keydown", (event) => this.press(event));
    canvas.addEventListener("focus", () => {
      if (canvas.matches(":focus-visible")) {
        this.go(this.at ?? this.first());
      }
    });
    globalThis.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => graph.style(this.style()));
    new ResizeObserver(() => graph.resize()).observe(canvas);
  }

  press(event) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.ctrlKey || event.metaKey || event.altKey || this.graph.nodes().empty()) {
      return;
    }
    const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (arrows[letter]) {
      this.go(this.at === null ? this.first() : this.neighbour(this.at, arrows[letter]));
    } else if (letter === "Home") {
      this.go(this.first());
    } else if (letter === "Enter") {
      this.acts.open(this.at ?? this.first(), true);
    } else if (letter === "+" || letter === "-") {
      this.zoom(letter === "+" ? 1.3 : 1 / 1.3);
    } else if (this.at !== null && ["o", "i", "p", "n", "Delete"].includes(letter)) {
      this.acts.press(letter, this.at);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Shows a case: what passes the filters, and everything that is a start, pinned or noted. */
  show(state, filters) {
    const { graph } = this;
    this.state = state;
    this.lines = linesOf(state, filters);
    const isPaying = new Set(this.lines.flatMap((line) => [line.from, line.to]));
    const isLinked = new Set([...state.payments.values()].flatMap((payment) => [payment.from, payment.to]));
    const chains = chainsOf(state);
    const shown = [...state.addresses.values()].filter(
      (one) => isPaying.has(one.key) || !isLinked.has(one.key) || one.isStart || one.isPinned || one.note,
    );
    graph.batch(() => {
      this.replace(graph.nodes(), new Map(shown.map((one) => [one.key, this.node(one, chains)])));
      const largest = Math.max(1e-9, ...this.lines.map((line) => line.worth));
      const ends = { from: countBy(this.lines, "from"), to: countBy(this.lines, "to") };
      const isCurved = this.lines.length <= MAX_CURVED;
      this.replace(
        graph.edges(),
        new Map(this.lines.map((line) => [line.id, this.edge(line, largest, ends, isCurved)])),
      );
    });
    if (this.at !== null && graph.getElementById(this.at).empty()) {
      this.at = null;
    }
    this.writeLabels();
    return { addresses: shown.length, lines: this.lines.length };
  }

  // Changes elements of the graph to those that are wanted, by their ids.
  replace(present, wanted) {
    present.forEach((old) => {
      const fresh = wanted.get(old.id());
      if (!fresh) {
        old.remove();
        return;
      }
      wanted.delete(old.id());
      old.classes(`${fresh.classes}${old.hasClass("read") ? " read" : ""}${old.hasClass("at") ? " at" : ""}`);
      if (fresh.position && (fresh.position.x !== old.position("x") || fresh.position.y !== old.position("y"))) {
        old.position(fresh.position);
      }
      old.data(fresh.data);
    });
    this.graph.add([...wanted.values()]);
  }

  node(one, chains) {
    const kind = kindOf(one.labels, one.name !== null, one.isDisputed);
    const text = boxText(one, chains);
    const height = Math.max(34, 14 * text.split("\n").length + 14);
    const data = { id: one.key, text, width: BOX.width, height, corners: corners(kind, BOX.width, height) };
    const classes = [kind, one.isStart ? "start" : "", one.isDisputed ? "disputed" : "", one.isPinned ? "pinned" : ""];
    return { group: "nodes", data, position: { x: one.x, y: one.y }, classes: classes.filter(Boolean).join(" ") };
  }

  edge(line, largest, ends, isCurved) {
    const [from, to] = [this.state.addresses.get(line.from), this.state.addresses.get(line.to)];
    const bridge = line.payments.find((payment) => payment.crossing)?.crossing;
    const first = Math.min(...line.payments.map((payment) => payment.first));
    const last = Math.max(...line.payments.map((payment) => payment.last));
    const remark = line.isChange
      ? "change · "
      : bridge
        ? `${bridge.bridge || "bridge"} to ${bridge.to || "another chain"} · `
        : "";
    const texts = [sumText(line.payments), followedText(line.payments), `${remark}${days(first, last)}`];
    const label = texts.filter(Boolean).join("\n");
    const isBack = Math.abs(to.column) < Math.abs(from.column);
    const kind = line.isChange ? "change" : line.isBridge || bridge ? "bridge" : isBack ? "in" : "out";
    // The text is at the end with fewer lines, where others do not cross it.
    const isUpright = from.column === to.column && Math.abs(from.x - to.x) < BOX.width;
    const isFanOut = ends.from.get(line.from) >= ends.to.get(line.to);
    const side = isUpright ? "label-beside" : isFanOut ? "label-to" : "label-from";
    const width = 1.4 + 6 * Math.sqrt(line.worth / largest);
    const data = { id: line.id, source: line.from, target: line.to, label, width };
    return { group: "edges", data, classes: `${kind} ${side}${isCurved ? " curved" : ""}` };
  }

  // Measuring texts takes the most time: lines get theirs once they are legible and in view.
  writeLabels() {
    const { graph } = this;
    const { x1, x2, y1, y2 } = graph.extent();
    const isLegible = graph.zoom() >= LEGIBLE;
    graph.edges().forEach((edge) => {
      const [from, to] = [edge.source().position(), edge.target().position()];
      const [x, y] = [(from.x + to.x) / 2, (from.y + to.y) / 2];
      const isRead = isLegible && x > x1 && x < x2 && y > y1 && y < y2;
      if (isRead !== edge.hasClass("read")) {
        edge.toggleClass("read", isRead);
      }
    });
  }

  /** Shows everything, small pictures not larger than they are legible. */
  fit() {
    this.frame(this.graph.nodes(), 0.01, MAX_FIT);
  }

  /** Shows everything if its texts are legible then, else the surroundings of an address. */
  view(key) {
    this.fit();
    const node = this.graph.getElementById(key ?? this.first() ?? "");
    if (this.graph.zoom() < 0.35 && node.nonempty()) {
      this.frame(node, 0.6, 0.6);
    }
  }

  /** Shows everything where that is legible, else moves the picture so that these addresses are in view. */
  include(keys) {
    const nodes = this.graph.nodes().filter((node) => keys.includes(node.id()));
    if (this.roomFor(this.graph.nodes()) >= 0.55) {
      this.fit();
    } else {
      this.frame(nodes, 0.3, Math.max(this.graph.zoom(), 0.8));
    }
  }

  // Returns the box around nodes. The library's own measure is not used: it keeps the size of a text that has just changed,
  // and draws the new text in it.
  around(nodes) {
    const sides = (axis, size) => {
      const ends = (side) => nodes.map((node) => node.position(axis) + (side * node.data(size)) / 2);
      return [
        ends(-1).reduce((one, other) => Math.min(one, other)),
        ends(1).reduce((one, other) => Math.max(one, other)),
      ];
    };
    return [sides("x", "width"), sides("y", "height")];
  }

  // Returns the zoom at which nodes fill the picture.
  roomFor(nodes) {
    // The panel may just have opened.
    this.graph.resize();
    const [[x1, x2], [y1, y2]] = this.around(nodes);
    return Math.min((this.graph.width() - 60) / (x2 - x1), (this.graph.height() - 60) / (y2 - y1));
  }

  // Puts nodes into the middle at a zoom between two bounds.
  frame(nodes, least, most) {
    if (nodes.empty()) {
      return;
    }
    const zoom = Math.max(least, Math.min(most, this.roomFor(nodes)));
    const middle = ([one, other], size) => size / 2 - (zoom * (one + other)) / 2;
    const [x, y] = this.around(nodes);
    if (zoom > 0) {
      this.graph.viewport({ zoom, pan: { x: middle(x, this.graph.width()), y: middle(y, this.graph.height()) } });
    }
  }

  zoom(factor) {
    const { graph } = this;
    graph.zoom({ level: graph.zoom() * factor, renderedPosition: { x: graph.width() / 2, y: graph.height() / 2 } });
  }

  /** Marks an address or a line as the one at hand; null marks none. */
  mark(id) {
    this.graph.batch(() => {
      this.graph.elements(".at").removeClass("at");
      if (id !== null) {
        this.graph.getElementById(id).addClass("at");
      }
    });
    this.at = id !== null && this.state?.addresses.has(id) ? id : null;
  }

  /** Moves the picture so that an address is in view. */
  reveal(key) {
    const { graph } = this;
    const node = graph.getElementById(key);
    if (node.empty()) {
      return;
    }
    const { x1, x2, y1, y2 } = graph.extent();
    const { x, y } = node.position();
    if (x < x1 || x > x2 || y < y1 || y > y2 || graph.zoom() < 0.4) {
      this.frame(node, Math.max(graph.zoom(), 0.7), Math.max(graph.zoom(), 0.7));
    }
  }

  go(key) {
    if (key === null) {
      return;
    }
    this.mark(key);
    this.reveal(key);
    const one = this.state.addresses.get(key);
    const count = this.lines.filter((line) => line.from === key || line.to === key).length;
    this.acts.say(`${titleOf(one, chainsOf(this.state))}. ${many(count, "line", "lines")}`);
  }

  first() {
    const starts = this.graph.nodes(".start");
    const nodes = starts.nonempty() ? starts : this.graph.nodes();
    return nodes.nonempty() ? nodes[0].id() : null;
  }

  // Finds the nearest address in a direction: distance across the direction counts more than along it.
  neighbour(key, [dx, dy]) {
    const here = this.graph.getElementById(key).position();
    let best = [Infinity, key];
    this.graph.nodes().forEach((node) => {
      const [x, y] = [node.position("x") - here.x, node.position("y") - here.y];
      const along = x * dx + y * dy;
      const far = along + 2.5 * Math.abs(x * dy + y * dx);
      if (along > 1 && far < best[0]) {
        best = [far, node.id()];
      }
    });
    return best[1];
  }

  /** Draws the picture as PNG. */
  png() {
    const bg = getComputedStyle(document.body).getPropertyValue("--hw-ground").trim();
    return this.graph.png({ output: "blob", full: true, scale: 1.5, maxWidth: 8000, maxHeight: 8000, bg });
  }
}
