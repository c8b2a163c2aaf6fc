"use strict";
/* The page: what the server tells is put into it as text, never as HTML. */

const $ = id => document.getElementById(id);
const store = new Store();
let status = {}, test = {}, rows = null, socket = null, retry = 250, dirty = true;
let paused = null, zoom = null, lateness = null, ticket = null, ticketLasts = 0, shownReport = "";

const plots = {
  target: new TimePlot($("plot-target"), "Target and measured"), gap: new TimePlot($("plot-gap"), "Gap"), energy: new TimePlot($("plot-energy"), "Energy error"),
  any: new TimePlot($("plot-any"), "Any channel"), subspace: new PairPlot($("plot-subspace"), "Synchronisation"), hysteresis: new PairPlot($("plot-hysteresis"), "Hysteresis"),
  shape: new ShapePlot($("plot-shape"), "Deformed shape"), lateness: new BarPlot($("plot-lateness"), "Latency of ticks"), spectrum: new SpectrumPlot($("plot-spectrum"), "Spectrum"),
};
const timed = [plots.target, plots.gap, plots.energy, plots.any];

/* --- small things ---------------------------------------------------------------------------------------------------- */

function put(id, text) { const place = $(id); if (place.textContent !== text) place.textContent = text; }
function element(tag, text, ...inner) { const made = document.createElement(tag); if (text) made.textContent = text; made.append(...inner); return made; }
function figures(place, entries) { place.replaceChildren(...entries.filter(([, text]) => text !== null).flatMap(([name, text]) => [element("dt", name), element("dd", text)])); }
const micro = value => value == null ? null : `${(1e6 * value).toFixed(1)} µs`;
const count = value => value == null ? null : String(Math.round(value));
const bytes = value => value == null ? null : value >= 1e9 ? `${(value / 1e9).toFixed(1)} GB` : value >= 1e6 ? `${(value / 1e6).toFixed(1)} MB` : `${(value / 1e3).toFixed(1)} kB`;
function span(seconds) {
  if (seconds == null) return "";
  return seconds >= 3600 ? `${Math.floor(seconds / 3600)} h ${Math.round(seconds % 3600 / 60)} min` : seconds >= 120 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s` : `${seconds.toFixed(1)} s`;
}
function complain(text) { put("answer", text); $("answer").hidden = !text; }

/* --- the operator's words -------------------------------------------------------------------------------------------- */

async function ask(path, body) {
  try {
    const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), credentials: "same-origin" });
    const found = await answer.json();
    complain(found.refused || "");
    return found;
  } catch (error) { complain("The page's server does not respond: use the terminal, or the rig's emergency stop."); return {}; }
}
const say = (word, more = {}) => { document.body.dataset.said = status.time; return ask("/word", { word, ...more }); };

const QUESTIONS = {
  arm: ["Arming takes control of the rig: it holds its position. Is everyone clear of it?", "Yes, arm the rig"],
  start: ["Starting moves the rig. Is everyone clear of it?", "Yes, start the test"],
};
async function first(word) {
  ticket = null;
  const found = await say(word);
  if (!found.ticket) return;
  ticket = { word, ticket: found.ticket }; ticketLasts = Date.now() + 10000;
  put("confirm-text", QUESTIONS[word][0]); put("yes", QUESTIONS[word][1]);
  $("confirm").hidden = false; $("no").focus();
}
function second(yes) {
  $("confirm").hidden = true;
  if (yes && ticket) say(ticket.word, { ticket: ticket.ticket });
  ticket = null;
}
$("check").onclick = () => say("check");
$("arm").onclick = () => first("arm");
$("start").onclick = () => first("start");
$("yes").onclick = () => second(true);
$("no").onclick = () => second(false);
$("stop").onclick = () => say("stop");
$("emergency").onclick = () => say("emergency stop");
$("release").onclick = () => say("release");
for (const button of $("slow").children) button.onclick = () => say(button.dataset.word);
$("note").onsubmit = async event => {
  event.preventDefault();
  const found = await say("note", { text: $("note-text").value });
  if (found.refused === "") $("note-text").value = "";
};
$("ask").onclick = () => ask("/ask", {});
$("hand-over").onclick = () => ask("/hand-over", { to: status.asking });
$("invite").onclick = async () => {
  const found = await ask("/invite", {});
  if (found.path) { put("invitation", `For one more browser, view only: ${location.origin}${found.path}`); $("invitation").hidden = false; }
};
document.addEventListener("keydown", event => {
  const writes = event.target.closest && event.target.closest("input, select, textarea"), presses = event.target.closest && event.target.closest("button, summary, a");
  if (event.ctrlKey || event.altKey || event.metaKey || status.role !== "operate") return;
  if (event.key === "Escape" || (event.key === " " && !writes && !presses)) { event.preventDefault(); if (!event.repeat) say("emergency stop"); }
  else if (event.key === "s" && !writes) say("stop");
});

/* --- what the server tells -------------------------------------------------------------------------------------------- */

const WORD = state => state.startsWith("tripped") ? "tripped" : state.startsWith("waiting") ? "waiting" : state;
function showStatus() {
  const state = status.state || "idle", over = $("over").dataset.ended === "yes";
  put("state-word", state); $("state").dataset.state = WORD(state);
  put("state-more", status.cause || (status.asked === "start" ? "holding the rig in position" : ""));
  document.title = `${state} – ${test.title || "halfreal"}`;
  put("time", status.time == null ? "–" : `${status.time.toFixed(2)} s`);
  const slow = status.motion && status.motion.left;
  put("left", status.left == null ? "" : slow ? `about ${span(slow)} left` : `${span(status.left)} left`);
  document.body.dataset.role = status.role || "watch";
  document.body.dataset.stop = status.may_stop ? "yes" : "no";
  put("role", status.operable === false ? "view only" : status.role === "operate" ? `this browser operates (${status.view})` : `this browser is view-only (${status.view})${status.may_stop ? ", with the emergency stop" : ""}${status.operated ? "" : "; no page operates the test now"}`);
  $("ask").hidden = !(status.operable && status.role === "watch") || over;
  $("hand-over").hidden = !(status.role === "operate" && status.asking && status.asking !== status.view);
  put("hand-over", `Hand over to ${status.asking}`);
  for (const word of ["check", "arm", "start"]) { $(word).disabled = status.asked !== word; $(word).classList.toggle("next", status.asked === word); }
  $("stop").disabled = $("emergency").disabled = over;
  const before = ["idle", "checked", "armed"].includes(state);
  for (const word of ["check", "arm", "start"]) $(word).hidden = !before;
  $("steps").hidden = over || !(before || test.releases || test.slow);
  $("real-time").hidden = status.rate == null;
  $("release").hidden = !test.releases; $("release").disabled = state !== "running";
  put("release", status.released ? `Release the excitation (released ${status.released} times)` : "Release the excitation");
  $("slow").hidden = !test.slow;
  if (ticket && (status.asked !== ticket.word || Date.now() > ticketLasts)) second(false);
  const going = status.progress;
  $("progress").hidden = !going;
  if (going) { $("progress").max = going[1]; $("progress").value = going[0]; }
  figures($("figures"), [
    ["rate", status.rate == null ? null : `${+status.rate.toPrecision(6)} Hz`], ["execution, mean", micro(status.mean_execution)], ["execution, maximum", micro(status.max_execution)],
    ["latency, 99 % below", micro(status.p99_lateness)], ["latency, maximum", micro(status.max_lateness)], ["overruns", status.stalls ? `${count(status.overruns)} (in the test: ${status.stalls})` : count(status.overruns)],
    ["late datagrams", count(status.late)], ["lost datagrams", count(status.lost)], ["age of measurement", status.age == null ? null : `${(1e3 * status.age).toFixed(2)} ms`],
    ["recording", status.record_rate == null ? null : `${bytes(status.record_rate)}/s`], ["rows not yet written", count(status.waiting_rows)], ["disk left", bytes(status.disk_left)]]);
  const way = status.motion;
  $("motion").hidden = !way;
  if (way) figures($("motion-figures"), [["tick", `${way.tick} of ${way.ticks}`], ["now", way.phase], ["command", way.goal], ["speed", `${way.speed} ×`], ["left, as it went", span(way.left) || "not known"]]);
  showLimits(status.limits || []); showEvents();
  if (status.shape && paused === null) { plots.shape.move(status.shape); $("plot-shape").hidden = !plots.shape.structure; document.body.dataset.shape = String(plots.shape.peak); dirty = true; }
}

function showLimits(limits) {
  $("no-limits").hidden = limits.length > 0; $("limit-key").hidden = limits.length === 0;
  $("limits").replaceChildren(...limits.map(one => {
    const share = one.now == null ? one.peak : one.now, level = one.peak >= 1 ? "--bad" : one.warn != null && one.peak >= one.warn ? "--wait" : "--good";
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 110 16"); svg.setAttribute("preserveAspectRatio", "none");
    const draw = (name, values) => { const made = document.createElementNS(svg.namespaceURI, name); for (const key in values) made.setAttribute(key, values[key]); svg.append(made); };
    const at = x => Math.min(Math.max(x, 0), 1.09) * 100;
    draw("rect", { x: 0, y: 3, width: 110, height: 9, fill: style("--grid") });
    draw("rect", { x: 0, y: 3, width: at(share), height: 9, fill: style(level) });
    if (one.warn != null) draw("rect", { x: at(one.warn) - .4, y: 0, width: .8, height: 15, fill: style("--wait") });
    draw("rect", { x: 99.4, y: 0, width: 1.2, height: 15, fill: style("--bad") });
    draw("path", { d: `M${at(one.peak) - 1.2} 16 L${at(one.peak)} 9 L${at(one.peak) + 1.2} 16 Z`, fill: style("--ink") });
    const made = element("div", "", element("div", "", element("span", one.name), element("span", `${Math.round(100 * one.peak)} % of ${one.trip}`)), svg);
    made.className = "limit";
    return made;
  }));
}

let events = [];
function showEvents() {
  const all = [...events, ...(status.notes || [])], list = $("events");
  if (list.childElementCount === all.length) return;
  list.replaceChildren(...all.sort((a, b) => b[0] - a[0]).slice(0, 500).map(([time, text]) => element("li", "", element("time", `${time.toFixed(3)} s`), text)));
}

function showTest() {
  put("name", test.title || "");
  $("sections").replaceChildren(...(test.sections || []).map(([name, entries]) => element("table", "", element("caption", name), ...entries.map(([key, value]) => element("tr", "", element("td", key), element("td", value))))));
  put("text", test.text || "");
}
function showCheck(check) {
  put("verdict", check.verdict || "not judged"); $("verdict").className = check.verdict.toLowerCase();
  $("reasons").replaceChildren(...[...check.reasons, ...check.remedies].map(text => element("li", text)));
  figures($("margins"), check.margins);
  $("rehearsal").hidden = !check.rehearsal;
}
function showOver(over) {
  $("over").hidden = false; $("over").dataset.ended = "yes"; put("over-text", over.text);
  put("over-word", over.word || ""); $("over-word").className = over.word === "ACCEPTED" ? "go" : "no-go"; $("over").classList.toggle("bad", over.word === "NOT ACCEPTED");
  $("judged").replaceChildren(...(over.judged || []).map(text => element("li", text)));
  $("report").hidden = $("report-link").hidden = !over.run;
  if (over.run && shownReport !== over.run) { shownReport = over.run; $("report").src = "/report"; }
  showStatus();
}

/* --- plots ------------------------------------------------------------------------------------------------------------ */

const unitOf = name => (rows.channels.find(one => one[0] === name) || ["", ""])[1];
function showRows(told) {
  rows = told; store.reset([]); paused = zoom = null; events = [];
  $("plots").hidden = false; $("definition").open = false;
  const names = rows.channels.map(one => one[0]), axes = names.filter(name => name === "target" || name.startsWith("target.")).map(name => name.slice(6));
  $("axis").replaceChildren(...axes.map(axis => { const one = element("option", axis.slice(1) || "1"); one.value = axis; return one; }));
  $("axis-label").hidden = axes.length < 2;
  const chosen = $("any").value;
  $("any").replaceChildren(...names.map(name => { const one = element("option", `${name} [${unitOf(name)}]`); one.value = name; return one; }));
  $("any").value = names.includes(chosen) ? chosen : names.includes("command") ? "command" : names[0] || "";
  choose();
}
function choose() {
  if (!rows) return;
  const axis = $("axis").value || "", names = new Set(rows.channels.map(one => one[0])), has = name => names.has(name);
  const target = "target" + axis, force = "measured.force" + axis, displacement = "measured.displacement" + axis, gap = "gap" + axis, energy = "energy.error" + axis, any = $("any").value;
  const measured = has(target) && has(force) && unitOf(target) === unitOf(force) ? force : displacement;
  const line = (plot, title, lines) => { const there = lines.filter(([name]) => has(name)); plot.figure.hidden = !there.length; plot.show(title, there, there.length ? unitOf(there[0][0]) : ""); };
  line(plots.target, "Target and measured", [[target, "target", "--plot1"], [measured, "measured", "--plot2"]]);
  line(plots.gap, "Gap: target − measured", [[gap, "gap", "--plot1"]]);
  line(plots.energy, "Energy error", [[energy, "share of the energy exchanged", "--plot1"]]);
  line(plots.any, "Any channel", [[any, any, "--plot1"]]);
  const pair = (plot, title, x, y) => { plot.figure.hidden = !(has(x) && has(y)); if (has(x) && has(y)) plot.show(title, x, y, unitOf(x), unitOf(y)); return has(x) && has(y) ? [[x, y]] : []; };
  const pairs = [...pair(plots.subspace, "Synchronisation: measured over target", target, measured), ...pair(plots.hysteresis, "Hysteresis: force over displacement", displacement, force)];
  plots.spectrum.show(`Spectrum of ${any}`, unitOf(any));
  const channels = timed.flatMap(plot => plot.lines.map(([name]) => name));
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ channels, pairs, spectrum: any }));
  dirty = true;
}
$("axis").onchange = $("any").onchange = choose;
$("window").onchange = () => { zoom = null; dirty = true; };
$("pause").onclick = () => { paused = paused === null ? store.last : null; if (paused === null) zoom = null; $("pause").setAttribute("aria-pressed", String(paused !== null)); put("pause", paused === null ? "Pause the plots" : "Go on"); dirty = true; };
for (const plot of timed) {
  let from = null;
  const timeAt = event => { const { left, right, x0, x1 } = plot.box, x = event.clientX - plot.canvas.getBoundingClientRect().left; return x0 + (x1 - x0) * Math.min(Math.max((x - left) / (right - left), 0), 1); };
  plot.canvas.onpointerdown = event => { if (plot.box) from = timeAt(event); };
  plot.canvas.onpointerup = event => { if (from === null) return; const to = timeAt(event); if (Math.abs(to - from) > 1e-3 * (plot.box.x1 - plot.box.x0) * 20) { zoom = [Math.min(from, to), Math.max(from, to)]; if (paused === null) $("pause").click(); } from = null; dirty = true; };
  plot.canvas.ondblclick = () => { zoom = null; dirty = true; };
}
function draw() {
  requestAnimationFrame(draw);
  if (!dirty) return;
  dirty = false;
  const end = paused === null ? store.last : paused;
  for (const plot of timed) plot.draw(store, zoom || [Math.max(end - Number($("window").value), store.count ? Math.min(store.time[0], end - 1) : end - 1), end]);
  plots.subspace.draw(true); plots.hysteresis.draw(false); plots.spectrum.draw();
  plots.shape.draw();
  if (lateness) plots.lateness.draw(lateness[0], lateness[1]);
}

function packet(buffer) {
  const length = new DataView(buffer).getUint32(0, true), head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))), at = 4 + length;
  if (head.kind === "bins") { const time = new Float64Array(buffer, at, head.count); store.add(head, time, new Float32Array(buffer, at + 8 * head.count)); if (paused === null) dirty = true; document.body.dataset.bins = String(store.count); return; }
  const values = new Float32Array(buffer, at);
  if (paused !== null) return;
  if (head.kind === "pairs") { for (const plot of [plots.subspace, plots.hysteresis]) if (plot.x === head.x && plot.y === head.y) plot.points = values; }
  else if (head.kind === "spectrum") plots.spectrum.points = values;
  else if (head.kind === "lateness") lateness = [head.edges, values];
  dirty = true;
}

/* --- the connection --------------------------------------------------------------------------------------------------- */

function connect() {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/live`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { retry = 250; };
  socket.onmessage = event => {
    if (typeof event.data !== "string") { packet(event.data); return; }
    const told = JSON.parse(event.data);
    if (told.kind === "status") { status = told; $("lost").hidden = true; showStatus(); }
    else if (told.kind === "test") { test = told; showTest(); }
    else if (told.kind === "check") showCheck(told);
    else if (told.kind === "structure") { plots.shape.show(told); dirty = true; }
    else if (told.kind === "rows") showRows(told);
    else if (told.kind === "events") { events = [...events.slice(0, told.first), ...told.events]; showEvents(); }
    else if (told.kind === "over") showOver(told);
  };
  socket.onclose = () => {
    const ended = $("over").dataset.ended === "yes";
    $("lost").hidden = ended;
    if (!ended) { $("state").dataset.state = "lost"; put("state-more", "when the connection was lost"); }
    setTimeout(connect, retry);
    retry = Math.min(2 * retry, 4000);
  };
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
let theme = dark.matches ? "dark" : "light";
function paint() { document.documentElement.dataset.theme = theme; dirty = true; }
$("theme").onclick = () => { theme = theme === "dark" ? "light" : "dark"; paint(); };
window.addEventListener("resize", () => { dirty = true; });
paint(); connect(); draw();
