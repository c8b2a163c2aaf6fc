"use strict";
/* Drawing on canvases.  Bins come with their lowest and highest value, and a column of pixels is drawn from the lowest to
   the highest of its bins: no peak is lost.  Zoom and pause are here only; the test knows nothing of them. */

const MOST = 60000;
const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const FACTORS = { m: ["mm", 1e3], rad: ["mrad", 1e3], "m/s": ["mm/s", 1e3], s: ["ms", 1e3] };
const shownIn = unit => FACTORS[unit] || [unit === "1" ? "" : unit, 1];

/* The bins of the channels that are followed: all have the same times. */
class Store {
  constructor() { this.reset([]); }
  reset(channels) {
    this.channels = channels; this.count = 0; this.time = new Float64Array(2 * MOST);
    this.low = {}; this.high = {};
    for (const name of channels) { this.low[name] = new Float32Array(2 * MOST); this.high[name] = new Float32Array(2 * MOST); }
  }
  add(head, time, values) {
    if (head.channels.join("\n") !== this.channels.join("\n") || head.first === 0) this.reset(head.channels);
    if (this.count + head.count > 2 * MOST) this.shift();
    this.time.set(time, this.count);
    head.channels.forEach((name, i) => {
      this.low[name].set(values.subarray(2 * i * head.count, (2 * i + 1) * head.count), this.count);
      this.high[name].set(values.subarray((2 * i + 1) * head.count, (2 * i + 2) * head.count), this.count);
    });
    this.count += head.count;
  }
  shift() {
    const from = Math.max(this.count - MOST, 0), move = array => array.copyWithin(0, from, this.count);
    move(this.time); Object.values(this.low).forEach(move); Object.values(this.high).forEach(move);
    this.count -= from;
  }
  get last() { return this.count ? this.time[this.count - 1] : 0; }
  from(time) {  /* the first bin not before a time */
    let low = 0, high = this.count;
    while (low < high) { const middle = (low + high) >> 1; if (this.time[middle] < time) low = middle + 1; else high = middle; }
    return low;
  }
}

function ticks(low, high, about) {
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(one => one * power >= rough), found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9 * step; value += step) found.push(Math.abs(value) < 1e-9 * step ? 0 : value);
  return [found, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))];
}
const label = (value, digits) => (Math.abs(value) >= 1e5 || digits > 6) && value !== 0 ? value.toExponential(1) : value.toFixed(Math.min(digits, 6));

class Plot {
  constructor(figure, title) {
    this.figure = figure;
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.caption = document.createElement("figcaption");
    figure.append(this.caption, this.canvas);
    this.title(title);
  }
  title(text, legend = []) {
    this.canvas.setAttribute("aria-label", text);
    const head = document.createElement("b"); head.textContent = text;
    this.values = legend.map(([name, colour]) => { const one = document.createElement("i"); one.style.color = style(colour); one.textContent = name; one.dataset.name = name; return one; });
    this.caption.replaceChildren(head, ...this.values);
  }
  /* Clear, draw axes over these ranges, and give the functions that place a point. */
  axes(x0, x1, y0, y1, xUnit, yUnit, logarithmic) {
    const box = this.canvas, scale = window.devicePixelRatio || 1, width = box.clientWidth, height = box.clientHeight;
    if (box.width !== Math.round(width * scale) || box.height !== Math.round(height * scale)) { box.width = Math.round(width * scale); box.height = Math.round(height * scale); }
    const pen = box.getContext("2d"); pen.setTransform(scale, 0, 0, scale, 0, 0); pen.clearRect(0, 0, width, height);
    if (!(y1 > y0)) { const middle = y0; y0 = middle - (Math.abs(middle) || 1); y1 = middle + (Math.abs(middle) || 1); }
    if (!(x1 > x0)) x1 = x0 + 1;
    const left = 62, right = width - 8, top = 6, bottom = height - 30;
    const px = x => left + (right - left) * (x - x0) / (x1 - x0), py = y => bottom - (bottom - top) * (y - y0) / (y1 - y0);
    pen.font = "12px system-ui, sans-serif"; pen.strokeStyle = style("--grid"); pen.fillStyle = style("--soft"); pen.lineWidth = 1;
    pen.textAlign = "right"; pen.textBaseline = "middle";
    const [ys, yDigits] = ticks(y0, y1, Math.max(2, height / 50));
    for (const y of ys) { pen.beginPath(); pen.moveTo(left, py(y)); pen.lineTo(right, py(y)); pen.stroke(); pen.fillText(logarithmic ? `1e${Math.round(y)}` : label(y, yDigits), left - 5, py(y)); }
    pen.textAlign = "center"; pen.textBaseline = "top";
    const [xs, xDigits] = ticks(x0, x1, Math.max(2, width / 110));
    for (const x of xs) { pen.beginPath(); pen.moveTo(px(x), top); pen.lineTo(px(x), bottom); pen.stroke(); pen.fillText(label(x, xDigits), px(x), bottom + 3); }
    pen.textAlign = "right"; pen.fillText(xUnit, right, bottom + 16);
    pen.textAlign = "left"; pen.fillText(yUnit, 2, bottom + 16);
    pen.save(); pen.beginPath(); pen.rect(left, top, right - left, bottom - top); pen.clip();
    this.box = { left, right, top, bottom, x0, x1 };
    return [pen, px, py];
  }
}

