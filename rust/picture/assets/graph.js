// The interactive picture of a trace: HeadwaterGraph.show(element, data, options).
//
// `data` is the JSON that the crate headwater-picture writes. Texts in it are untrusted: they reach the page as text
// alone. `options`: `cytoscape`, the graph library (by default the global one); `onSelect(id)`, called with the id of the
// selected address or null. The result has `select(id)`, `selected()`, `fit()`, `destroy()` and `graph`, the instance of the library.
(function (root) {
  "use strict";

  const { element, legend, dollars, many, corners, styles, prepare } = root.HeadwaterMarks;
  // The number of transactions of a payment that are listed; the answer has no more.
  const MAX_HASHES = 10;
  // The largest zoom at which everything is shown.
  const MAX_FIT = 1.25;
  // The zoom from which the texts of edges are legible.
  const LEGIBLE = 0.55;
  // The number of lines up to which they are bent as in the static picture; more are straight, which loads faster.
  const MAX_BENT = 1200;
  function days(payment) {
    const [first, last] = [payment.first.slice(0, 10), payment.last.slice(0, 10)];
    return first === last ? first : `${first} – ${last}`;
  }

  // Lists the payments of an edge with their transactions.
  function payments(edge) {
    const list = element("ul");
    for (const payment of edge.payments) {
      const text = `${payment.amount} (${dollars(payment.usd)}) · ${days(payment)} · ${many(payment.count, "transaction", "transactions")}`;
      const item = element("li", {}, payment.remark ? `${text} · ${payment.remark}` : text);
      for (const hash of payment.hashes.slice(0, MAX_HASHES)) {
        item.append(element("div", { class: "hw-hash" }, hash));
      }
      if (payment.count > payment.hashes.length) {
        item.append(element("div", {}, `and ${payment.count - payment.hashes.length} smaller transactions`));
      }
      list.append(item);
    }
    return list;
  }

  // Finds for every address the edge over which it is nearest to the start; of several the one of the highest worth.
  function parents(data) {
    const start = data.nodes.findIndex((node) => node.role === "start");
    const touching = data.nodes.map(() => []);
    data.edges.forEach((edge, number) => {
      touching[edge.from].push(number);
      touching[edge.to].push(number);
    });
    const parent = data.nodes.map(() => null);
    const distance = data.nodes.map(() => Infinity);
    if (start < 0) {
      return parent;
    }
    distance[start] = 0;
    // Outward addresses are reached along payments, inward ones against them, others in any direction.
    for (const follows of [(edge, at) => (edge.kind === "in" ? edge.to === at : edge.from === at), () => true]) {
      const open = data.nodes.map((_, number) => number).filter((number) => distance[number] < Infinity);
      open.sort((one, other) => distance[one] - distance[other]);
      for (let next = 0; next < open.length; next += 1) {
        const at = open[next];
        const leaving = touching[at].filter((number) => follows(data.edges[number], at));
        leaving.sort((one, other) => data.edges[other].weight - data.edges[one].weight || one - other);
        for (const number of leaving) {
          const edge = data.edges[number];
          const far = edge.from === at ? edge.to : edge.from;
          if (distance[far] === Infinity) {
            distance[far] = distance[at] + 1;
            parent[far] = number;
            open.push(far);
          }
        }
      }
    }
    return parent;
  }

  // Returns the bend of a line relative to the straight line between its ends, as the library wants it.
  function bends(points) {
    const [start, begin, first, second, finish, end] = points;
    const [dx, dy] = [end[0] - start[0], end[1] - start[1]];
    const length = Math.hypot(dx, dy) || 1;
    const corners = [
      [(begin[0] + first[0]) / 2, begin[1]],
      [(second[0] + finish[0]) / 2, finish[1]],
    ];
    const of = ([x, y]) => [
      ((x - start[0]) * dx + (y - start[1]) * dy) / (length * length),
      ((x - start[0]) * -dy + (y - start[1]) * dx) / length,
    ];
    const relative = corners.map(of);
    return { weights: relative.map((pair) => pair[0]), distances: relative.map((pair) => pair[1]) };
  }

  function elements(data) {
    const nodes = data.nodes.map((node, number) => ({
      group: "nodes",
      data: { id: `n${number}`, number, text: node.text, width: node.width, height: node.height, corners: corners(node.kind, node.width, node.height) },
      position: { x: node.x, y: node.y },
      classes: [node.kind, node.role, node.is_disputed ? "disputed" : ""].join(" "),
    }));
    const isBent = data.edges.length <= MAX_BENT;
    const edges = data.edges.map((edge, number) => {
      const [from, to] = [data.nodes[edge.from], data.nodes[edge.to]];
      const [first, last] = [edge.points[0], edge.points[5]];
      const bend = bends(edge.points);
      return {
        group: "edges",
        data: {
          id: `e${number}`,
          number,
          source: `n${edge.from}`,
          target: `n${edge.to}`,
          width: edge.width,
          label: `${edge.amount}\n${edge.dates}`,
          start: `${first[0] - from.x}px ${first[1] - from.y}px`,
          end: `${last[0] - to.x}px ${last[1] - to.y}px`,
          weights: bend.weights,
          distances: bend.distances,
        },
        classes: [edge.kind, isBent ? "bent" : "", edge.label === null ? "" : `label-${edge.label}`].join(" "),
      };
    });
    return nodes.concat(edges);
  }

  function show(host, data, options) {
    const given = options || {};
    const library = given.cytoscape || root.cytoscape;
    if (data.version !== 1) {
      throw new Error(`HeadwaterGraph: data of version ${data.version}, expected 1: use graph.js of the version that wrote it`);
    }
    prepare();

    const canvas = element("div", {
      class: "hw-canvas",
      tabindex: "0",
      role: "application",
      "aria-label": "Addresses and payments. Arrow keys move between addresses, Enter opens one, Escape closes it. The button Table lists all payments.",
    });
    const card = element("section", { class: "hw-card", tabindex: "-1", "aria-label": "Details" });
    const table = element("div", { class: "hw-table", tabindex: "0", role: "region", "aria-label": "All payments" });
    const spoken = element("div", { class: "hw-quiet", "aria-live": "polite" });
    const status = element("span", { class: "hw-status", role: "status" });
    const search = element("input", { type: "search", autocomplete: "off", spellcheck: "false" });
    const filter = element("input", { type: "range", min: "0", max: "100", step: "1", value: "0" });
    const filterText = element("output", {}, "all payments");
    const button = (text, title) => element("button", { type: "button", title }, text);
    const [fit, closer, farther, tableButton] = [
      button("Fit", "Show everything"),
      button("+", "Zoom in"),
      button("−", "Zoom out"),
      button("Table", "List all payments"),
    ];
    tableButton.setAttribute("aria-pressed", "false");
    card.hidden = true;
    table.hidden = true;

    const head = element("header", { class: "hw-head" }, element("h1", {}, data.title));
    for (const line of data.summary) {
      head.append(element("p", {}, line));
    }
    const tools = element(
      "div",
      { class: "hw-tools" },
      element("label", {}, "Search", search),
      element("label", {}, "Payments", filter, filterText),
      fit,
      closer,
      farther,
      tableButton,
      status,
    );
    const foot = element("footer", { class: "hw-foot" }, legend(data.kinds, data.edge_kinds));
    foot.append(element("p", {}, "A wider line is more money."));
    if (data.left_out.length) {
      foot.append(element("p", {}, `Not in this picture: ${data.left_out.join("; ")}.`));
    }
    foot.append(element("p", { class: "hw-hypothesis" }, data.hypothesis));
    const middle = element("div", { class: "hw-middle" }, canvas, table, card);
    const frame = element("div", { class: "hw-graph hw-marks" }, head, tools, middle, foot, spoken);
    host.replaceChildren(frame);

    const color = (name) => getComputedStyle(frame).getPropertyValue(`--hw-${name}`).trim();
    const graph = library({
      container: canvas,
      elements: elements(data),
      layout: { name: "preset", fit: false },
      style: styles(color),
      minZoom: 0.004,
      maxZoom: 4,
      motionBlur: false,
      boxSelectionEnabled: false,
      autounselectify: true,
      // While the picture moves it is one image: 1,000 addresses stay fluid.
      textureOnViewport: data.nodes.length > 150,
      hideEdgesOnViewport: false,
      pixelRatio: data.nodes.length > 400 ? 1 : "auto",
    });
    const parent = parents(data);
    let at = null;
    let selected = null;

    // Measuring texts takes the most time: edges get theirs once they are legible and in view.
    function writeLabels() {
      const { x1, x2, y1, y2 } = graph.extent();
      const isLegible = graph.zoom() >= LEGIBLE;
      graph.batch(() => {
        data.edges.forEach((edge, number) => {
          const [x, y] = edge.points[edge.label === "from" ? 0 : 5];
          const isInView = isLegible && edge.label !== null && x > x1 && x < x2 && y > y1 && y < y2;
          if (isInView !== isRead[number]) {
            isRead[number] = isInView;
            graph.getElementById(`e${number}`).toggleClass("read", isInView);
          }
        });
      });
    }
    const isRead = data.edges.map(() => false);
    let writing = 0;
    graph.on("viewport", () => {
      clearTimeout(writing);
      writing = setTimeout(writeLabels, 150);
    });

    // Shows everything, small pictures not larger than they are legible.
    function overview() {
      const [left, top] = [bound(Math.min, "x", "width", -1), bound(Math.min, "y", "height", -1)];
      const [right, bottom] = [bound(Math.max, "x", "width", 1), bound(Math.max, "y", "height", 1)];
      const [width, height] = [graph.width(), graph.height()];
      const zoom = Math.min(MAX_FIT, (width - 48) / (right - left), (height - 48) / (bottom - top));
      if (zoom > 0) {
        const pan = { x: width / 2 - (zoom * (left + right)) / 2, y: height / 2 - (zoom * (top + bottom)) / 2 };
        graph.viewport({ zoom, pan });
      }
    }

    // Returns the edge of all boxes at one side.
    function bound(extreme, place, size, sign) {
      const ends = data.nodes.map((node) => node[place] + (sign * node[size]) / 2);
      return ends.reduce((one, other) => extreme(one, other), ends.length ? ends[0] : 0);
    }

    // Shows everything if its texts are legible then, else the surroundings of the start.
    function firstView() {
      overview();
      const first = graph.nodes(".start");
      if (graph.zoom() < 0.35 && first.nonempty()) {
        graph.zoom(0.65);
        graph.center(first);
      }
    }
    firstView();
    writeLabels();

    function trail(number) {
      const [nodes, edges] = [[number], []];
      for (let here = number; parent[here] !== null && edges.length < data.nodes.length; ) {
        const edge = data.edges[parent[here]];
        edges.push(parent[here]);
        here = edge.from === here ? edge.to : edge.from;
        nodes.push(here);
      }
      return { nodes, edges };
    }

    function fade(number) {
      graph.batch(() => {
        graph.elements().removeClass("faded trail");
        if (number === null) {
          return;
        }
        const { nodes, edges } = trail(number);
        let kept = graph.collection();
        nodes.forEach((of) => (kept = kept.union(graph.getElementById(`n${of}`))));
        edges.forEach((of) => (kept = kept.union(graph.getElementById(`e${of}`).addClass("trail"))));
        graph.elements().difference(kept).addClass("faded");
      });
    }

    function mark(number) {
      graph.batch(() => {
        graph.nodes(".at").removeClass("at");
        if (number !== null) {
          graph.getElementById(`n${number}`).addClass("at");
        }
      });
      at = number;
    }

    function link(number) {
      const made = element("button", { type: "button", class: "hw-link" }, data.nodes[number].title);
      made.addEventListener("click", () => select(number, true));
      return made;
    }

    function fillCard(number) {
      const node = data.nodes[number];
      const close = element("button", { type: "button", class: "hw-close", title: "Close (Escape)" }, "Close");
      close.addEventListener("click", () => select(null, true));
      const list = element("dl", {}, element("dt", {}, "address"), element("dd", { class: "hw-whole" }, node.address));
      list.append(element("dt", {}, "chain"), element("dd", {}, node.chain));
      for (const [title, text] of node.facts) {
        list.append(element("dt", {}, title), element("dd", {}, text));
      }
      card.replaceChildren(close, element("h2", {}, node.title), list);
      for (const [title, end, other] of [["Received from", "to", "from"], ["Paid to", "from", "to"]]) {
        const edges = data.edges.filter((edge) => edge[end] === number);
        if (edges.length) {
          card.append(element("h3", {}, title));
        }
        for (const edge of edges) {
          card.append(link(edge[other]), payments(edge));
        }
      }
      card.scrollTop = 0;
    }

    function fillEdgeCard(number) {
      const edge = data.edges[number];
      const close = element("button", { type: "button", class: "hw-close", title: "Close (Escape)" }, "Close");
      close.addEventListener("click", () => select(null, true));
      card.replaceChildren(close, element("h2", {}, "Payments"), link(edge.from), " to ", link(edge.to), payments(edge));
      card.scrollTop = 0;
    }

    function select(number, isOpened) {
      const isNew = selected !== number;
      selected = number;
      mark(number);
      fade(number);
      card.hidden = number === null || !isOpened;
      if (number !== null) {
        fillCard(number);
        if (isOpened) {
          clearCard(number);
        }
      } else if (card.contains(document.activeElement)) {
        canvas.focus();
      }
      if (isNew && given.onSelect) {
        given.onSelect(number === null ? null : data.nodes[number].id);
      }
    }

    // Moves the picture so that the card covers no address whose card it is.
    function clearCard(number) {
      const limit = graph.width() - card.offsetWidth - 24;
      const beyond = graph.getElementById(`n${number}`).renderedBoundingBox().x2 - limit;
      if (beyond > 0 && limit > 200) {
        graph.panBy({ x: -beyond, y: 0 });
      }
    }

    function describe(number) {
      const node = data.nodes[number];
      const ends = node.facts.filter(([title]) => title === "end").map(([, text]) => text);
      const edges = data.edges.filter((edge) => edge.from === number || edge.to === number).length;
      return [node.title, ...ends, many(edges, "line", "lines")].join(". ");
    }

    function reveal(number) {
      const node = graph.getElementById(`n${number}`);
      const [extent, place] = [graph.extent(), node.position()];
      const isSeen = place.x > extent.x1 && place.x < extent.x2 && place.y > extent.y1 && place.y < extent.y2;
      if (!isSeen || graph.zoom() < 0.45) {
        graph.zoom(Math.max(graph.zoom(), 0.8));
        graph.center(node);
      }
    }

    // Finds the nearest address in a direction: distance across the direction counts more than along it.
    function neighbour(number, [dx, dy]) {
      const here = data.nodes[number];
      let best = [Infinity, number];
      data.nodes.forEach((node, other) => {
        const [x, y] = [node.x - here.x, node.y - here.y];
        const along = x * dx + y * dy;
        const across = Math.abs(x * dy) + Math.abs(y * dx);
        if (other === number || along <= 1 || graph.getElementById(`n${other}`).hasClass("gone")) {
          return;
        }
        const far = along + 2.5 * across;
        if (far < best[0]) {
          best = [far, other];
        }
      });
      return best[1];
    }

    function start() {
      return Math.max(0, data.nodes.findIndex((node) => node.role === "start"));
    }

    function go(number) {
      mark(number);
      fade(number);
      reveal(number);
      if (!card.hidden) {
        select(number, true);
      }
      spoken.textContent = describe(number);
    }

    const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    canvas.addEventListener("keydown", (event) => {
      if (ARROWS[event.key] && data.nodes.length) {
        event.preventDefault();
        go(at === null ? start() : neighbour(at, ARROWS[event.key]));
      } else if (event.key === "Home" && data.nodes.length) {
        event.preventDefault();
        go(start());
      } else if (event.key === "Enter" && data.nodes.length) {
        event.preventDefault();
        const number = at === null ? start() : at;
        reveal(number);
        select(number, true);
        card.focus();
      } else if (event.key === "+" || event.key === "-") {
        zoom(event.key === "+" ? 1.3 : 1 / 1.3);
      }
    });
    frame.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && (selected !== null || !card.hidden || at !== null)) {
        event.preventDefault();
        const isInside = card.contains(document.activeElement);
        select(null, false);
        if (isInside) {
          canvas.focus();
        }
      }
    });
    canvas.addEventListener("focus", () => {
      if (at === null && data.nodes.length && canvas.matches(":focus-visible")) {
        mark(start());
        spoken.textContent = describe(start());
      }
    });

    function zoom(factor) {
      graph.zoom({
        level: graph.zoom() * factor,
        renderedPosition: { x: graph.width() / 2, y: graph.height() / 2 },
      });
    }
    fit.addEventListener("click", overview);
    closer.addEventListener("click", () => zoom(1.3));
    farther.addEventListener("click", () => zoom(1 / 1.3));

    graph.on("tap", (event) => {
      if (event.target === graph) {
        select(null, false);
      } else if (event.target.isNode()) {
        select(event.target.data("number"), true);
      } else {
        card.hidden = false;
        fillEdgeCard(event.target.data("number"));
      }
    });
    graph.on("mouseover", "node, edge", (event) => {
      canvas.style.setProperty("cursor", "pointer");
      if (selected === null) {
        card.hidden = false;
        (event.target.isNode() ? fillCard : fillEdgeCard)(event.target.data("number"));
      }
    });
    graph.on("mouseout", "node, edge", () => {
      canvas.style.removeProperty("cursor");
      if (selected === null && !card.matches(":hover") && !card.contains(document.activeElement)) {
        card.hidden = true;
      }
    });

    search.addEventListener("input", () => {
      const wanted = search.value.trim().toLowerCase();
      const found = data.nodes
        .map((node, number) => [`${node.id}\n${node.title}\n${node.facts.map((fact) => fact[1]).join("\n")}`, number])
        .filter(([text]) => wanted && text.toLowerCase().includes(wanted))
        .map(([, number]) => number);
      search.found = found;
      search.next = 0;
      status.textContent = wanted ? `${many(found.length, "address", "addresses")} found` : "";
      if (found.length) {
        go(found[0]);
      } else if (!wanted) {
        select(null, false);
      }
    });
    search.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && search.found && search.found.length) {
        search.next = (search.next + 1) % search.found.length;
        go(search.found[search.next]);
      }
    });

    // The slider is logarithmic: from a millionth of the largest payment to all of it.
    const largest = Math.max(0, ...data.edges.map((edge) => edge.usd || 0));
    filter.addEventListener("input", () => {
      const least = filter.value === "0" ? 0 : 10 ** (-6 + (6 * Number(filter.value)) / 100);
      let shown = 0;
      graph.batch(() => {
        const used = new Set([start()]);
        data.edges.forEach((edge, number) => {
          const isShown = edge.weight >= least;
          graph.getElementById(`e${number}`).toggleClass("gone", !isShown);
          if (isShown) {
            shown += 1;
            used.add(edge.from).add(edge.to);
          }
        });
        data.nodes.forEach((_, number) => {
          graph.getElementById(`n${number}`).toggleClass("gone", least > 0 && !used.has(number));
        });
      });
      const bound = largest > 0 ? dollars(least * largest) : `${(100 * least).toPrecision(2)} % of the largest`;
      filterText.textContent = least === 0 ? "all payments" : `at least ${bound}: ${shown} of ${data.edges.length}`;
    });

    function fillTable() {
      const rows = element("tbody");
      for (const edge of data.edges) {
        for (const payment of edge.payments) {
          const kind = data.edge_kinds.find((entry) => entry.kind === edge.kind);
          const cells = [
            data.nodes[edge.from].title,
            data.nodes[edge.to].title,
            payment.amount,
            dollars(payment.usd),
            days(payment),
            String(payment.count),
            payment.remark ? `${kind.text}; ${payment.remark}` : kind.text,
          ];
          const row = element("tr", {}, ...cells.map((text) => element("td", {}, text)));
          const hashes = payment.hashes.map((hash) => element("div", { class: "hw-hash" }, hash));
          row.append(element("td", {}, ...hashes));
          rows.append(row);
        }
      }
      const titles = ["From", "To", "Amount", "US dollars", "Dates", "Transactions", "Kind", "Largest transactions"];
      const top = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
      table.replaceChildren(
        element("table", {}, element("caption", {}, `${data.title}: all payments`), element("thead", {}, top), rows),
      );
    }
    tableButton.addEventListener("click", () => {
      if (table.hidden && !table.firstChild) {
        fillTable();
      }
      table.hidden = !table.hidden;
      canvas.hidden = !table.hidden;
      tableButton.setAttribute("aria-pressed", String(!table.hidden));
      if (table.hidden) {
        graph.resize();
      } else {
        select(null, false);
        table.focus();
      }
    });

    const scheme = root.matchMedia("(prefers-color-scheme: dark)");
    const recolor = () => graph.style(styles(color));
    scheme.addEventListener("change", recolor);
    let size = [canvas.clientWidth, canvas.clientHeight];
    const observer = new ResizeObserver(() => {
      const now = [canvas.clientWidth, canvas.clientHeight];
      if (now[0] > 0 && now[1] > 0 && (now[0] !== size[0] || now[1] !== size[1])) {
        const isFirst = size[0] === 0 || size[1] === 0;
        size = now;
        graph.resize();
        if (isFirst) {
          firstView();
        }
      }
    });
    observer.observe(canvas);

    return {
      graph,
      fit: overview,
      selected() {
        return selected === null ? null : data.nodes[selected].id;
      },
      select(id) {
        const number = data.nodes.findIndex((node) => node.id === id);
        if (number >= 0) {
          reveal(number);
        }
        select(number < 0 ? null : number, number >= 0);
      },
      destroy() {
        clearTimeout(writing);
        observer.disconnect();
        scheme.removeEventListener("change", recolor);
        graph.destroy();
        host.replaceChildren();
      },
    };
  }

  root.HeadwaterGraph = { show };
})(globalThis);
