// Reads the page anew from time to time, in place: what is open stays open, and nobody who is typing or selecting is disturbed.
// When it cannot, it says since when the page is old. Without this script a page still does all that it does.
(() => {
  "use strict";
  document.querySelector(".rooms [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  const seconds = Number(document.body.dataset.refresh);
  if (!seconds) return;
  let since = null;

  const busy = () => {
    const main = document.getElementById("main");
    const focused = document.activeElement;
    const typing = focused && main.contains(focused) && focused.matches("input, select, textarea");
    const selected = window.getSelection();
    return document.hidden || typing || Boolean(selected && !selected.isCollapsed);
  };

  const tell = (text) => {
    const place = document.getElementById("fresh");
    if (place && place.textContent !== text) place.textContent = text;
  };

  const swap = (fresh) => {
    const old = document.getElementById("main");
    const next = fresh.getElementById("main");
    if (!old || !next) return false;
    const open = [...old.querySelectorAll("details")].map((one) => one.open);
    const scrolled = [...old.querySelectorAll(".wide, .days, .journey")].map((one) => one.scrollLeft);
    const focused = [...old.querySelectorAll("a, button, summary, [tabindex]")].indexOf(document.activeElement);
    next.querySelectorAll("details").forEach((one, place) => { if (open[place]) one.open = true; });
    old.replaceWith(document.adoptNode(next));
    next.querySelectorAll(".wide, .days, .journey").forEach((one, place) => { one.scrollLeft = scrolled[place] || 0; });
    if (focused >= 0) next.querySelectorAll("a, button, summary, [tabindex]")[focused]?.focus({ preventScroll: true });
    const foot = fresh.querySelector(".foot time");
    if (foot) document.querySelector(".foot time")?.replaceWith(document.adoptNode(foot));
    return true;
  };

  const refresh = async () => {
    if (busy()) return;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      if (answer.redirected && new URL(answer.url).pathname !== location.pathname) { location.reload(); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (busy() || !swap(fresh)) return;
      since = null;
      tell("");
    } catch {
      since = since || new Date();
      tell(`This page is old: it could not be read anew since ${since.toLocaleTimeString()}.`);
    }
  };

  setInterval(refresh, seconds * 1000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
})();
