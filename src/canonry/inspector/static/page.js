// @ts-check
// Controls of every page: sliders for its two times, and ids that can be copied.

/**
 * @param {number} milliseconds since 1970, which may lie far before it
 * @returns {string} the instant as RFC 3339, without fractions
 */
function spelled(milliseconds) {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

/** @param {HTMLInputElement} field */
function addSlider(field) {
  const first = Number(field.dataset.first);
  const last = Number(field.dataset.last);
  if (!Number.isFinite(first) || !Number.isFinite(last) || !(last > first)) return;
  if (Math.abs(first) > 8.6e15 || Math.abs(last) > 8.6e15) return;
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = "1000";
  const now = Date.parse(field.value);
  slider.value = Number.isNaN(now) ? "1000" : String(Math.round(((now - first) / (last - first)) * 1000));
  slider.setAttribute("aria-label", field.dataset.label ?? "");
  const tell = () => slider.setAttribute("aria-valuetext", field.value || field.placeholder);
  tell();
  slider.addEventListener("input", () => {
    const part = Number(slider.value) / 1000;
    field.value = part >= 1 ? "" : spelled(Math.round(first + part * (last - first)));
    tell();
  });
  slider.addEventListener("change", () => field.form?.requestSubmit());
  field.after(slider);
}

/** @param {HTMLElement} code */
function addCopy(code) {
  if (!navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = code.dataset.label ?? "";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.dataset.copy ?? "");
    button.textContent = code.dataset.copied ?? "";
  });
  code.after(button);
}

for (const field of document.querySelectorAll("input[data-first]")) {
  if (field instanceof HTMLInputElement) addSlider(field);
}
for (const code of document.querySelectorAll("[data-copy]")) {
  if (code instanceof HTMLElement) addCopy(code);
}
for (const form of document.querySelectorAll("form[method=get]")) {
  // The address holds only the given parameters.
  form.addEventListener("formdata", (event) => {
    const { formData } = /** @type {FormDataEvent} */ (event);
    for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
  });
}
document.addEventListener("keydown", (event) => {
  const at = event.target;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement) return;
  event.preventDefault();
  document.getElementById("quick")?.focus();
});
