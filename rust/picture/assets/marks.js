// The marks of pictures: shapes, colours and texts of addresses and payments, for `graph.js` and the page `/explore`.
//
// `HeadwaterMarks` has `element(name, attributes, ...children)`, `legend(kinds, edgeKinds)`, `dollars(usd)`,
// `many(count, one, several)`, `corners(kind, width, height)`, `styles(color)` and `prepare()`, called once before the
// graph library.
(function (root) {
  "use strict";

  // The library adds a style sheet unless an element has this id, which pages with a strict policy refuse.
  // Its only rule is in graph.css.
  const LIBRARY_STYLE = "__________cytoscape_stylesheet";
  const SVG = "http://www.w3.org/2000/svg";
  const NODE_SHAPES = {
    unnamed: "round-rectangle",
    named: "rectangle",
    exchange: "polygon",
    bridge: "polygon",
    protocol: "barrel",
    mixer: "polygon",
    illicit: "polygon",
  };
  // The depth of cut corners, in pixels.
  const CUT = 9;
  // The same shapes as paths of the legend, 26 by 13 pixels.
  const LEGEND_SHAPES = {
    unnamed: "M5 1H23Q27 1 27 4V11Q27 14 23 14H5Q1 14 1 11V4Q1 1 5 1Z",
    named: "M1 1H27V14H1Z",
    exchange: "M5 1H23L27 5V14H1V5Z",
    bridge: "M1 7.5L6 1H22L27 7.5L22 14H6Z",
    protocol: "M1 3Q14 0 27 3V12Q14 15 1 12Z",
    mixer: "M1 1H27L24 7.5L27 14H1L4 7.5Z",
    illicit: "M5 1H23L27 5V10L23 14H5L1 10V5Z",
  };

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  function drawing(name, attributes, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  function legendEntry(text, ...shapes) {
    const picture = drawing("svg", { viewBox: "0 0 28 15", "aria-hidden": "true" }, ...shapes);
    return element("li", {}, picture, text);
  }

  function legend(kinds, edgeKinds) {
    const list = element("ul", { class: "hw-legend", "aria-label": "Legend" });
    for (const { kind, text } of kinds) {
      const shape = drawing("path", { d: LEGEND_SHAPES[kind], class: `hw-on-${kind}`, "stroke-width": "1.4" });
      list.append(legendEntry(text, shape));
    }
    for (const { kind, text } of edgeKinds) {
      const line = drawing("path", { d: "M1 7.5H27", fill: "none", class: `hw-edge-${kind}`, "stroke-width": "3" });
      list.append(legendEntry(text, line));
    }
    return list;
  }

  function dollars(usd) {
    return usd === null ? "no price" : `$${usd.toLocaleString("en-US", { maximumFractionDigits: usd < 1000 ? 2 : 0 })}`;
  }

  function many(count, one, several) {
    return `${count.toLocaleString("en-US")} ${count === 1 ? one : several}`;
  }

  // Returns the corners of the box of a kind, from -1 to 1 in both directions.
  function corners(kind, width, height) {
    const cut = Math.min(CUT, height / 3);
    const [x, y] = [1 - (2 * cut) / width, 1 - (2 * cut) / height];
    const shapes = {
      exchange: [-x, -1, x, -1, 1, -y, 1, 1, -1, 1, -1, -y],
      bridge: [-1, 0, -x, -1, x, -1, 1, 0, x, 1, -x, 1],
      mixer: [-1, -1, 1, -1, x, 0, 1, 1, -1, 1, -x, 0],
      illicit: [-x, -1, x, -1, 1, -y, 1, y, x, 1, -x, 1, -1, y, -1, -y],
    };
    return shapes[kind] || [-1, -1, 1, -1, 1, 1, -1, 1];
  }

  function styles(color) {
    const font = '"DejaVu Sans", Verdana, sans-serif';
    const all = [
      {
        selector: "node",
        style: {
          width: "data(width)",
          height: "data(height)",
          label: "data(text)",
          color: color("text"),
          "font-family": font,
          "font-size": 10.5,
          "line-height": 1.3,
          "text-wrap": "wrap",
          "text-max-width": 400,
          "text-valign": "center",
          "text-halign": "center",
          "min-zoomed-font-size": 5,
          "border-width": 1.6,
        },
      },
      {
        selector: "edge",
        style: {
          width: "data(width)",
          "curve-style": "straight",
          "target-arrow-shape": "triangle",
          "arrow-scale": 0.9,
          "line-opacity": 0.6,
          color: color("text"),
          "font-family": font,
          "font-size": 9,
          "text-wrap": "wrap",
          "min-zoomed-font-size": 6,
          "text-background-color": color("ground"),
          "text-background-opacity": 0.82,
          "text-background-padding": 1,
        },
      },
      {
        selector: "edge.bent",
        style: {
          "curve-style": "unbundled-bezier",
          "edge-distances": "endpoints",
          "control-point-weights": (edge) => edge.data("weights"),
          "control-point-distances": (edge) => edge.data("distances"),
          "source-endpoint": (edge) => edge.data("start"),
          "target-endpoint": (edge) => edge.data("end"),
        },
      },
      { selector: "edge.read.label-to", style: { "target-label": "data(label)", "target-text-offset": 78 } },
      { selector: "edge.read.label-from", style: { "source-label": "data(label)", "source-text-offset": 78 } },
      { selector: "edge.bridge", style: { "line-style": "dashed", "line-dash-pattern": [9, 5] } },
      { selector: "edge.change", style: { "line-style": "dashed", "line-dash-pattern": [2, 4] } },
      {
        selector: "node.start, node.target",
        style: {
          "underlay-color": color("start"),
          "underlay-opacity": 0.45,
          "underlay-padding": 6,
          "underlay-shape": "round-rectangle",
        },
      },
      { selector: "node.illicit", style: { "border-width": 3 } },
      { selector: "node.disputed", style: { "border-style": "dashed" } },
      { selector: ".faded", style: { opacity: 0.22 } },
      { selector: ".gone", style: { display: "none" } },
      { selector: "edge.trail", style: { "line-opacity": 1, "z-index": 9 } },
      { selector: "node.at", style: { "border-width": 4, "border-color": color("focus") } },
    ];
    for (const [kind, shape] of Object.entries(NODE_SHAPES)) {
      all.push({
        selector: `node.${kind}`,
        style: { shape, "background-color": color(kind), "border-color": color(`${kind}-border`) },
      });
      if (shape === "polygon") {
        const points = (node) => node.data("corners");
        all.push({ selector: `node.${kind}`, style: { "shape-polygon-points": points } });
      }
    }
    for (const kind of ["out", "in", "bridge", "change"]) {
      const line = color(`edge-${kind}`);
      all.push({ selector: `edge.${kind}`, style: { "line-color": line, "target-arrow-color": line } });
    }
    // The address at hand is marked whatever its kind.
    all.push(all.splice(all.findIndex(({ selector }) => selector === "node.at"), 1)[0]);
    return all;
  }

  // Keeps the graph library from adding a style sheet.
  function prepare() {
    if (!document.getElementById(LIBRARY_STYLE)) {
      document.head.append(element("meta", { id: LIBRARY_STYLE, name: "generator", content: "cytoscape" }));
    }
  }

  root.HeadwaterMarks = { element, legend, dollars, many, corners, styles, prepare };
})(globalThis);
