
// The entries of desk_history: the lines that each changed, and taking its operation back.
const MAX_PAIRS = 1_000_000; // of lines that are compared with each other
const CONTEXT = 3;
const CLASSES = { "+": "added", "-": "removed", "@": "position" };
const list = element("ol", { className: "hits" });

function draw(answer) {
  if (!answer.changes.length) say("Nothing was changed.");
  list.replaceChildren(...answer.changes.map(drawChange));
  const rest = more(answer, "Older", (page) => list.append(...page.changes.map(drawChange)));
  VIEW.replaceChildren(list, ...(rest ? [rest] : []));
}

function drawChange(change) {
  const { uri, sequence, operation, undone_by } = change;
  const about = [change.by, change.tool, moment(change.at), uri, undone_by && `undone by ${undone_by}`];
  const item = element("li", {}, element("strong", {}, change.summary), element("small", {}, about.filter(Boolean).join(", ")));
  item.dataset.operation = operation;
  const [thing, version] = (uri ?? "").split("@");
  if (version) item.append(comparer(thing, Number(version), sequence));
  if (!undone_by) item.append(" ", undoer(operation, sequence));
  return item;
}

function comparer(thing, version, sequence) {
  const compare = button("Lines", `of change ${sequence}`, async () => {
    const shown = compare.parentNode.querySelector(".diff");
    if (shown) shown.remove();
    else {
      const [before, after] = await Promise.all([version > 1 ? read(thing, version - 1) : {}, read(thing, version)]);
      const lines = compareLines(before.uri ? linesOf(before) : [], linesOf(after));
      if (before.truncated || after.truncated) lines.push("@ longer than an answer: only the beginning is compared");
      const spans = lines.map((line) => element("span", { className: CLASSES[line[0]] ?? "same" }, `${line}\n`));
      compare.parentNode.append(element("pre", { className: "diff", tabIndex: 0, role: "group", ariaLabel: `Lines of change ${sequence}` }, spans));
    }
    compare.ariaExpanded = String(!shown);
  });
  compare.ariaExpanded = "false";
  return compare;
}

async function read(thing, version) {
  const answer = await call("desk_read", { uri: `${thing}@${version}` });
  if (answer.uri !== `${thing}@${version}`) throw new Error(`Version ${version} is no longer kept.`);
  return answer;
}

// Lines as `diff -u` shows them; of texts that differ much, all old ones before all new ones.
function compareLines(before, after) {
  const least = Math.min(before.length, after.length);
  let head = 0;
  let tail = 0;
  while (head < least && before[head] === after[head]) head++;
  while (tail < least - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const old = before.slice(head, before.length - tail);
  const now = after.slice(head, after.length - tail);
  const lines = before.slice(0, head).map((line) => ` ${line}`);
  const common = old.length * now.length > MAX_PAIRS ? null : commonLengths(old, now);
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const isEqual = common && i < old.length && j < now.length && old[i] === now[j];
    if (isEqual) {
      lines.push(` ${old[i++]}`);
      j++;
    } else if (i < old.length && (!common || j === now.length || common[i + 1][j] >= common[i][j + 1])) lines.push(`-${old[i++]}`);
    else lines.push(`+${now[j++]}`);
  }
  lines.push(...before.slice(before.length - tail).map((line) => ` ${line}`));
  return leaveOutEqual(lines);
}

// By place in both, how many lines the longest common row of the rest has.
function commonLengths(old, now) {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      lengths[i][j] = old[i] === now[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  return lengths;
}

function leaveOutEqual(lines) {
  const isNear = (_, i) => lines.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some((line) => line[0] !== " ");
  const near = lines.map(isNear);
  return lines.flatMap((line, i) => (near[i] ? [line] : near[i - 1] ?? true ? ["@ …"] : []));
}

// Show what would be put back, and ask, before it is.
function undoer(operation, sequence) {
  const undo = button("Undo", `change ${sequence}`, async () => {
    const tried = await call("desk_undo", { operation, dry_run: true });
    const skipped = (tried.skipped ?? []).map((one) => `${one.operation}: ${one.reason}`).join("; ");
    const leave = button("Leave it as it is", "", () => (asked.replaceWith(undo), undo.focus()));
    const take = button("Undo now", "", async () => {
      const { operation: by } = await call("desk_undo", { operation });
      for (const item of list.querySelectorAll("[data-operation]")) {
        if (item.dataset.operation !== operation) continue;
        item.querySelector(".asked, .undo")?.replaceWith(element("em", {}, `undone by ${by}`));
      }
      say(`Change ${sequence} was undone.`);
    });
    const things = element("ul", {}, tried.undone.map((uri) => element("li", {}, uri)));
    const isAnything = tried.undone.length > 0;
    const text = isAnything ? "These would be put back as they were:" : `Nothing is left to take back. ${skipped}`;
    const asked = element("div", { className: "asked" }, text, things, isAnything ? take : null, " ", leave);
    undo.replaceWith(asked);
    asked.querySelector("button").focus();
  });
  undo.classList.add("undo");
  return undo;
}
