// Two numbers weighed against each other, with the front; and how a number is spread over runs.
(function () {
  "use strict";
  const S = window.destageStore;
  const svg = S.svg, html = S.html;

  // ---- The front. A point is a policy at a cache size, on a drive: means over traces and seeds.
  const OVER = ["trace", "seed"];
  const SETTING = ["device", "ftl", "queue_depth", "options", "label", "cache"];
  S.settings = function (runs, view) {
    const shown = SETTING.filter((name) => name !== "label" && S.several(name));
    const covers = new Map();
    const points = S.grouped(runs, SETTING).map(function (g) {
      const both = g.runs.filter((i) => S.number(view.x2, i) !== null && S.number(view.y2, i) !== null);
      const cover = S.grouped(both, OVER).map((o) => o.key).join(",");
      if (both.length) covers.set(cover, (covers.get(cover) || 0) + 1);
      const code = g.codes[SETTING.indexOf("label")];
      const name = [S.dimensions.get("label").values[code], S.called(shown, shown.map((n) => g.codes[SETTING.indexOf(n)]))].filter((t) => t).join(", ");
      return { code: code, name: name, runs: g.runs, x: S.sum(both, view.x2), y: S.sum(both, view.y2), cover: cover, offline: S.look(code).offline };
    });
    // Compared are settings with the same traces and seeds: the largest set that any has.
    const size = (cover) => (cover ? cover.split(",").length : 0);
    const [wanted] = Array.from(covers).sort((a, b) => size(b[0]) - size(a[0]) || b[1] - a[1] || (a[0] < b[0] ? 1 : -1))[0] || [""];
    for (const p of points) { p.whole = p.cover === wanted && p.x.n > 0; p.wanted = size(wanted); }
    return points;
  };
  // Points that nobody beats in both; bounds that know the future are no competitors.
  S.front = function (points, view) {
    const sign = (name) => (S.metrics.get(name).better === "higher" ? -1 : 1);
    const sx = sign(view.x2), sy = sign(view.y2);
    const able = points.filter((p) => p.whole && !p.offline);
    able.sort((a, b) => sx * (a.x.mean - b.x.mean) || sy * (a.y.mean - b.y.mean));
    const found = [];
    let best = Infinity;
    for (const p of able) {
      const y = sy * p.y.mean;
      // Of equal ones all are on it.
      const last = found[found.length - 1];
      if (y < best || (last && p.y.mean === last.y.mean && p.x.mean === last.x.mean)) {
        found.push(p);
        best = Math.min(best, y);
      }
    }
    return found;
  };
  S.pareto = function (place, runs, view) {
    S.forget(place);
    const points = S.settings(runs, view);
    const drawn = points.filter((p) => p.x.n && p.y.n);
    if (!drawn.length) return S.nothing(place, "No run that is chosen has both numbers.");
    const front = S.front(points, view);
    const [mx, my] = [S.metrics.get(view.x2), S.metrics.get(view.y2)];
    const about = my.title + " over " + mx.title + ", one point a setting";
    place.append(S.figure(my.title + " against " + mx.title, (my.better === "higher" ? "up" : "down") + " and to the " + (mx.better === "higher" ? "right" : "left") + " is better", about, S.fileOf("pareto", view.x2, view.y2), (chart, width) =>
      scatter(chart, width, drawn, front, view)));
    const parts = [];
    const partial = points.length - points.filter((p) => p.whole).length;
    const offline = points.filter((p) => p.offline).length;
    if (partial) parts.push(S.counted(partial, "setting") + " lack runs that others have (failed, missing, or without the number): drawn hollow, or not at all, and not on the front.");
    if (offline) parts.push(S.counted(offline, "setting") + " of policies that know the future: drawn, and not on the front.");
    place.append(html("p", { class: "note" }, "A point is a policy at a cache size" + (points[0] && points[0].wanted > 1 ? ", the mean of " + S.counted(points[0].wanted, "run") : "") + ". " + parts.join(" ")));
    place.append(frontTable(front, mx, my, view));
    return undefined;
  };
  function scatter(chart, width, points, front, view) {
    const [mx, my] = [S.metrics.get(view.x2), S.metrics.get(view.y2)];
    const box = S.sized(chart, width, 420, { left: 66, top: 12, right: 26, bottom: 46 });
    const values = (key) => points.map((p) => p[key].mean);
    const logs = (m) => view.log2 || m.kind === "size";
    const dx = S.near(values("x"), mx, logs(mx)), dy = S.near(values("y"), my, logs(my));
    const ux = S.unit(dx[1], mx), uy = S.unit(dy[1], my);
    const bytes = (m, u) => (m.kind === "size" ? { ...u, bytes: true } : u);
    const x = S.scale(dx[0], dx[1], box.left, box.right, logs(mx) && dx[0] > 0);
    const y = S.scale(dy[0], dy[1], box.bottom, box.top, logs(my) && dy[0] > 0);
    const steps = mx.kind === "size" ? Array.from(new Set(values("x"))).sort((a, b) => a - b) : S.ticks(x, Math.max(3, Math.floor(width / 110)), ux.length);
    chart.append(S.axisY(box, y, bytes(my, uy), S.titled(my, uy)));
    chart.append(S.axisX(box, steps.map((v) => ({ x: x(v), text: S.axisText(v, bytes(mx, ux)) })), S.titled(mx, ux), mx.kind !== "size"));
    const line = front.map((p, k) => (k ? "H" + x(p.x.mean) + "V" + y(p.y.mean) : "M" + x(p.x.mean) + " " + y(p.y.mean))).join("");
    if (line) chart.append(svg("path", { d: line, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, "stroke-dasharray": "5 3" }));
    const best = new Set(front), alive = [], groups = new Map();
    for (const p of points) {
      const px = x(p.x.mean), py = y(p.y.mean);
      if (!groups.has(p.code)) groups.set(p.code, svg("g", { "data-series": p.code }));
      const hollow = { fill: "var(--page)", stroke: S.look(p.code).color, "stroke-width": 1.5 };
      groups.get(p.code).append(S.mark(px, py, p.code, p.whole ? { "fill-opacity": best.has(p) ? 1 : 0.6 } : hollow));
      if (best.has(p)) groups.get(p.code).append(svg("circle", { cx: px, cy: py, r: 7.5, fill: "none", stroke: "var(--ink)", "stroke-width": 1.2 }));
      alive.push({ x: px, y: py, series: p.code, runs: p.runs, lines: () => [p.name, [mx.title, S.text(p.x.mean, mx)], [my.title, S.text(p.y.mean, my)], ["Runs", String(p.runs.length)], ["", best.has(p) ? "on the front" : p.offline ? "knows the future" : p.whole ? "" : "not all runs"]].filter((l) => !Array.isArray(l) || l[1] !== "") });
    }
    chart.append(...groups.values());
    S.alive(chart, alive, view.open);
  }
  function frontTable(front, mx, my, view) {
    const head = ["On the front", mx.title, my.title].map((t, k) => html("th", { scope: "col", class: k ? "" : "text" }, t));
    const rows = front.map(function (p) {
      const open = html("button", { type: "button", class: "link" }, p.name);
      open.addEventListener("click", () => view.open(p.runs));
      return html("tr", {}, html("th", { scope: "row" }, open), html("td", {}, S.text(p.x.mean, mx)), html("td", {}, S.text(p.y.mean, my)));
    });
    return html("div", { class: "scroll front", tabindex: 0, role: "region", "aria-label": "Settings on the front" }, html("table", { class: "data" }, html("thead", {}, html("tr", {}, head)), html("tbody", {}, rows)));
  }

  // ---- Distributions: a row a policy, a dot a run, a box from quartile to quartile.
  S.spread = function (place, runs, view) {
    S.forget(place);
    const metric = S.metrics.get(view.metric);
    const code = S.dimensions.get("cache").values.indexOf(view.at);
    const chosen = view.at === "" ? runs : runs.filter((i) => S.code("cache", i) === code);
    const panels = S.panels(chosen, view).map(function (panel) {
      const rows = S.grouped(panel.runs, ["label"]).map((g) => ({ code: g.codes[0], sum: S.sum(g.runs, view.metric, view.against) }));
      const sign = metric.better === "higher" ? -1 : 1;
      const middle = (r) => (r.sum.n ? sign * S.quantile(r.sum.sorted, 0.5) : Infinity);
      rows.sort((a, b) => { const x = middle(a), y = middle(b); return x === y ? a.code - b.code : x - y; });
      return { ...panel, rows: rows, values: rows.flatMap((r) => (r.sum.n ? [r.sum.low, r.sum.high] : [])) };
    });
    const scaled = (values) => (values.length ? S.near(values, metric, view.log) : null);
    const all = scaled(panels.flatMap((p) => p.values));
    if (!all) return S.nothing(place, "No run that is chosen has this number.");
    const shown = view.all ? panels : panels.slice(0, S.MOST_PANELS);
    const grid = html("div", { class: "panels" + (shown.length === 1 ? " one" : "") });
    for (const panel of shown) {
      const xs = view.own ? scaled(panel.values) : all;
      grid.append(S.figure(panel.name, "", metric.title + " of single runs, " + panel.name + ", one row a policy", S.fileOf("spread", view.metric, panel.name), (chart, width) =>
        strips(chart, width, panel, view, xs)));
    }
    place.append(grid);
    return undefined;
  };
  const STRIP = 26;
  function strips(chart, width, panel, view, xs) {
    const metric = S.metrics.get(view.metric);
    const labels = S.dimensions.get("label").values;
    const longest = Math.max(...panel.rows.map((r) => labels[r.code].length));
    const left = Math.min(12 + longest * 6.6, width * 0.36);
    const box = S.sized(chart, width, panel.rows.length * STRIP + 60, { left: left, top: 8, right: 30, bottom: 46 });
    const points = [];
    const unit = xs && S.unit(xs[1], metric, view.against);
    const x = xs && S.scale(xs[0], xs[1], box.left, box.right, view.log && xs[0] > 0);
    if (x) {
      const steps = S.ticks(x, Math.max(3, Math.floor((box.right - box.left) / 90)), unit ? unit.length : 1);
      const shown = metric.kind === "size" ? { ...unit, bytes: true } : unit;
      chart.append(S.axisX(box, steps.map((v) => ({ x: x(v), text: S.axisText(v, shown) })), S.titled(metric, unit, view.against), true));
    }
    panel.rows.forEach(function (row, k) {
      const middle = box.top + STRIP * (k + 0.5);
      const name = labels[row.code], look = S.look(row.code);
      const most = Math.floor((left - 10) / 6.3);
      chart.append(svg("text", { x: left - 10, y: middle + 4, "text-anchor": "end", "font-size": 12, fill: "var(--ink)" }, name.length > most ? name.slice(0, most - 1) + "\u2026" : name, svg("title", {}, name)));
      const group = svg("g", { "data-series": row.code });
      chart.append(group);
      const lacks = S.lacks(row.sum);
      if (row.sum.n && x) group.append(...boxOf(row, look, x, middle, points, name, view));
      if (lacks) {
        const where = row.sum.n ? box.right + 14 : box.left + 12;
        group.append(svg("path", { d: "M" + (where - 4) + " " + (middle - 4) + "l8 8m0 -8l-8 8", stroke: "var(--bad)", "stroke-width": 2 }));
        if (!row.sum.n) group.append(svg("text", { x: where + 10, y: middle + 4, "font-size": 12, fill: "var(--faint)" }, lacks));
        points.push({ x: where, y: middle, series: row.code, runs: row.sum.runs, lines: () => [name, ["Not drawn", lacks]] });
      }
    });
    S.alive(chart, points, view.open);
  }
  function boxOf(row, look, x, middle, points, name, view) {
    const metric = S.metrics.get(view.metric);
    const runs = row.sum.runs.map((i) => [i, S.value(i, view.metric, view.against)]).filter(([, v]) => v !== null);
    // Dots of one row are spread over its height in the order of their values, by thirds of a turn.
    runs.sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    const places = runs.map(([, v], k) => [x(v), Math.round((middle + (((k * 0.618) % 1) - 0.5) * 13) * 10) / 10]);
    runs.forEach(function ([i, v], k) {
      const lines = () => [name, [metric.title, S.text(v, metric, view.against)], ...["trace", "device", "ftl", "cache", "seed"].filter(S.several).map((d) => [S.dimensions.get(d).title, S.word(d, i) || S.NONE])];
      points.push({ x: places[k][0], y: places[k][1], series: row.code, runs: [i], lines: lines });
    });
    const drawn = [svg("path", { d: S.dots(places, runs.length > 200 ? 1.6 : 2.4), fill: look.color, "fill-opacity": runs.length > 60 ? 0.4 : 0.65 })];
    if (row.sum.n >= 4) {
      const [q1, q2, q3] = [0.25, 0.5, 0.75].map((q) => x(S.quantile(row.sum.sorted, q)));
      drawn.push(svg("rect", { x: q1, y: middle - 8, width: Math.max(1, q3 - q1), height: 16, rx: 2, fill: "none", stroke: look.color, "stroke-width": 1.5 }));
      drawn.push(svg("path", { d: "M" + q2 + " " + (middle - 8) + "v16", stroke: "var(--ink)", "stroke-width": 2.5 }));
    }
    return drawn;
  }
})();
