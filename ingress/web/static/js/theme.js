// Runs before the style sheets, so that the page never flashes in the wrong theme.
"use strict";
(function () {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  function chosen() {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null;
    }
  }
  function apply() {
    const theme = chosen() || (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = theme;
  }
  window.toggleTheme = function () {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    const isSystem = (next === "dark") === system.matches;
    try {
      isSystem ? localStorage.removeItem("theme") : localStorage.setItem("theme", next);
    } catch {
      /* not kept */
    }
    document.documentElement.dataset.theme = next;
  };
  system.addEventListener("change", apply);
  apply();
})();
