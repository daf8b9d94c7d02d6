// Drawing: elements, scales, axes, and what a pointer or the arrow keys find in a chart.
(function () {
  "use strict";
  const S = window.destageStore;
  const SVG = "http://www.w3.org/2000/svg";

  S.svg = function (name, values, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(values || {})) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  S.html = function (name, values, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(values || {})) {
      if (key === "hidden" || key === "disabled" || key === "checked") made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.flat());
    return made;
  };
  // A sample of a policy's line, beside its name.
  S.swatch = function (code) {
    const look = S.look(code);
    const line = S.svg("path", { d: "M0 6H30", fill: "none", stroke: look.color, "stroke-width": 2 });
    if (look.dash) line.setAttribute("stroke-dasharray", look.dash);
    const mark = S.svg("path", { d: look.marker, transform: "translate(15 6)", fill: look.color });
    return S.svg("svg", { width: 30, height: 12, viewBox: "0 0 30 12", "aria-hidden": "true" }, line, mark);
  };

  // ---- Scales
  const round = (x) => Math.round(x * 100) / 100;
  S.scale = function (low, high, from, to, log) {
    if (log) {
      const a = Math.log(low), b = Math.log(high);
      const made = (v) => round(from + ((Math.log(v) - a) / (b - a || 1)) * (to - from));
      return Object.assign(made, { low: low, high: high, log: true });
    }
    const made = (v) => round(from + ((v - low) / (high - low || 1)) * (to - from));
    return Object.assign(made, { low: low, high: high, log: false });
  };
  // Where an axis of numbers begins and ends: at zero, unless all lie far away from it.
  S.domain = function (values, metric, against, log) {
    let low = Infinity, high = -Infinity;
    for (const v of values) { if (v < low) low = v; if (v > high) high = v; }
    if (low > high) return null;
    if (log && low > 0) return low === high ? [low / 1.5, high * 1.5] : [low / 1.05, high * 1.05];
    if (against) { low = Math.min(low, 1); high = Math.max(high, 1); }
    if (high <= 0) return low < 0 ? [low * 1.05, 0] : [0, metric.kind === "ratio" ? 0.01 : 1];
    const free = (metric.kind === "ratio" || metric.kind === "count") && low > 0.6 * high;
    if (!against && !free) return [Math.min(0, low), high * 1.04];
    const air = Math.max((high - low) * 0.08, high * 0.005);
    const top = high + air;
    return [Math.max(0, low - air), metric.kind === "ratio" && !against ? Math.min(1, top) : top];
  };
  // The same of two numbers that are weighed: close around the points, where zero says nothing.
  S.near = function (values, metric, log) {
    const low = Math.min(...values), high = Math.max(...values);
    if ((log && low > 0) || low <= 0.2 * high) return S.domain(values, metric, "", log);
    const air = Math.max((high - low) * 0.06, high * 0.005);
    return [low - air, high + air];
  };
  S.ticks = function (scale, count, length) {
    const low = scale.low / length, high = scale.high / length;
    const found = [];
    if (scale.log) {
      const wide = high / low > 30;
      for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k += 1) {
        for (const m of wide ? [1] : [1, 2, 5]) found.push(m * 10 ** k);
      }
      const inside = found.filter((v) => v >= low * 0.999 && v <= high * 1.001);
      if (inside.length > 1) return inside.map((v) => v * length);
    }
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    found.length = 0;
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k += 1) found.push(k * step * length);
    return found;
  };

  // ---- Axes
  const label = (x, y, text, anchor, more) =>
    S.svg("text", { x: x, y: y, "text-anchor": anchor, class: "tick", fill: "var(--faint)", "font-size": 11, ...more }, text);
  const title = (x, y, text, more) =>
    S.svg("text", { x: x, y: y, "text-anchor": "middle", fill: "var(--ink)", "font-size": 12, ...more }, text);
  S.axisY = function (box, scale, unit, name) {
    const group = S.svg("g", {});
    for (const v of S.ticks(scale, box.height < 220 ? 4 : 6, unit ? unit.length : 1)) {
      const y = scale(v);
      group.append(S.svg("path", { d: "M" + box.left + " " + y + "H" + box.right, stroke: "var(--grid)" }));
      group.append(label(box.left - 6, y + 4, S.axisText(v, unit), "end"));
    }
    if (name) group.append(title(0, 0, name, { transform: "translate(12 " + (box.top + box.bottom) / 2 + ") rotate(-90)" }));
    return group;
  };
  // Names of ticks below an axis, as many as there is room for; the ends first.
  S.axisX = function (box, ticks, name, grid) {
    const group = S.svg("g", {});
    group.append(S.svg("path", { d: "M" + box.left + " " + box.bottom + "H" + box.right, stroke: "var(--line)" }));
    let end = -Infinity;
    for (const tick of ticks) {
      const half = tick.text.length * 3.2 + 5;
      if (grid) group.append(S.svg("path", { d: "M" + tick.x + " " + box.top + "V" + box.bottom, stroke: "var(--grid)" }));
      else group.append(S.svg("path", { d: "M" + tick.x + " " + box.bottom + "v4", stroke: "var(--line)" }));
      if (tick.x - half < end || tick.x + half > box.right + 34) continue;
      group.append(label(tick.x, box.bottom + 17, tick.text, "middle"));
      end = tick.x + half;
    }
    group.append(title((box.left + box.right) / 2, box.bottom + 35, name));
    return group;
  };
  S.axisText = function (value, unit) {
    if (unit && unit.bytes) return S.bytes(value);
    const scaled = Number((unit ? value / unit.length : value).toPrecision(10));
    if (Math.abs(scaled) >= 1e6) return (scaled / 1e6).toLocaleString("en-US", { maximumFractionDigits: 2 }) + "M";
    if (Math.abs(scaled) >= 1e4) return (scaled / 1e3).toLocaleString("en-US", { maximumFractionDigits: 2 }) + "k";
    return scaled.toLocaleString("en-US", { maximumFractionDigits: 6 });
  };

  // ---- What is pointed at
  const tip = S.html("div", { class: "tip", hidden: true });
  const spoken = S.html("div", { class: "spoken", "aria-live": "polite" });
  document.body.append(tip, spoken);
  function show(lines, x, y) {
    const table = S.html("table", {});
    for (const [name, value] of lines.slice(1)) table.append(S.html("tr", {}, S.html("th", {}, name), S.html("td", {}, value)));
    tip.replaceChildren(S.html("b", {}, lines[0]), table);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 16 + box.width > window.innerWidth ? x - 16 - box.width : x + 16;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, window.innerHeight - box.height - 4)) + "px";
  }
  S.hideTip = () => { tip.hidden = true; };

  // A chart of points: {x, y, series, lines(), runs}. The arrow keys go along a series, and from
  // one to the next; Enter, or a click, lists the runs behind a point.
  S.alive = function (chart, points, open) {
    if (!points.length) return;
    const ring = S.svg("circle", { r: 7, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, visibility: "hidden" });
    chart.append(ring);
    let now = -1;
    function choose(k, x, y, said) {
      now = k;
      const p = points[k];
      ring.setAttribute("cx", p.x);
      ring.setAttribute("cy", p.y);
      ring.setAttribute("visibility", "visible");
      const lines = p.lines();
      const box = chart.getBoundingClientRect();
      show(lines, x === null ? box.left + p.x : x, y === null ? box.top + p.y : y);
      if (said) spoken.textContent = lines.map((l) => (Array.isArray(l) ? l.join(": ") : l)).join("; ");
      S.dim(chart, p.series);
    }
    function leave() {
      now = -1;
      ring.setAttribute("visibility", "hidden");
      S.hideTip();
      S.dim(chart, null);
    }
    function nearest(event) {
      const box = chart.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      let best = -1, far = 30 * 30;
      points.forEach(function (p, k) {
        const d = (p.x - x) ** 2 + (p.y - y) ** 2;
        if (d < far) { far = d; best = k; }
      });
      return best;
    }
    chart.addEventListener("pointermove", function (event) {
      const k = nearest(event);
      if (k < 0) leave();
      else choose(k, event.clientX, event.clientY, false);
    });
    chart.addEventListener("pointerleave", leave);
    chart.addEventListener("click", function (event) {
      const k = nearest(event);
      if (k >= 0) open(points[k].runs);
    });
    chart.addEventListener("blur", leave);
    chart.addEventListener("keydown", function (event) {
      if (event.key === "Escape") return leave();
      if ((event.key === "Enter" || event.key === " ") && now >= 0) {
        event.preventDefault();
        return open(points[now].runs);
      }
      const k = step(points, now, event.key);
      if (k === null) return undefined;
      event.preventDefault();
      return choose(k, null, null, true);
    });
  };
  function step(points, now, key) {
    if (!["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"].includes(key)) return null;
    if (now < 0) return key === "End" ? points.length - 1 : 0;
    const series = points[now].series;
    const own = points.map((p, k) => [p, k]).filter(([p]) => p.series === series).sort((a, b) => a[0].x - b[0].x || a[0].y - b[0].y);
    const place = own.findIndex(([, k]) => k === now);
    if (key === "Home") return own[0][1];
    if (key === "End") return own[own.length - 1][1];
    if (key === "ArrowLeft") return own[Math.max(0, place - 1)][1];
    if (key === "ArrowRight") return own[Math.min(own.length - 1, place + 1)][1];
    // To the series whose nearest point comes next, upwards or downwards.
    const up = key === "ArrowUp" ? -1 : 1;
    const here = points[now];
    const found = new Map();
    points.forEach(function (p, k) {
      if (p.series === series) return;
      const far = Math.abs(p.x - here.x);
      if (!found.has(p.series) || far < found.get(p.series)[1]) found.set(p.series, [k, far]);
    });
    const sorted = Array.from(found.values(), ([k]) => k).sort((a, b) => points[a].y - points[b].y || points[a].series - points[b].series);
    const beyond = (k) => (points[k].y - here.y) * up > 0 || (points[k].y === here.y && (points[k].series - series) * up > 0);
    const next = sorted.filter(beyond);
    if (!next.length) return now;
    return up > 0 ? next[0] : next[next.length - 1];
  }
  // The others step back behind the series that is pointed at.
  S.dim = function (chart, series) {
    for (const group of chart.querySelectorAll("g[data-series]")) {
      group.setAttribute("opacity", series === null || group.dataset.series === String(series) ? 1 : 0.18);
    }
  };

  S.mark = (x, y, code, more) => S.svg("path", { d: S.look(code).marker, transform: "translate(" + x + " " + y + ")", fill: S.look(code).color, ...more });
  // Many small circles as one path: thousands of elements would make a page slow.
  S.dots = (places, r) => places.map(([x, y]) => "M" + (x - r) + " " + y + "a" + r + " " + r + " 0 1 0 " + 2 * r + " 0a" + r + " " + r + " 0 1 0 " + -2 * r + " 0").join("");

  // ---- Saving: colours for white paper, whatever the page has.
  S.save = function (chart, name) {
    const copy = chart.cloneNode(true);
    copy.setAttribute("xmlns", SVG);
    copy.setAttribute("font-family", "system-ui, Helvetica, Arial, sans-serif");
    copy.prepend(S.svg("rect", { width: "100%", height: "100%", fill: "white" }));
    const text = copy.outerHTML.replace(/var\((--[a-z0-9]+)\)/g, (_, key) => S.model.paper[key] || "#1d2129");
    S.download(text, "image/svg+xml", name + ".svg");
  };
  S.download = function (text, kind, name) {
    const url = URL.createObjectURL(new Blob([text], { type: kind }));
    const link = S.html("a", { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
})();
