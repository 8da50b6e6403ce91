
// The tasks of list_tasks by how far they are; a + says that there are more than were loaded.
const COLUMNS = { ready: "Ready", in_work: "In work", blocked: "Blocked", done: "Done" };
const END_OF_DAY = "T23:59:59.999999Z"; // a day is the same one by every clock
const tasks = new Map(); // by id, those of the list
const blockers = new Map(); // by id, those that others of them wait for
let rest = null; // the button that loads more

async function draw(answer) {
  tasks.clear();
  rest = more(answer, "Load more", (page, after) => {
    rest = after;
    return add(page);
  });
  await add(answer);
}

async function add({ data, hint }) {
  for (const task of data) tasks.set(task.task_id, task);
  say(hint ?? "");
  redraw();
  const waiting = [...tasks.values()].flatMap((task) => (task.status === "pending" && task.blocked_by) || []);
  const unknown = [...new Set(waiting)].filter((id) => !tasks.has(id) && !blockers.has(id));
  if (!unknown.length) return;
  const found = await Promise.allSettled(unknown.map((task_id) => call("get_task", { task_id })));
  for (const { value } of found) if (value) blockers.set(value.data.task_id, value.data);
  redraw();
  const refused = found.find((one) => one.reason);
  if (refused) throw refused.reason;
}

function waitsFor(task) {
  const known = (task.blocked_by ?? []).map((id) => tasks.get(id) ?? blockers.get(id) ?? { title: id });
  return known.filter((one) => one.status !== "completed");
}

function columnOf(task) {
  if (task.status === "completed") return "done";
  if (task.claim || task.released) return "in_work";
  return waitsFor(task).length ? "blocked" : "ready";
}

function redraw() {
  const all = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, []]));
  for (const task of tasks.values()) all[columnOf(task)].push(drawCard(task));
  const board = Object.entries(COLUMNS).map(([name, title]) => {
    const count = element("span", { className: "count" }, `${all[name].length}${rest ? "+" : ""}`);
    const heading = element("h2", {}, title, " ", count);
    return element("section", { ariaLabel: title }, heading, element("ul", { className: "cards" }, all[name]));
  });
  VIEW.replaceChildren(element("div", { className: "board" }, board), ...(rest ? [element("p", {}, "+ means that there are more. "), rest] : []));
}

function drawCard(task) {
  const isDone = task.status === "completed";
  const { assignee, claim, released, priority, due_at, evidence } = task;
  const about = [
    priority === undefined ? "" : `priority ${priority}`,
    due_at && `due ${due_at.endsWith(END_OF_DAY) ? due_at.replace(END_OF_DAY, "") : moment(due_at)}`,
    assignee && `for ${assignee}`,
    claim && `${claim.by ?? "a client"} until ${moment(claim.expires_at)}`,
    released,
    evidence && `evidence ${evidence}`,
    columnOf(task) === "blocked" && `waits for ${waitsFor(task).map((one) => one.title).join(", ")}`,
  ];
  const act = button(isDone ? "Reopen" : "Complete", task.title, async () => {
    try {
      const changed = await call(isDone ? "reopen_task" : "complete_task", { task_id: task.task_id, if_version: task.version });
      replace(changed.data);
    } catch (failure) {
      const now = failure.answer?.data; // the task as it is, where somebody else was faster
      if (now?.task_id === task.task_id) failure.at = replace(now);
      throw failure;
    }
  });
  const card = element("li", {}, element("strong", {}, task.title), element("small", {}, about.filter(Boolean).join(" · ")), act);
  card.dataset.task = task.task_id;
  return card;
}

// Show a task as it is now; return its button, which keeps the focus.
function replace(task) {
  tasks.set(task.task_id, task);
  redraw();
  const made = [...VIEW.querySelectorAll("[data-task]")].find((one) => one.dataset.task === task.task_id).querySelector("button");
  made.focus();
  return made;
}
