
// The hits of desk_search; what is at an address is read and shown below its hit.
const hits = element("ol", { className: "hits" });

function draw(answer) {
  const { nearest, searched = [], unsearched = {} } = answer;
  const left = Object.entries(unsearched).map(([kind, reason]) => ` Not every ${kind} was searched: ${reason}`);
  const none = `Nothing has these words${searched.length ? ` in ${searched.join(", ")}` : ""}.` + (nearest ? ` Did you mean ${nearest}?` : "");
  say([answer.hits.length ? "" : none, ...left].join(""));
  hits.replaceChildren(...answer.hits.map(drawHit));
  const rest = more(answer, "More", (page) => hits.append(...page.hits.map(drawHit)));
  VIEW.replaceChildren(hits, ...(rest ? [rest] : []));
}

function drawHit(hit) {
  const title = hit.title ?? hit.uri ?? hit.kind;
  const lines = hit.lines && element("pre", {}, hit.lines);
  const about = element("small", {}, [hit.by, moment(hit.at), hit.superseded_by && `superseded by ${hit.superseded_by}`].filter(Boolean).join(", "));
  const item = element("li", {}, element("span", { className: "kind" }, hit.kind), " ", element("strong", {}, title), about, lines);
  if (hit.uri) item.append(opener(hit.uri, title));
  return item;
}

// What opens an address: the host a web page; what is ours is read and shown below.
function opener(uri, title) {
  const isOurs = !/^https?:/i.test(uri);
  const open = button("Open", title, async () => {
    if (!isOurs) {
      const result = await request("ui/open-link", { url: uri });
      if (result.isError) throw new Error(`The host did not open ${uri}`);
      return;
    }
    const shown = open.nextElementSibling;
    if (shown?.matches(".opened")) shown.remove();
    else open.after(drawThing(await call("desk_read", { uri })));
    open.ariaExpanded = String(open.nextElementSibling?.matches(".opened") ?? false);
  });
  if (isOurs) open.ariaExpanded = "false";
  return open;
}

function drawThing(answer) {
  const text = element("pre", {}, linesOf(answer).join("\n"));
  const links = (answer.links ?? []).map((one) => {
    const title = one.title ?? one.uri;
    return element("li", {}, `${one.relation} ${title} `, opener(one.uri, title));
  });
  const rest = more(answer, "Read on", (page) => text.append("\n", linesOf(page).join("\n")));
  return element("div", { className: "opened" }, answer.became && element("p", {}, answer.became), text, rest, links.length ? element("ul", {}, links) : null);
}
