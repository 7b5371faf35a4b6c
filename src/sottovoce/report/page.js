"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (event) => {
    const mark = event.target.closest && event.target.closest("[data-tip]");
    if (!mark) { tip.hidden = true; return; }
    tip.textContent = mark.dataset.tip;
    tip.hidden = false;
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(8, Math.min(room, event.clientX + 12)) + "px";
    tip.style.top = Math.max(8, event.clientY - tip.offsetHeight - 12) + "px";
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
  // a plan's epsilon, moved: the chart's line and a sentence go with it
  const slider = document.getElementById("epsilon");
  if (slider) {
    const places = slider.dataset.places.split(" "), sentences = slider.dataset.sentences.split("|");
    const line = document.getElementById("here"), cost = document.getElementById("cost");
    slider.addEventListener("input", () => {
      line.setAttribute("x1", places[slider.value]);
      line.setAttribute("x2", places[slider.value]);
      cost.textContent = sentences[slider.value];
    });
  }
  // the styled tip replaces the browser's own; without this script the titles remain
  document.querySelectorAll("svg title").forEach((title) => title.remove());
})();
