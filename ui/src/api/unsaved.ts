/** Input that a reload would lose: open dialogs, edited fields, selected rows, and the position in a long list. */

const edited = new Set<HTMLElement>();
const QUIET_MS = 3000;
let lastInput = 0;

/** Whether the page may be reloaded without losing input, and the user is not active right now. */
export function isIdle(): boolean {
  return !hasUnsavedInput() && Date.now() - lastInput >= QUIET_MS;
}

export function hasUnsavedInput(): boolean {
  if (document.querySelector("dialog[open]")) return true;
  if ([...document.querySelectorAll(".table")].some(({ scrollTop }) => scrollTop > 0)) return true;
  for (const field of edited) if (!field.isConnected) edited.delete(field);
  return [...edited].some(isUnsaved);
}

function isUnsaved(field: HTMLElement): boolean {
  if (field.closest("form, .fields")) return true;
  if (!(field instanceof HTMLInputElement)) return false;
  // The text of search fields and the options of the page are kept in the URL.
  if (field.type === "checkbox") return field.checked && field.closest("[role=row]") !== null;
  return field.type !== "search" && field.type !== "radio" && field.value !== "";
}

export function watchInput(): () => void {
  const onInput = (event: Event) => {
    if (event.target instanceof HTMLElement) edited.add(event.target);
  };
  const onUse = () => {
    lastInput = Date.now();
  };
  document.addEventListener("input", onInput, true);
  for (const kind of USES) document.addEventListener(kind, onUse, { capture: true, passive: true });
  return () => {
    document.removeEventListener("input", onInput, true);
    for (const kind of USES) document.removeEventListener(kind, onUse, true);
  };
}

const USES = ["pointerdown", "keydown", "wheel"] as const;
