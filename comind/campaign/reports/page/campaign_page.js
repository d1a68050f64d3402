"use strict";
(() => {
  const find = (fragment) => {
    const name = fragment.slice(1);
    const numbered = name.replace(/-(\d+)$/, (_, number) => "-" + number.padStart(3, "0"));
    return document.getElementById(name) || document.getElementById(numbered);
  };

  // Open the details that a link leads to, and those around it.
  const show = () => {
    if (location.hash.length < 2) return;
    const target = find(location.hash);
    if (!target) return;
    for (let each = target; each; each = each.parentElement) {
      if (each.tagName === "DETAILS") each.open = true;
    }
    target.scrollIntoView({ block: "start" });
    const focused = target.querySelector("summary") || target;
    focused.focus({ preventScroll: true });
  };

  // A message that is shown elsewhere is copied as text when it is opened.
  const fill = (details) => {
    const source = document.getElementById(details.dataset.message);
    if (!source || details.querySelector("pre")) return;
    for (const each of source.querySelectorAll("pre, .cut")) {
      const copy = document.createElement(each.tagName);
      copy.className = each.className;
      copy.textContent = each.textContent;
      details.append(copy);
    }
  };

  document.addEventListener("toggle", (event) => {
    const details = event.target;
    if (!details.open) return;
    if (details.dataset.message) fill(details);
    const chosen = find(location.hash);
    if (!details.classList.contains("work") || (chosen && details.contains(chosen))) return;
    history.replaceState(null, "", "#" + details.id);
  }, true);

  // Arrow keys move between the rows of a list.
  document.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const row = event.target.closest("details.work > summary");
    if (!step || !row || event.altKey || event.ctrlKey || event.metaKey) return;
    const rows = [...document.querySelectorAll("details.work > summary")];
    const next = rows[rows.indexOf(row) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });

  window.addEventListener("hashchange", show);
  window.addEventListener("DOMContentLoaded", show);
})();