/* Channels over time; `lines` are [channel, name for people, colour]. */
class TimePlot extends Plot {
  show(title, lines, unit) { this.lines = lines; [this.unit, this.factor] = shownIn(unit); this.title(title, lines.map(([, name, colour]) => [name, colour])); }
  draw(store, view) {
    if (!this.lines || !this.lines.length) return;
    const first = Math.max(store.from(view[0]) - 1, 0), last = Math.min(store.from(view[1]) + 1, store.count), lines = this.lines.filter(([name]) => store.low[name]);
    let low = Infinity, high = -Infinity;
    for (const [name] of lines) {
      const lows = store.low[name], highs = store.high[name];
      for (let i = first; i < last; i++) { if (lows[i] < low) low = lows[i]; if (highs[i] > high) high = highs[i]; }
    }
    if (!isFinite(low) || !isFinite(high)) { low = -1; high = 1; }
    const pad = 0.06 * (high - low), f = this.factor;
    const [pen, px, py] = this.axes(view[0], view[1], (low - pad) * f, (high + pad) * f, "time [s]", this.unit ? `[${this.unit}]` : "");
    lines.forEach(([name, , colour], which) => {
      const lows = store.low[name], highs = store.high[name];
      pen.strokeStyle = style(colour); pen.lineWidth = which ? 1.2 : 2; pen.beginPath();
      let column = NaN, a = 0, b = 0, drawing = false;
      const put = () => { if (drawing) pen.lineTo(column, py(a * f)); else pen.moveTo(column, py(a * f)); pen.lineTo(column, py(b * f)); drawing = true; };
      for (let i = first; i < last; i++) {
        if (!isFinite(lows[i]) || !isFinite(highs[i])) { if (!isNaN(column)) put(); column = NaN; drawing = false; continue; }
        const x = Math.round(px(store.time[i]) * 2) / 2;
        if (x !== column) { if (!isNaN(column)) put(); column = x; a = lows[i]; b = highs[i]; } else { a = Math.min(a, lows[i]); b = Math.max(b, highs[i]); }
      }
      if (!isNaN(column)) put();
      pen.stroke();
      if (last && this.values[which]) this.values[which].textContent = `${lines[which][1]} ${(highs[last - 1] * f).toPrecision(4)} ${this.unit}`;
    });
    pen.restore();
  }
}

/* One channel over another. */
class PairPlot extends Plot {
  show(title, x, y, xUnit, yUnit) { this.x = x; this.y = y; this.units = [shownIn(xUnit), shownIn(yUnit)]; this.title(title); this.points = null; }
  draw(even) {
    const n = this.points ? this.points.length / 2 : 0, [[xUnit, xf], [yUnit, yf]] = this.units || [["", 1], ["", 1]];
    let range = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < n; i++) {
      const x = this.points[i] * xf, y = this.points[n + i] * yf;
      if (!isFinite(x) || !isFinite(y)) continue;
      range = [Math.min(range[0], x), Math.max(range[1], x), Math.min(range[2], y), Math.max(range[3], y)];
    }
    if (!isFinite(range[0])) range = [-1, 1, -1, 1];
    if (even) range = [Math.min(range[0], range[2]), Math.max(range[1], range[3]), Math.min(range[0], range[2]), Math.max(range[1], range[3])];
    const padX = 0.06 * (range[1] - range[0]) || 1e-9, padY = 0.06 * (range[3] - range[2]) || 1e-9;
    const [pen, px, py] = this.axes(range[0] - padX, range[1] + padX, range[2] - padY, range[3] + padY, `${this.x || ""} [${xUnit}]`, `${this.y || ""} [${yUnit}]`);
    if (even) { pen.strokeStyle = style("--soft"); pen.setLineDash([5, 4]); pen.beginPath(); pen.moveTo(px(range[0]), py(range[0])); pen.lineTo(px(range[1]), py(range[1])); pen.stroke(); pen.setLineDash([]); }
    pen.strokeStyle = style("--plot1"); pen.lineWidth = 1.3; pen.beginPath();
    for (let i = 0; i < n; i++) pen.lineTo(px(this.points[i] * xf), py(this.points[n + i] * yf));
    pen.stroke();
    if (n) { pen.fillStyle = style("--plot2"); pen.beginPath(); pen.arc(px(this.points[n - 1] * xf), py(this.points[2 * n - 1] * yf), 4, 0, 7); pen.fill(); }
    pen.restore();
  }
}

