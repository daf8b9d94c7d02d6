// The four views: curves over cache size, heat maps, two numbers weighed, distributions.
(function () {
  "use strict";
  const S = window.destageStore;
  const svg = S.svg, html = S.html;

  // Drawing of charts that nobody sees waits until they are near the screen.
  const waiting = new Map();
  const watcher = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      const draw = entry.isIntersecting && waiting.get(entry.target);
      if (!draw) continue;
      waiting.delete(entry.target);
      watcher.unobserve(entry.target);
      draw();
    }
  }, { rootMargin: "600px" });
  function later(place, draw) {
    waiting.set(place, draw);
    watcher.observe(place);
  }
  function forget(place) {
    for (const old of place.querySelectorAll(".plot")) {
      waiting.delete(old);
      watcher.unobserve(old);
    }
    place.replaceChildren();
  }
  S.drawAll = function () {
    for (const [place, draw] of waiting) { watcher.unobserve(place); draw(); }
    waiting.clear();
  };

  function figure(name, note, about, file, draw) {
    const tools = html("span", { class: "tools" });
    const plot = html("div", { class: "plot" });
    const made = html("figure", {}, html("figcaption", {}, html("span", {}, name, note ? html("small", {}, " " + note) : ""), tools), plot);
    const button = html("button", { type: "button", class: "plain", "aria-label": "Save this chart as SVG" }, "SVG");
    button.addEventListener("click", () => S.save(plot.firstElementChild, file));
    tools.append(button);
    later(plot, function () {
      const width = Math.max(260, plot.clientWidth);
      const chart = svg("svg", { width: width, role: "img", tabindex: 0, "aria-label": about + ". Arrow keys go from point to point, Enter lists the runs behind one." });
      plot.replaceChildren(chart);
      draw(chart, width);
    });
    return made;
  }
  const fileOf = (...parts) => [S.model.file, ...parts].join("-").replace(/[^\w.-]+/g, "-");
  function sized(chart, width, height, box) {
    chart.setAttribute("height", height);
    chart.setAttribute("viewBox", "0 0 " + width + " " + height);
    return { ...box, right: width - box.right, bottom: height - box.bottom, height: height };
  }
  function nothing(place, text) {
    place.append(html("p", { class: "quiet" }, text));
  }
  // What a point comes to, as a pointer tells it.
  function toldOf(name, sum, view) {
    const metric = S.metrics.get(view.metric);
    const lines = [name];
    const lacks = S.lacks(sum);
    if (sum.n) lines.push([metric.title, S.text(sum.mean, metric, view.against)]);
    if (sum.n > 1) {
      lines.push(["from", S.text(sum.low, metric, view.against)], ["to", S.text(sum.high, metric, view.against)]);
    }
    lines.push(["Runs", String(sum.n)]);
    if (lacks) lines.push(["Not among them", lacks]);
    return lines;
  }

  // ---- Panels: one for each of what the reader wants to see side by side.
  S.panels = function (runs, view) {
    const names = view.panels === "" ? [] : view.panels === "each" ? S.outer() : [view.panels];
    return S.grouped(runs, names).map((g) => ({ name: S.called(names, g.codes) || "All runs", runs: g.runs }));
  };
  S.outer = () => ["trace", "device", "ftl", "queue_depth", "options"].filter(S.several);

  // Where a cache size lies in a panel: in the mean, if its runs differ.
  function places(runs, view) {
    const found = new Map();
    for (const i of runs) {
      const x = S.size(view.x, i);
      if (!x) continue;
      const code = S.code("cache", i);
      const seen = found.get(code) || [0, 0];
      found.set(code, [seen[0] + x, seen[1] + 1]);
    }
    return new Map(Array.from(found, ([code, [total, count]]) => [code, total / count]));
  }

  S.curves = function (place, runs, view) {
    forget(place);
    const metric = S.metrics.get(view.metric);
    const panels = S.panels(runs, view).map(function (panel) {
      const where = places(panel.runs, view);
      const lines = S.grouped(panel.runs, ["label"]).map((g) => ({
        code: g.codes[0],
        points: S.grouped(g.runs, ["cache"]).map((c) => ({ at: where.get(c.codes[0]), cache: c.codes[0], sum: S.sum(c.runs, view.metric, view.against) }))
          .sort((a, b) => (a.at || 0) - (b.at || 0)),
      }));
      const values = lines.flatMap((l) => l.points.flatMap((p) => (p.sum.n ? [p.sum.low, p.sum.high] : [])));
      return { ...panel, lines: lines, values: values, sizes: Array.from(where.values()) };
    });
    const all = S.domain(panels.flatMap((p) => p.values), metric, view.against, view.log);
    if (!all) return nothing(place, "No run that is chosen has this number.");
    const sizes = panels.flatMap((p) => p.sizes);
    const shared = [Math.min(...sizes), Math.max(...sizes)];
    const shown = view.all ? panels : panels.slice(0, S.MOST_PANELS);
    const grid = html("div", { class: "panels" + (shown.length === 1 ? " one" : "") });
    for (const panel of shown) {
      const y = view.own ? S.domain(panel.values, metric, view.against, view.log) : all;
      const x = view.own ? [Math.min(...panel.sizes), Math.max(...panel.sizes)] : shared;
      const about = metric.title + " over cache size, " + panel.name + ", one line a policy";
      grid.append(figure(panel.name, "", about, fileOf(view.metric, panel.name), (chart, width) =>
        curve(chart, width, shown.length === 1 ? 380 : 280, panel, view, x, y)));
    }
    place.append(grid);
    return undefined;
  };

  function curve(chart, width, height, panel, view, xs, ys) {
    const metric = S.metrics.get(view.metric);
    const box = sized(chart, width, height, { left: 62, top: 10, right: 22, bottom: 44 });
    if (!ys) { chart.append(svg("text", { x: 20, y: 40, fill: "var(--faint)", "font-size": 13 }, "No run here has this number.")); return; }
    const unit = S.unit(ys[1], metric, view.against);
    const y = S.scale(ys[0], ys[1], box.bottom, box.top, view.log && ys[0] > 0);
    const log = xs[1] / xs[0] > 4;
    const air = log ? (xs[1] / xs[0]) ** 0.03 : 1;
    const pad = xs[0] === xs[1] ? xs[0] * 0.5 : log ? 0 : (xs[1] - xs[0]) * 0.03;
    const x = S.scale(xs[0] / air - pad, xs[1] * air + pad, box.left, box.right, log);
    const share = view.x === "cache_share";
    const texts = (v) => (share ? Number((100 * v).toPrecision(2)) + " %" : S.bytes(v));
    const ticks = Array.from(new Set(panel.sizes)).sort((a, b) => a - b).map((v) => ({ x: x(v), text: texts(v) }));
    chart.append(S.axisY(box, y, unit && metric.kind === "size" ? { ...unit, bytes: true } : unit, S.titled(metric, unit, view.against)));
    chart.append(S.axisX(box, ticks, (share ? "Cache size, of the trace\u2019s pages" : "Cache size") + (log ? " (log scale)" : ""), false));
    if (view.against && ys[0] < 1 && ys[1] > 1) chart.append(svg("path", { d: "M" + box.left + " " + y(1) + "H" + box.right, stroke: "var(--faint)", "stroke-dasharray": "4 3" }));
    const points = [], lost = new Map();
    for (const line of panel.lines) {
      const look = S.look(line.code), label = S.dimensions.get("label").values[line.code];
      const group = svg("g", { "data-series": line.code });
      let path = "", whiskers = "", pen = "M";
      for (const p of line.points) {
        if (p.at === undefined) continue;
        const px = x(p.at);
        const name = label + ", " + S.dimensions.get("cache").values[p.cache];
        if (!p.sum.n) {
          pen = "M";
          const seen = lost.get(px) || { at: px, parts: [], runs: [] };
          seen.parts.push([name, S.lacks(p.sum)]);
          seen.runs.push(...p.sum.runs);
          lost.set(px, seen);
          continue;
        }
        const py = y(p.sum.mean);
        path += pen + px + " " + py;
        pen = "L";
        if (p.sum.n > 1 && p.sum.high > p.sum.low) whiskers += "M" + px + " " + y(p.sum.low) + "V" + y(p.sum.high);
        const whole = !p.sum.failed && !p.sum.missing && !p.sum.undefined;
        group.append(S.mark(px, py, line.code, whole ? {} : { fill: "var(--page)", stroke: look.color, "stroke-width": 1.5 }));
        points.push({ x: px, y: py, series: line.code, runs: p.sum.runs, lines: () => toldOf(name, p.sum, view) });
      }
      group.prepend(svg("path", { d: whiskers || "M0 0", stroke: look.color, "stroke-opacity": 0.45, "stroke-width": 1.5 }),
        svg("path", { d: path || "M0 0", fill: "none", stroke: look.color, "stroke-width": 2, "stroke-linejoin": "round", ...(look.dash ? { "stroke-dasharray": look.dash } : {}) }));
      chart.append(group);
    }
    // Sizes at which policies have nothing to show: a cross at the foot, which says who and why.
    for (const gone of lost.values()) {
      const py = box.bottom - 7;
      chart.append(svg("path", { d: "M" + (gone.at - 4) + " " + (py - 4) + "l8 8m0 -8l-8 8", stroke: "var(--bad)", "stroke-width": 2 }));
      points.push({ x: gone.at, y: py, series: -1, runs: gone.runs, lines: () => ["Nothing to draw here", ...gone.parts.slice(0, 12)] });
    }
    S.alive(chart, points, view.open);
  }

  // ---- Heat maps: tables whose cells have colours, so that they can be read and walked through.
  S.heat = function (place, runs, view) {
    forget(place);
    const metric = S.metrics.get(view.metric);
    const panels = S.panels(runs, view).map((panel) => ({
      ...panel,
      rows: S.grouped(panel.runs, ["label"]).map((g) => ({
        code: g.codes[0],
        cells: new Map(S.grouped(g.runs, ["cache"]).map((c) => [c.codes[0], S.sum(c.runs, view.metric, view.against)])),
      })),
      columns: S.grouped(panel.runs, ["cache"]).map((c) => c.codes[0]),
    }));
    const means = (panel) => panel.rows.flatMap((r) => Array.from(r.cells.values(), (s) => s.mean)).filter((v) => v !== null);
    const every = panels.flatMap(means);
    if (!every.length) return nothing(place, "No run that is chosen has this number.");
    const shown = view.all ? panels : panels.slice(0, S.MOST_PANELS);
    const grid = html("div", { class: "panels heats" + (shown.length === 1 ? " one" : "") });
    for (const panel of shown) {
      const values = view.own ? means(panel) : every;
      grid.append(heatOf(panel, view, metric, colours(values, metric, view)));
    }
    place.append(key(view.own ? null : colours(every, metric, view), metric, view), grid);
    return undefined;
  };
  // From a number to a share of the colour: 0 to 1, or with a baseline -1 (worse) to 1 (better).
  function colours(values, metric, view) {
    const low = values.length ? Math.min(...values) : 0, high = values.length ? Math.max(...values) : 1;
    const unit = S.unit(high, metric, view.against);
    if (view.against) {
      const most = Math.max(...values.filter((v) => v > 0).map((v) => Math.abs(Math.log2(v))), 0.01);
      const sign = metric.better === "lower" ? -1 : 1;
      return { of: (v) => (v > 0 ? (sign * Math.log2(v)) / most : -sign), low: 2 ** -most, high: 2 ** most, unit: unit, two: true, sign: sign };
    }
    const log = view.log && low > 0;
    const to = log ? Math.log : (v) => v;
    return { of: (v) => (high > low ? (to(v) - to(low)) / (to(high) - to(low)) : 0.5), low: low, high: high, unit: unit, two: false };
  }
  function paint(cell, share, two) {
    const ink = two ? (share >= 0 ? "--heat-better" : "--heat-worse") : "--heat";
    const depth = Math.round(100 * (two ? Math.min(1, Math.abs(share)) : 0.06 + 0.94 * share));
    cell.style.setProperty("--ink-of", "var(" + ink + ")");
    cell.style.setProperty("--depth", depth + "%");
    // Dark ink on what is pale, and on every orange; white on deep blue.
    cell.classList.toggle("worse", two && share < 0);
    cell.classList.toggle("deep", depth > (two && share < 0 ? 55 : 78));
  }
  function key(colour, metric, view) {
    const made = html("div", { class: "key" });
    if (colour) {
      const bar = html("span", { class: colour.two ? "ramp two" : "ramp", "aria-hidden": "true" });
      const ends = colour.two && colour.sign < 0 ? [colour.high, colour.low] : [colour.low, colour.high];
      made.append(html("span", {}, S.titled(metric, null, view.against)), html("span", {}, S.text(ends[0], metric, view.against)), bar, html("span", {}, S.text(ends[1], metric, view.against)));
    } else made.append(html("span", {}, "each map has colours of its own"));
    const better = { higher: "higher is better", lower: "lower is better", neither: "" }[metric.better];
    if (better && !(colour && colour.two)) made.append(html("span", { class: "quiet" }, better));
    for (const [name, text] of [["failed", "failed"], ["missing", "missing"], ["undefined", "has no such number"], ["some", "only some have it"]]) {
      made.append(html("span", { class: "sample" }, html("i", { class: "cell " + name }, MARK[name] || ""), text));
    }
    return made;
  }
  const MARK = { failed: "\u2715", missing: "?", undefined: S.NONE, some: "" };
  function heatOf(panel, view, metric, colour) {
    const words = S.dimensions.get("cache").values;
    const unit = colour.unit && colour.unit.name ? " (" + colour.unit.name + ")" : "";
    const head = html("tr", {}, html("th", { scope: "col" }, "Policy"), ...panel.columns.map((c) => html("th", { scope: "col" }, words[c])));
    const body = panel.rows.map(function (row) {
      const name = S.dimensions.get("label").values[row.code];
      const made = html("tr", {}, html("th", { scope: "row", title: name }, name));
      for (const c of panel.columns) made.append(html("td", {}, heatCell(row.cells.get(c), name + ", " + words[c], view, metric, colour)));
      return made;
    });
    const table = html("table", { class: "heat" }, html("thead", {}, head), html("tbody", {}, body));
    const caption = html("figcaption", {}, html("span", {}, panel.name, html("small", {}, " " + S.titled(metric, null, view.against) + unit)));
    const made = html("figure", {}, caption, html("div", { class: "scroll low", tabindex: 0, role: "region", "aria-label": "Heat map, " + panel.name }, table));
    walk(table);
    return made;
  }
  function heatCell(sum, name, view, metric, colour) {
    const cell = html("button", { type: "button", class: "cell", tabindex: -1 });
    if (!sum) {
      cell.classList.add("none");
      cell.disabled = true;
      cell.title = name + ": not asked for";
      return cell;
    }
    const told = toldOf(name, sum, view).map((l) => (Array.isArray(l) ? l.join(": ") : l)).join("\n");
    cell.title = told;
    cell.setAttribute("aria-label", told.replace(/\n/g, ", "));
    if (sum.n) {
      cell.textContent = S.short(sum.mean, metric, colour.unit);
      paint(cell, colour.of(sum.mean), colour.two);
      if (S.lacks(sum)) cell.classList.add("some");
    } else {
      const kind = sum.failed ? "failed" : sum.missing ? "missing" : "undefined";
      cell.classList.add(kind);
      cell.textContent = MARK[kind];
    }
    cell.addEventListener("click", () => view.open(sum.runs));
    return cell;
  }
  // One stop of the tab key a map; within it the arrow keys.
  function walk(table) {
    const rows = Array.from(table.tBodies[0].rows, (r) => Array.from(r.querySelectorAll(".cell")));
    if (rows.length && rows[0].length) rows[0][0].tabIndex = 0;
    table.addEventListener("keydown", function (event) {
      const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      const r = rows.findIndex((row) => row.includes(event.target));
      if (!steps || r < 0) return;
      event.preventDefault();
      let [y, x] = [r, rows[r].indexOf(event.target)];
      do { y += steps[0]; x += steps[1]; } while (rows[y] && rows[y][x] && rows[y][x].disabled);
      if (!rows[y] || !rows[y][x]) return;
      event.target.tabIndex = -1;
      rows[y][x].tabIndex = 0;
      rows[y][x].focus();
    });
  }
  S.figure = figure;
  S.sized = sized;
  S.nothing = nothing;
  S.forget = forget;
  S.fileOf = fileOf;
  S.MOST_PANELS = 12;
})();
