// Runs before the first paint, so that the dark theme does not start with a white flash.
(function () {
  try {
    const theme = localStorage.getItem("plait.theme");
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch {
    // If storage is blocked, the system theme is used.
  }
})();