class SpectrumPlot extends Plot {
  show(title, unit) { this.unit = unit; this.title(title); this.points = null; }
  draw() {
    const n = this.points ? this.points.length / 2 : 0;
    let low = Infinity, high = -Infinity;
    for (let i = 1; i < n; i++) { const y = this.points[n + i]; if (y > 0) { high = Math.max(high, y); low = Math.min(low, y); } }
    if (!(high > 0)) { low = 0.1; high = 1; }
    const top = Math.log10(high) + 0.2, bottom = Math.max(Math.log10(low), top - 6);
    const [pen, px, py] = this.axes(0, n ? this.points[n - 1] : 1, bottom, top, "frequency [Hz]", `[${this.unit || ""}]`, true);
    pen.strokeStyle = style("--plot1"); pen.lineWidth = 1; pen.beginPath();
    for (let i = 1; i < n; i++) pen.lineTo(px(this.points[i]), py(Math.log10(Math.max(this.points[n + i], 1e-300))));
    pen.stroke(); pen.restore();
  }
}

/* A structure at rest, and where its nodes have moved to, as many times larger as makes it seen. */
class ShapePlot extends Plot {
  show(structure) {
    this.structure = structure; this.moved = null; this.peak = 0;
    const xs = structure.nodes.map(([x]) => x), ys = structure.nodes.map(([, y]) => y);
    this.range = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    this.size = Math.max(this.range[1] - this.range[0], this.range[3] - this.range[2]) || 1;
  }
  move(shape) {
    if (!this.structure) return;
    this.moved = shape;
    for (const [x, y] of shape) this.peak = Math.max(this.peak, Math.hypot(x || 0, y || 0));
  }
  draw() {
    if (!this.structure || !this.moved) return;
    const { nodes, members, looks, supports } = this.structure, [x0, x1, y0, y1] = this.range, room = 0.14 * this.size;
    const wide = this.canvas.clientWidth - 70, tall = this.canvas.clientHeight - 36, scale = Math.max((x1 - x0 + 2 * room) / wide, (y1 - y0 + 2 * room) / tall);
    const cx = (x0 + x1) / 2, cy = (y0 + y1) / 2, w = scale * wide / 2, h = scale * tall / 2;
    const [pen, px, py] = this.axes(cx - w, cx + w, cy - h, cy + h, "[m]", "[m]");
    const power = this.peak > 0 ? 10 ** Math.floor(Math.log10(0.08 * this.size / this.peak)) : 1, times = this.peak > 0 ? power * [5, 2, 1].find(one => one * power * this.peak <= 0.08 * this.size) : 1;
    const lines = (at, colour, width) => {
      pen.strokeStyle = style(colour); pen.lineWidth = width;
      members.forEach((ends, i) => {
        pen.setLineDash(looks[i] === "spring" ? [3, 2] : looks[i] === "dashpot" ? [7, 3] : []);
        const [ax, ay] = at(ends[0]), [bx, by] = ends.length > 1 ? at(ends[ends.length - 1]) : [ax - 0.04 * this.size, ay - 0.04 * this.size];
        pen.beginPath(); pen.moveTo(px(ax), py(ay)); pen.lineTo(px(bx), py(by)); pen.stroke();
      });
      pen.setLineDash([]);
    };
    const there = i => [nodes[i][0] + times * (this.moved[i][0] || 0), nodes[i][1] + times * (this.moved[i][1] || 0)];
    lines(i => nodes[i], "--soft", 0.8); lines(there, "--plot1", 2.2);
    pen.fillStyle = style("--soft"); for (const i of supports) pen.fillRect(px(nodes[i][0]) - 4, py(nodes[i][1]) - 4, 8, 8);
    pen.fillStyle = style("--plot2"); for (const i of this.structure.interface) { const [x, y] = there(i); pen.beginPath(); pen.arc(px(x), py(y), 5, 0, 7); pen.fill(); }
    pen.restore();
    this.caption.lastChild.textContent = `Deformed shape, displacements ${times >= 1 ? Number(times.toPrecision(1)) : times.toPrecision(1)} times larger (a node has moved by up to ${(1e3 * this.peak).toPrecision(3)} mm); dot: where the specimen is attached`;
  }
}

class BarPlot extends Plot {
  draw(edges, counts) {
    const n = counts.length, most = Math.max(1, ...counts), us = i => i === 0 ? 0 : edges[Math.min(i - 1, edges.length - 1)] * 1e6;
    const [pen, px, py] = this.axes(0, n, 0, Math.log10(most) + 0.3, "latency [µs], each bar twice the previous one", "ticks, log", true);
    pen.fillStyle = style("--plot1");
    for (let i = 0; i < n; i++) if (counts[i] > 0) { const y = py(Math.log10(counts[i]) + 0.15); pen.fillRect(px(i) + 1, y, px(i + 1) - px(i) - 2, py(0) - y); }
    pen.restore();
    const { left, right, bottom } = this.box; pen.clearRect(left - 10, bottom + 1, right - left + 20, 14);
    pen.fillStyle = style("--soft"); pen.textAlign = "center"; pen.textBaseline = "top";
    for (let i = 1; i < n; i += 3) pen.fillText(us(i) >= 1 ? `${Math.round(us(i))}` : us(i).toPrecision(1), px(i), bottom + 3);
  }
}
