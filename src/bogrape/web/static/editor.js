"use strict";
(function () {
  const form = document.getElementById("draw");
  if (form === null) { return; }
  const known = JSON.parse(form.dataset.editor);
  const paper = document.getElementById("paper"), status = document.getElementById("drawn");
  const labels = document.getElementById("el"), kinds = document.getElementById("ek");
  const SVG = "http://www.w3.org/2000/svg", RADIUS = 17;
  const narrow = paper.getBoundingClientRect().width < 480;  // so that fingers hit the nodes
  const WIDTH = narrow ? 360 : 600, HEIGHT = narrow ? 320 : 400;
  paper.setAttribute("viewBox", "0 0 " + WIDTH + " " + HEIGHT);
  let nodes = [], edges = [], chosen = null, past = [], dragged = null, moved = false;

  function option(select, text, value) {
    const item = document.createElement("option");
    item.textContent = text; item.value = value;
    select.append(item);
  }
  known.labels.forEach(function (name, k) { option(labels, name, k); });
  known.edgeLabels.forEach(function (name, k) { option(kinds, name, k + 1); });
  document.getElementById("ekf").hidden = known.edgeLabels.length === 0;

  function begin() {
    const xs = known.nodes.map(function (n) { return n[1]; }), ys = known.nodes.map(function (n) { return n[2]; });
    const left = Math.min.apply(null, xs), right = Math.max.apply(null, xs);
    const top = Math.min.apply(null, ys), bottom = Math.max.apply(null, ys);
    const scale = Math.min((WIDTH - 90) / Math.max(1e-6, right - left), (HEIGHT - 90) / Math.max(1e-6, bottom - top), 110);
    nodes = known.nodes.map(function (n) {
      return {label: n[0], x: WIDTH / 2 + (n[1] - (left + right) / 2) * scale,
        y: HEIGHT / 2 + (n[2] - (top + bottom) / 2) * scale};
    });
    edges = known.edges.map(function (e) { return {u: e[0], v: e[1], kind: e[2]}; });
  }

  function remember() {
    past.push(JSON.stringify([nodes, edges]));
    if (past.length > 100) { past.shift(); }
  }

  function element(name, attributes) {
    const made = document.createElementNS(SVG, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    return made;
  }

  function readable(colour) {
    const probe = /^#(..)(..)(..)/.exec(colour);
    if (probe === null) { return "#fff"; }
    const light = parseInt(probe[1], 16) * 0.299 + parseInt(probe[2], 16) * 0.587 + parseInt(probe[3], 16) * 0.114;
    return light > 140 ? "#111" : "#fff";
  }

  function draw(focus) {
    paper.replaceChildren();
    edges.forEach(function (edge) {
      const a = nodes[edge.u], b = nodes[edge.v];
      const ends = {x1: a.x, y1: a.y, x2: b.x, y2: b.y};
      const strokes = known.orders[edge.kind - 1] || 1;  // of a double bond, two
      if (strokes > 1) {  // a wide line, and a narrower one of the paper's colour on it
        paper.append(element("line", Object.assign({style: "stroke-width:" + (5 * strokes - 1)}, ends)));
        paper.append(element("line", Object.assign({"class": "between", style: "stroke-width:" + (5 * strokes - 6)}, ends)));
      }
      if (strokes !== 2) { paper.append(element("line", ends)); }
      if (known.directed) {
        const far = Math.hypot(b.x - a.x, b.y - a.y) || 1, back = (RADIUS + 6) / far;
        paper.append(element("circle", {cx: b.x - (b.x - a.x) * back, cy: b.y - (b.y - a.y) * back, r: 5, fill: "currentColor"}));
      }
      if (edge.kind > 0 && known.orders[edge.kind - 1] === 0) {
        const text = element("text", {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, "class": "kind"});
        text.textContent = String(edge.kind);
        paper.append(text);
      }
    });
    nodes.forEach(function (node, k) {
      const near = edges.filter(function (e) { return e.u === k || e.v === k; }).map(function (e) {
        return (e.u === k ? e.v : e.u) + 1;
      });
      const group = element("g", {
        tabindex: 0, role: "button", "aria-pressed": chosen === k ? "true" : "false", "data-node": k,
        "aria-label": known.node + " " + (k + 1) + ", " + known.labels[node.label] +
          (near.length ? ", joined to " + near.join(", ") : ", joined to nothing"),
      });
      if (chosen === k) { group.setAttribute("class", "chosen"); }
      const colour = known.colours[node.label];
      group.append(element("circle", {cx: node.x, cy: node.y, r: RADIUS, fill: colour}));
      const text = element("text", {x: node.x, y: node.y, fill: readable(colour)});
      text.textContent = known.labels[node.label].slice(0, 3);
      group.append(text);
      paper.append(group);
    });
    document.getElementById("drawing").value = JSON.stringify({
      nodes: nodes.map(function (n) { return n.label; }),
      edges: edges.map(function (e) { return [e.u, e.v, e.kind]; }),
    });
    if (focus !== undefined && nodes[focus]) { paper.querySelector("[data-node='" + focus + "']").focus(); }
  }

  function tell(text) {
    status.textContent = text + " " + nodes.length + " in all, " + edges.length + " joined.";
  }

  function join(u, v) {
    const there = edges.findIndex(function (e) {
      return (e.u === u && e.v === v) || (!known.directed && e.u === v && e.v === u);
    });
    const kind = known.edgeLabels.length ? Number(kinds.value) : 0;
    remember();
    if (there < 0) { edges.push({u: u, v: v, kind: kind}); tell("Joined."); }
    else if (edges[there].kind !== kind) { edges[there].kind = kind; tell("Changed."); }
    else { edges.splice(there, 1); tell("Parted."); }
  }

  function choose(k) {
    if (chosen === null) { chosen = k; labels.value = nodes[k].label; tell("Chosen: " + (k + 1) + "."); }
    else if (chosen === k) { chosen = null; tell("Nothing is chosen."); }
    else { join(chosen, k); chosen = null; }
    draw(k);
  }

  function remove() {
    if (chosen === null) { tell("Choose what to remove first."); return; }
    remember();
    const gone = chosen;
    nodes.splice(gone, 1);
    edges = edges.filter(function (e) { return e.u !== gone && e.v !== gone; }).map(function (e) {
      return {u: e.u - (e.u > gone), v: e.v - (e.v > gone), kind: e.kind};
    });
    chosen = null;
    tell("Removed.");
    draw(Math.min(gone, nodes.length - 1));
  }

  function spot() {
    const from = chosen === null ? {x: WIDTH / 2, y: HEIGHT / 2} : nodes[chosen];
    let best = null;
    for (let turn = 0; turn < 24; turn += 1) {
      const far = 66 + 30 * Math.floor(turn / 8), angle = turn * Math.PI / 4 + 0.35;
      const x = Math.min(WIDTH - 25, Math.max(25, from.x + far * Math.cos(angle)));
      const y = Math.min(HEIGHT - 25, Math.max(25, from.y + far * Math.sin(angle)));
      const space = Math.min.apply(null, nodes.map(function (n) { return Math.hypot(n.x - x, n.y - y); }).concat(60));
      if (best === null || space > best.space + 1) { best = {x: x, y: y, space: space}; }
    }
    return nodes.length === 0 ? from : best;
  }

  document.getElementById("addnode").addEventListener("click", function () {
    if (nodes.length >= known.most) { tell("No more fit into the space."); return; }
    remember();
    const at = spot();
    nodes.push({label: Number(labels.value), x: at.x, y: at.y});
    if (chosen !== null) {
      edges.push({u: chosen, v: nodes.length - 1, kind: known.edgeLabels.length ? Number(kinds.value) : 0});
    }
    chosen = nodes.length - 1;
    tell("Added " + nodes.length + ".");
    draw();
  });
  document.getElementById("remove").addEventListener("click", remove);
  document.getElementById("undo").addEventListener("click", function () {
    if (past.length === 0) { return; }
    const before = JSON.parse(past.pop());
    nodes = before[0]; edges = before[1]; chosen = null;
    tell("Undone."); draw();
  });
  labels.addEventListener("change", function () {
    if (chosen !== null) { remember(); nodes[chosen].label = Number(labels.value); draw(); }
  });

  function nodeOf(event) {
    const group = event.target.closest("[data-node]");
    return group === null ? null : Number(group.dataset.node);
  }
  paper.addEventListener("keydown", function (event) {
    const k = nodeOf(event), step = {ArrowLeft: [-12, 0], ArrowRight: [12, 0], ArrowUp: [0, -12], ArrowDown: [0, 12]}[event.key];
    if (k === null) { return; }
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(k); }
    else if (event.key === "Delete" || event.key === "Backspace") { event.preventDefault(); chosen = k; remove(); }
    else if (step) {
      event.preventDefault();
      nodes[k].x = Math.min(WIDTH - 20, Math.max(20, nodes[k].x + step[0]));
      nodes[k].y = Math.min(HEIGHT - 20, Math.max(20, nodes[k].y + step[1]));
      draw(k);
    }
  });
  function at(event) {
    const box = paper.getBoundingClientRect();
    return {x: (event.clientX - box.left) * WIDTH / box.width, y: (event.clientY - box.top) * HEIGHT / box.height};
  }
  paper.addEventListener("pointerdown", function (event) { dragged = nodeOf(event); moved = false; });
  paper.addEventListener("pointermove", function (event) {
    if (dragged === null) { return; }
    const to = at(event);
    if (!moved && Math.hypot(to.x - nodes[dragged].x, to.y - nodes[dragged].y) < 8) { return; }
    moved = true;
    nodes[dragged].x = to.x; nodes[dragged].y = to.y;
    draw();
  });
  window.addEventListener("pointerup", function () {
    const k = dragged;
    dragged = null;
    if (k !== null && !moved) { choose(k); }
  });
  form.addEventListener("submit", function (event) {
    if (nodes.length === 0) { event.preventDefault(); tell("Draw something first."); }
  });
  begin();
  draw();
}());
