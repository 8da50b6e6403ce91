// Search as one types, lists that follow the journal, cards that can be dragged, forms that are sent
// once, times by this clock. The page works without.
"use strict";

const TYPING_PAUSE = 150;
const CHANGES_PAUSE = 300;
const FOLLOW_PAUSE = 5000;
const PRESS_PAUSE = 2000;

const shown = new Map(); // by id, the number of the request whose answer it shows
let sent = 0;

// Put the parts with these ids of the page at `url` in the place of ours.
async function refresh(url, ids) {
  const number = ++sent;
  let [text, isFound] = ["", false];
  try {
    const response = await fetch(url, { headers: { accept: "text/html" } });
    [text, isFound] = [await response.text(), response.ok];
  } catch {
    return; // the server is away, or the page is being left
  }
  const page = new DOMParser().parseFromString(text, "text/html");
  if (!isFound) {
    if (!ids.includes("results") || number < (shown.get("results") ?? 0)) return;
    shown.set("results", number);
    const reason = page.querySelector("main [role=alert], main h1")?.textContent ?? "";
    document.getElementById("results").textContent = reason;
    return;
  }
  for (const id of ids) {
    if (number < (shown.get(id) ?? 0)) continue; // a newer answer was faster
    const [ours, theirs] = [document.getElementById(id), page.getElementById(id)];
    if (!ours || !theirs) continue;
    // What somebody is at with the keyboard or drags stays until it is left, but for what opens more.
    const at = [...ours.querySelectorAll("summary")].indexOf(document.activeElement);
    if (at < 0 && ours.contains(document.activeElement)) continue;
    if (ours.querySelector("[data-dragged]")) continue;
    shown.set(id, number);
    const newer = document.importNode(theirs, true);
    const opened = [...ours.querySelectorAll("details")].map((part) => part.open);
    newer.querySelectorAll("details").forEach((part, place) => (part.open = opened[place]));
    ours.replaceWith(newer);
    newer.querySelectorAll("summary")[at]?.focus();
  }
  showLocalTimes();
}

function showLocalTimes() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
}

function searchWhileTyping(input) {
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const url = `/search?${new URLSearchParams({ q: input.value })}`;
      if (document.getElementById("results")) refresh(url, ["results"]);
    }, TYPING_PAUSE);
  });
}

// One stream for the page that is looked at: a browser opens few connections to a host.
function followChanges() {
  let source = null;
  let timer = 0;
  let following = 0;
  const update = () => {
    const ids = [...document.querySelectorAll("[data-live]")].map((part) => part.id);
    clearTimeout(timer);
    timer = setTimeout(() => refresh(location.href, ids), CHANGES_PAUSE);
  };
  const follow = () => {
    clearTimeout(following);
    if (document.hidden && source) {
      source.close();
      source = null;
    } else if (!document.hidden && !source) {
      source = new EventSource("/events");
      source.addEventListener("message", update);
      source.addEventListener("open", update);
      source.addEventListener("error", () => {
        // A browser asks again after a lost connection, but not after an answer such as 503.
        if (!source || source.readyState !== EventSource.CLOSED) return;
        source = null;
        following = setTimeout(follow, FOLLOW_PAUSE);
      });
    }
  };
  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", () => source && source.close());
  follow();
}

// Dropping a card presses the button that stands on it.
function dragCards() {
  let card = null;
  document.addEventListener("dragstart", (event) => {
    card = event.target.closest ? event.target.closest("[draggable]") : null;
    if (card) card.dataset.dragged = "";
  });
  document.addEventListener("dragend", () => {
    if (card) delete card.dataset.dragged;
  });
  document.addEventListener("dragover", (event) => {
    if (card && event.target.closest("[data-column]")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    const column = event.target.closest("[data-column]");
    const button = card && card.querySelector("button");
    if (!column || !button) return;
    event.preventDefault();
    const [from, to] = [card.closest("[data-column]"), column.dataset.column];
    if (from !== column && (to === "done") === (button.value === "complete")) button.click();
  });
}

// Who presses a button twice means it once.
function sendOnce() {
  let button = null;
  let pressed = 0;
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    const isAgain = event.submitter && event.submitter === button;
    if (isAgain && event.timeStamp - pressed < PRESS_PAUSE) event.preventDefault();
    else [button, pressed] = [event.submitter, event.timeStamp];
  });
}

// On the way back a browser loads a page anew and puts into its form what was typed there: that was
// made from what the page showed then, with which what others wrote meanwhile is in conflict.
function keepBases() {
  for (const form of document.forms) {
    if (!form.querySelector("[name^=base_]")) continue;
    const bases = [...form.querySelectorAll("[name=version], [name^=base_]")];
    const isTyped = [...form.querySelectorAll("input, textarea")].some(
      (one) => one.type !== "hidden" && (one.value !== one.defaultValue || one.checked !== one.defaultChecked),
    );
    const values = (isTyped && history.state) || bases.map((one) => one.value);
    bases.forEach((one, place) => (one.value = values[place]));
    history.replaceState(values, "");
  }
}

showLocalTimes();
sendOnce();
for (const name of ["pageshow", "hashchange"]) window.addEventListener(name, keepBases);
document.querySelectorAll("form[role=search] input").forEach(searchWhileTyping);
if (document.querySelector("[data-follows] [data-live]")) followChanges();
if (document.getElementById("board")) dragCards();
