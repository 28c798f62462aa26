// Before anything is drawn, so that nobody who chose dark sees a white flash.
(function () {
  try {
    const theme = localStorage.getItem("plait.theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; then the system's theme is used.
  }
})();
