// @ts-check
// Draw the graph of the page's list. The list stays for readers without the picture.

/** @typedef {{nodes: [string, string, string][], edges: [string, string, string, string][], centre: string | null}} Told */

const holder = document.getElementById("graph");
const text = document.getElementById("graph-data")?.textContent ?? "";
const draw = /** @type {any} */ (globalThis).cytoscape;

/** From so many nodes on, labels are left to the pointer and edges are plain. */
const MANY = 150;

/** @param {string} name */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** @param {string} type */
function hue(type) {
  let sum = 0;
  for (const each of type) sum = (sum * 31 + (each.codePointAt(0) ?? 0)) % 360;
  return sum;
}

/**
 * Give each node a cell of its own, so that none covers another and the whole canvas is used; near
 * nodes stay near, because columns follow their x and the cells of a column their y.
 * @param {any} picture
 * @param {HTMLElement} canvas
 */
function spread(picture, canvas) {
  const nodes = picture.nodes().toArray();
  const shape = canvas.clientWidth / Math.max(1, canvas.clientHeight);
  const columns = Math.max(1, Math.round(Math.sqrt(nodes.length * shape)));
  const most = Math.ceil(nodes.length / columns);
  nodes.sort((/** @type {any} */ one, /** @type {any} */ other) => one.position("x") - other.position("x"));
  const wide = nodes.length > MANY ? 34 : 130;
  for (let column = 0; column * most < nodes.length; column += 1) {
    const held = nodes.slice(column * most, (column + 1) * most);
    held.sort((/** @type {any} */ one, /** @type {any} */ other) => one.position("y") - other.position("y"));
    held.forEach((/** @type {any} */ node, /** @type {number} */ row) => {
      node.position({ x: column * wide + (row % 2) * wide * 0.5, y: row * wide });
    });
  }
}

if (holder !== null && draw !== undefined && text !== "") {
  /** @type {Told} */
  const told = JSON.parse(text);
  if (told.nodes.length > 0) {
    holder.hidden = false;
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", holder.dataset.names ?? "");
    const many = told.nodes.length > MANY;
    const list = document.getElementById("graph-list");
    if (list instanceof HTMLDetailsElement) list.open = told.edges.length <= 20;
    // Show the page first: a large picture takes some time.
    await new Promise((seen) => requestAnimationFrame(() => setTimeout(seen)));
    const picture = draw({
      container: holder,
      elements: [
        ...told.nodes.map(([id, name, type]) => ({ data: { id, name: name.slice(0, 40), hue: hue(type) }, classes: id === told.centre ? "centre" : "" })),
        ...told.edges.map(([id, source, target, name]) => ({ data: { id, source, target, name: name.slice(0, 40) } })),
      ],
      layout: many
        ? { name: "breadthfirst", animate: false, circle: true }
        : { name: "cose", animate: false, randomize: false, nodeDimensionsIncludeLabels: true, nodeRepulsion: 9000, idealEdgeLength: 110 },
      maxZoom: 3,
      hideEdgesOnViewport: many,
      textureOnViewport: many,
      style: [
        { selector: "node", style: { label: "data(name)", "font-size": many ? 5 : 11, color: colour("--ink"), "text-valign": "bottom", "text-margin-y": 4, "background-color": (/** @type {any} */ node) => `hsl(${node.data("hue")}, 45%, 55%)`, width: many ? 8 : 22, height: many ? 8 : 22, "min-zoomed-font-size": many ? 7 : 0 } },
        { selector: "node.centre", style: { width: 34, height: 34, "border-width": 3, "border-color": colour("--accent") } },
        { selector: "edge", style: { width: 1, "line-color": colour("--soft"), "target-arrow-color": colour("--soft"), "target-arrow-shape": "triangle", "arrow-scale": 0.7, "curve-style": many ? "haystack" : "bezier", label: many ? "" : "data(name)", "font-size": 8, color: colour("--soft"), "text-rotation": "autorotate", "text-background-color": colour("--raised"), "text-background-opacity": 1 } },
      ],
    });
    spread(picture, holder);
    picture.fit(undefined, 20);
    if (picture.zoom() > 1.4) {
      picture.zoom(1.4);
      picture.center();
    }
    picture.on("tap", "node, edge", (/** @type {any} */ event) => {
      location.assign(`/thing/${encodeURIComponent(event.target.id())}`);
    });
  }
}

export {}; // what waits is a module
