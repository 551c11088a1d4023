// @ts-check
// Draw the graph of the page's list. The list stays for readers without the picture.

/** @typedef {{nodes: [string, string, string][], edges: [string, string, string, string][], centre: string | null}} Told */

const holder = document.getElementById("graph");
const text = document.getElementById("graph-data")?.textContent ?? "";
const draw = /** @type {any} */ (globalThis).cytoscape;

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

if (holder !== null && draw !== undefined && text !== "") {
  /** @type {Told} */
  const told = JSON.parse(text);
  if (told.nodes.length > 0) {
    holder.hidden = false;
    holder.setAttribute("role", "img");
    holder.setAttribute("aria-label", holder.dataset.names ?? "");
    const many = told.nodes.length > 150;
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
        ? { name: "concentric", animate: false, minNodeSpacing: 8 }
        : { name: "cose", animate: false, randomize: false, nodeRepulsion: 9000, idealEdgeLength: 110, padding: 20 },
      maxZoom: 3,
      hideEdgesOnViewport: many,
      textureOnViewport: many,
      style: [
        { selector: "node", style: { label: "data(name)", "font-size": many ? 5 : 11, color: colour("--ink"), "text-valign": "bottom", "text-margin-y": 4, "background-color": (/** @type {any} */ node) => `hsl(${node.data("hue")}, 45%, 55%)`, width: many ? 8 : 22, height: many ? 8 : 22, "min-zoomed-font-size": many ? 7 : 0 } },
        { selector: "node.centre", style: { width: 34, height: 34, "border-width": 3, "border-color": colour("--accent") } },
        { selector: "edge", style: { width: 1, "line-color": colour("--soft"), "target-arrow-color": colour("--soft"), "target-arrow-shape": "triangle", "arrow-scale": 0.7, "curve-style": many ? "haystack" : "bezier", label: many ? "" : "data(name)", "font-size": 8, color: colour("--soft"), "text-rotation": "autorotate", "text-background-color": colour("--raised"), "text-background-opacity": 1 } },
      ],
    });
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
