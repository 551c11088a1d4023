// @ts-check
// Play a world over time: a slider over its ticks, and a button that advances it.

const STEPS = 40;
const PAUSE = 900;
const form = document.getElementById("ticks");
const field = document.getElementById("tick");

if (form instanceof HTMLFormElement && field instanceof HTMLInputElement) {
  const now = Number(form.dataset.now);
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = String(now);
  slider.step = String(Math.max(1, Math.round(now / 1000)));
  slider.value = field.value;
  slider.setAttribute("aria-label", form.querySelector("label")?.textContent ?? "");
  slider.addEventListener("input", () => {
    field.value = slider.value;
  });
  slider.addEventListener("change", () => void show(Number(slider.value)));
  const play = document.createElement("button");
  play.type = "button";
  play.textContent = form.dataset.play ?? "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const step = async () => {
    const next = Number(field.value) + Math.max(1, Math.round(now / STEPS));
    await show(Math.min(next, now));
    timer = next < now ? setTimeout(() => void step(), PAUSE) : undefined;
    play.textContent = (timer === undefined ? form.dataset.play : form.dataset.stop) ?? "";
  };
  play.addEventListener("click", () => {
    if (timer !== undefined) {
      clearTimeout(timer);
      timer = undefined;
      play.textContent = form.dataset.play ?? "";
      return;
    }
    if (Number(field.value) >= now) field.value = "0";
    void step();
  });
  form.append(slider, play);

  /** @param {number} tick */
  const show = async (tick) => {
    field.value = slider.value = String(tick);
    const asked = new URLSearchParams([...new FormData(form)].map(([k, v]) => [k, String(v)]));
    const page = await fetch(`/map?${asked}`);
    if (!page.ok) return;
    const drawn = new DOMParser().parseFromString(await page.text(), "text/html");
    for (const each of ["svg.map", "ul.cards"]) {
      const next = drawn.querySelector(each);
      if (next !== null) document.querySelector(each)?.replaceWith(document.adoptNode(next));
    }
    history.replaceState(null, "", `/map?${asked}`);
  };
}
