// @ts-check
// Show a tool's reply as a page within a client. The page asks only the client, by messages.

/** @typedef {{id: string, kind?: string, says?: string, name?: string, by?: string, when?: string, about?: string[], because?: string, status?: string, perhaps_against?: {because: string}[]}} Row */
/** @typedef {{waiting?: Row[], timeline?: Row[], neighbors?: {id: string, name: string, path?: string[]}[], total?: number, next?: string}} Told */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const which = document.body.dataset.app ?? "";
const languages = JSON.parse(document.getElementById("texts")?.textContent ?? "{}");
let texts = languages.en;
/** @type {Map<number, (answer: any) => void>} */
const waiting = new Map();
/** @type {Record<string, unknown>} */
let asked = {};
let last = 0;

/** @param {Record<string, unknown>} message */
function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // the client's address is not known
}

/**
 * @param {string} method
 * @param {Record<string, unknown>} params
 * @returns {Promise<any>}
 */
function ask(method, params) {
  last += 1;
  const id = last;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    send({ id, method, params });
  });
}

/**
 * @param {string} key
 * @param {Record<string, unknown>} [values]
 */
function t(key, values = {}) {
  return String(texts[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/**
 * Make an element with its contents; a text never becomes markup.
 * @param {string} tag
 * @param {string} names
 * @param {(Node | string)[]} inside
 */
function part(tag, names, ...inside) {
  const made = document.createElement(tag);
  if (names !== "") made.className = names;
  made.append(...inside);
  return made;
}

/** @param {string} text */
const bdi = (text) => part("bdi", "", text);

/**
 * @param {string} name
 * @param {Record<string, unknown>} given
 * @returns {Promise<Told | null>}
 */
async function call(name, given) {
  const { result } = await ask("tools/call", { name, arguments: given });
  return result === undefined || result.isError ? null : told(result);
}

/** @param {any} result @returns {Told} */
function told(result) {
  if (result.structuredContent) return result.structuredContent;
  try {
    return JSON.parse(result.content?.find((/** @type {any} */ one) => one.type === "text")?.text ?? "{}");
  } catch {
    return {};
  }
}

/** @param {Row} row */
function proposal(row) {
  const field = /** @type {HTMLInputElement} */ (part("input", ""));
  field.required = true;
  field.id = `r-${row.id}`;
  field.value = t("review.reason");
  const label = /** @type {HTMLLabelElement} */ (part("label", "", t("reason")));
  label.htmlFor = field.id;
  /** @param {"accept" | "reject"} verdict @param {string} colour */
  const button = (verdict, colour) => {
    const made = part("button", colour, t(`verdict.${verdict}`));
    made.addEventListener("click", async (event) => {
      event.preventDefault();
      const done = await call("decide", { verdict, of: [row.id], reason: field.value, ...here() });
      if (done === null) main.prepend(part("p", "warning", t("review.failed")));
      else show((await call("review", asked)) ?? {});
    });
    return made;
  };
  const against = (row.perhaps_against ?? []).map((one) => part("p", "quiet", bdi(one.because)));
  return part(
    "li",
    "card waiting",
    part("h2", "", bdi(row.says ?? "")),
    part("p", "quiet", bdi(row.by ?? "")),
    ...(row.because ? [part("p", "ruling", bdi(row.because))] : []),
    ...(against.length > 0 ? [part("section", "against", part("h3", "", t("review.perhaps")), ...against)] : []),
    ...(row.status === "waits" ? [part("form", "verdict", label, field, button("accept", "good"), button("reject", "bad"))] : []),
  );
}

function here() {
  return asked.space === undefined ? {} : { space: asked.space };
}

/** @param {Row} row */
function happening(row) {
  const day = (row.when ?? "").replace(/T00:00:00Z$/, "");
  return part("li", "", part("time", "", day), " ", bdi(row.says ?? ""), " ", part("span", "quiet", bdi((row.about ?? []).join(", "))));
}

/** @type {Record<string, [number, number]>} */
const STEPS = { north: [0, -1], south: [0, 1], east: [1, 0], west: [-1, 0], northeast: [1, -1], northwest: [-1, -1], southeast: [1, 1], southwest: [-1, 1], up: [0.5, -0.6], down: [-0.5, 0.6], in: [0.5, 0.5], out: [-0.5, -0.5] };
const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} named
 * @param {string} [text]
 */
function drawn(tag, named, text = "") {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(named)) made.setAttribute(name, String(value));
  made.textContent = text;
  return made;
}

/** @param {{id: string, name: string, path?: string[]}[]} places */
function map(places) {
  const spots = [{ name: "•", path: /** @type {string[]} */ ([]) }, ...places].map(({ name, path = [] }) => {
    const at = path.map((one) => STEPS[one] ?? [0.7, 0.3]).reduce(([x, y], [dx, dy]) => [x + dx, y + dy], [0, 0]);
    return { name, path, x: at[0] * 150, y: at[1] * 110 };
  });
  const left = Math.min(...spots.map((one) => one.x)) - 90;
  const top = Math.min(...spots.map((one) => one.y)) - 40;
  const width = Math.max(...spots.map((one) => one.x)) + 90 - left;
  const height = Math.max(...spots.map((one) => one.y)) + 60 - top;
  const sheet = drawn("svg", { class: "map", viewBox: `${left} ${top} ${width} ${height}`, role: "img", "aria-label": t("map.picture") });
  sheet.setAttribute("width", "100%");
  const by = new Map(spots.map((one) => [one.path.join("/"), one]));
  for (const one of spots) {
    const from = by.get(one.path.slice(0, -1).join("/"));
    if (from && one.path.length > 0) sheet.append(drawn("line", { class: "way", x1: from.x, y1: from.y, x2: one.x, y2: one.y }));
  }
  for (const one of spots) {
    sheet.append(drawn("circle", { class: "spot", cx: one.x, cy: one.y, r: 16 }));
    sheet.append(drawn("text", { x: one.x, y: one.y + 34 }, one.name.slice(0, 24)));
  }
  const list = places.map((one) => part("li", "", bdi(one.name), " ", part("span", "quiet", (one.path ?? []).join(" → "))));
  return [part("div", "scroll", sheet), part("h2", "", t("map.places")), part("ul", "rows", ...list)];
}

/** @param {Told} reply */
function show(reply) {
  const parts = [part("h1", "", t(`nav.${which}`))];
  if (which === "review") {
    const rows = reply.waiting ?? [];
    parts.push(part("p", "quiet", rows.length > 0 ? t("review.total", { count: reply.total ?? rows.length }) : t("review.none")));
    parts.push(part("ol", "queue", ...rows.map(proposal)));
  } else if (which === "timeline") {
    const rows = reply.timeline ?? [];
    parts.push(part("ol", "ribbon", ...rows.map(happening)));
    parts.push(part("p", "quiet", rows.length > 0 ? t("find.total", { count: reply.total ?? rows.length }) : t("nothing")));
  } else {
    parts.push(...map(reply.neighbors ?? []));
  }
  if (reply.next !== undefined) {
    const more = part("button", "", t("pages.after"));
    more.addEventListener("click", async () => show((await call(which, { ...asked, cursor: reply.next })) ?? {}));
    parts.push(more);
  }
  main.replaceChildren(...parts);
  send({ method: "ui/notifications/size-changed", params: { width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight } });
}

/** @param {{theme?: string, locale?: string}} [context] */
function placed(context = {}) {
  for (const rule of context.theme ? (document.styleSheets[0]?.cssRules ?? []) : []) {
    if (rule instanceof CSSMediaRule && (rule.conditionText.includes("color-scheme") || rule.media.mediaText.endsWith("all"))) {
      rule.media.mediaText = context.theme === "dark" ? "all" : "not all";
    }
  }
  if (context.theme) document.documentElement.style.colorScheme = context.theme;
  const language = (context.locale ?? "en").split("-")[0];
  texts = languages[language] ?? languages.en;
  document.documentElement.lang = language in languages ? language : "en";
}

addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== parent || message?.jsonrpc !== "2.0") return;
  if (message.method === undefined) {
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  } else if (message.method === "ui/notifications/tool-input") {
    asked = message.params?.arguments ?? {};
  } else if (message.method === "ui/notifications/tool-result") {
    show(told(message.params ?? {}));
  } else if (message.method === "ui/notifications/host-context-changed") {
    placed(message.params);
  } else if (message.id !== undefined) {
    send({ id: message.id, result: {} });
  }
});

main.append(part("p", "quiet", t("app.wait")));
const { result } = await ask("ui/initialize", {
  appInfo: { name: "canonry", version: "1" },
  appCapabilities: {},
  protocolVersion: "2026-01-26",
});
placed(result?.hostContext);
send({ method: "ui/notifications/initialized", params: {} });
