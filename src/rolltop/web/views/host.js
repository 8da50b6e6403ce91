// What the views share: the host's messages, tools called through it, what their answers show.
"use strict";

const VIEW = document.getElementById("view");
const waiting = new Map(); // by id, the requests without an answer
let sent = 0;
let host = {};

function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  return new Promise((resolve, reject) => {
    waiting.set(++sent, { resolve, reject });
    send({ id: sent, method, params });
  });
}

const notifications = {
  "ui/notifications/tool-result": (result) => attempt(VIEW, () => drawResult(result)),
  "ui/notifications/tool-cancelled": () => say("The call was cancelled."),
  "ui/notifications/host-context-changed": follow,
};

addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  const params = data.params ?? {};
  if (data.method === undefined) {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) one?.reject(new Error(data.error.message));
    else one?.resolve(data.result);
  } else if (data.id === undefined) notifications[data.method]?.(params);
  else if (["ping", "ui/resource-teardown"].includes(data.method)) send({ id: data.id, result: {} });
  else send({ id: data.id, error: { code: -32601, message: "This view does not know that" } });
});

// The theme and the colours of the host.
function follow({ theme, styles }) {
  const { style } = document.documentElement;
  if (theme) style.colorScheme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) style.setProperty(name, value ?? "");
}

function say(text) {
  document.getElementById("status").textContent = text;
}

async function drawResult(result) {
  say("");
  await draw(readAnswer(result));
}

function readAnswer(result) {
  const text = result.content?.find((one) => one.type === "text")?.text ?? "";
  let answer = result.structuredContent;
  try {
    answer ??= JSON.parse(text);
  } catch {
    throw new Error(text || "The answer is empty.");
  }
  if (!result.isError) return answer;
  const { message, hint } = answer.error?.message ? answer.error : { ...answer, message: answer.error };
  throw Object.assign(new Error([message, hint].filter(Boolean).join(". ")), { answer });
}

async function call(name, given) {
  if (!host.hostCapabilities?.serverTools) throw new Error("This host lets its views call no tools.");
  let result;
  try {
    result = await request("tools/call", { name, arguments: given });
  } catch (refused) {
    throw new Error(`The host refused ${name}: ${refused.message}`);
  }
  return readAnswer(result);
}

// Whatever an agent wrote is a child that is a string: it becomes text, never markup.
function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.flat().filter((one) => one !== undefined && one !== null && one !== ""));
  return made;
}

// `of` completes the label for who does not see where the button stands.
function button(label, of, act) {
  const made = element("button", { type: "button", className: "quiet", ariaLabel: `${label} ${of}`.trim() }, label);
  let isBusy = false;
  made.onclick = async () => {
    if (isBusy) return;
    isBusy = true;
    await attempt(made, act);
    isBusy = false;
  };
  return made;
}

// Do it, and say beside the element why it failed.
async function attempt(at, act) {
  at.parentNode?.querySelector(":scope > .problem")?.remove();
  try {
    await act();
  } catch (failure) {
    (failure.at ?? at).after(element("p", { className: "problem", role: "alert" }, failure.message));
  }
}

// The button that goes on with a truncated answer, if it is one.
function more({ next, meta }, label, extend) {
  next ??= meta?.next;
  if (!next) return null;
  const made = button(label, "", async () => {
    const answer = await call(next.tool, next.arguments);
    const after = more(answer, label, extend);
    made.replaceWith(...(after ? [after] : []));
    await extend(answer, after);
  });
  return made;
}

function moment(at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

// The text of what desk_read opened, or of the file, document or cell that another tool reads on in,
// or the answer's fields, as lines.
function linesOf(answer) {
  const text = answer.text ?? answer.content ?? answer.result?.text ?? answer.scratchpad?.cells?.[0]?.content;
  if (typeof text === "string") return text.replace(/\n$/, "").split("\n");
  const { uri, kind, title, became, links, next, next_cursor, truncated, task, data, ...fields } = answer;
  const { version, updated_at, ...shown } = task ?? data ?? fields;
  return Object.entries(shown).flatMap(([name, value]) =>
    `${name}: ${typeof value === "string" ? value : JSON.stringify(value, null, 1)}`.split("\n"),
  );
}

const size = new ResizeObserver(() => {
  const { width, height } = document.body.getBoundingClientRect();
  send({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
});

addEventListener("DOMContentLoaded", () =>
  attempt(VIEW, async () => {
    host = await request("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "rolltop", version: "1" },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    });
    follow(host.hostContext ?? {});
    send({ method: "ui/notifications/initialized", params: {} });
    size.observe(document.body);
  }),
);
