// @ts-check
// Keyboard control of the queue, and updates while others decide. Forms work without it.

const EVERY = 2000;
const live = /** @type {HTMLElement} */ (document.getElementById("live"));
let place = 0;
let busy = false;

/** @returns {HTMLElement} */
function queue() {
  return /** @type {HTMLElement} */ (document.getElementById("queue"));
}

/** @returns {HTMLElement[]} */
function waiting() {
  return [...queue().querySelectorAll(".waiting")].filter((each) => each instanceof HTMLElement);
}

/** @param {number} to */
function stand(to) {
  const all = waiting();
  for (const each of all) each.classList.remove("current");
  if (all.length === 0) return;
  place = Math.max(0, Math.min(to, all.length - 1));
  const here = all[place];
  here.classList.add("current");
  here.focus({ preventScroll: true });
  here.scrollIntoView({ block: "nearest" });
}

/**
 * Replace the shown queue by that of a page, unless the user is writing.
 * @param {string} text
 * @param {boolean} told whether the page's note about the last decision is shown, too
 */
function replaceBy(text, told) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const next = page.getElementById("queue");
  if (next === null) return false;
  const kept = waiting()[place]?.dataset.id;
  queue().replaceWith(document.adoptNode(next));
  const said = page.getElementById("live");
  if (told && said !== null) live.replaceChildren(...said.childNodes);
  const again = waiting().findIndex((each) => each.dataset.id === kept);
  stand(again >= 0 ? again : place);
  return true;
}

/** @param {string} text */
function say(text) {
  const line = document.createElement("p");
  line.textContent = text;
  live.replaceChildren(line);
}

function isWriting() {
  const at = document.activeElement;
  if (at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement) return true;
  return at instanceof HTMLInputElement && at.type !== "checkbox";
}

async function look() {
  if (busy || document.hidden || isWriting()) return;
  try {
    const space = encodeURIComponent(queue().dataset.space ?? "");
    const answer = await fetch(`/review/head?space=${space}`);
    if (!answer.ok) return;
    const { head } = await answer.json();
    if (String(head) === queue().dataset.head || busy || isWriting()) return;
    const page = await fetch(location.href.replace(/&(done|ids)=[^&]*/g, ""));
    if (page.ok && !busy && !isWriting() && replaceBy(await page.text(), false)) say(live.dataset.changed ?? "");
  } catch {
    // The server does not answer; the next poll tries again.
  }
}

/** @param {SubmitEvent} event */
async function decide(event) {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "post" || form.closest("#queue") === null) return;
  event.preventDefault();
  const fields = new FormData(form, event.submitter);
  busy = true;
  try {
    const body = new URLSearchParams();
    for (const [name, value] of fields) body.append(name, String(value));
    const answer = await fetch(form.action, { method: "POST", body });
    const text = await answer.text();
    if (!replaceBy(text, true)) {
      const page = new DOMParser().parseFromString(text, "text/html");
      say(page.querySelector(".warning")?.textContent ?? live.dataset.failed ?? "");
    }
  } catch {
    say(live.dataset.failed ?? "");
  } finally {
    busy = false;
  }
}

/**
 * Go to the reason field of the current item; Enter there decides.
 * @param {string} verdict
 */
function reason(verdict) {
  const here = waiting()[place];
  const button = here?.querySelector(`form.verdict button[value="${verdict}"]`);
  const field = here?.querySelector("form.verdict input[data-key=reason]");
  if (!(button instanceof HTMLButtonElement) || !(field instanceof HTMLInputElement)) return;
  if (field.value === "") field.value = field.dataset.default ?? "";
  field.focus();
  field.select();
  field.onkeydown = (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      field.form?.requestSubmit(button);
    } else if (event.key === "Escape") {
      event.preventDefault();
      stand(place);
    }
  };
}

/** @param {string} selector */
function go(selector) {
  const found = waiting()[place]?.querySelector(selector);
  if (found instanceof HTMLElement) found.focus();
}

/**
 * Decide by the button with a number.
 * @param {number} number
 */
function press(number) {
  const button = waiting()[place]?.querySelector(`button[data-number="${number}"]`);
  if (button instanceof HTMLButtonElement) button.click();
}

/** @type {Record<string, () => void>} */
const KEYS = {
  j: () => stand(place + 1),
  k: () => stand(place - 1),
  a: () => reason("accept"),
  r: () => reason("reject"),
  w: () => go("input[data-key=w]"),
  m: () => reason("merge"),
  s: () => reason("separate"),
  1: () => press(1),
  2: () => press(2),
  3: () => press(3),
  x: () => {
    const box = waiting()[place]?.querySelector(".pick input");
    if (box instanceof HTMLInputElement) box.checked = !box.checked;
  },
  e: () => {
    const edit = waiting()[place]?.querySelector("details.edit");
    if (edit instanceof HTMLDetailsElement) {
      edit.open = true;
      const first = edit.querySelector("textarea, select, input:not([type=hidden])");
      if (first instanceof HTMLElement) first.focus();
    }
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isWriting()) return;
  const act = KEYS[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
});
document.addEventListener("submit", (event) => void decide(event));
setInterval(() => void look(), EVERY);
stand(0);
