// Search as one types, and times as this clock shows them. The page works without.
"use strict";

const TYPING_PAUSE = 150;

// Put the parts with these ids of the page at `url` in the place of ours.
async function refresh(url, ids) {
  const response = await fetch(url, { headers: { accept: "text/html" } });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const id of ids) {
    const [ours, theirs] = [document.getElementById(id), page.getElementById(id)];
    if (ours && theirs) ours.replaceWith(theirs);
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
  let latest = "";
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      latest = `/search?${new URLSearchParams({ q: input.value })}`;
      if (document.getElementById("results")) await refresh(latest, ["results"]);
    }, TYPING_PAUSE);
  });
}

showLocalTimes();
document.querySelectorAll("form[role=search] input").forEach(searchWhileTyping);
