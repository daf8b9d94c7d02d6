// The page of a store: filters, choices, the address that keeps them, charts, the table of runs.
(function () {
  "use strict";
  const { model, html, hideTip, focus, draw, save, setAll, downloadCsv } = window.destage;
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const DONE = 0, NONE = "\u2013", NBSP = "\u00a0", MOST_PANELS = 12, PAGE = 50, MOST_STROKES = 60;
  const STATUS = ["done", "failed", "missing"], LACKS = ["failed", "missing", "undefined"];

  // ---- The runs as columns
  const dimensions = new Map(model.dimensions.map((d) => [d.name, d]));
  const metrics = new Map(model.metrics.map((m) => [m.name, m]));
  // What a run costs in memory is weighed like what it measures.
  metrics.set("cache_bytes", { name: "cache_bytes", title: "Cache size", kind: "size", unit: "", better: "lower", about: "bytes of cache" });
  metrics.set("cache_share", { name: "cache_share", title: "Cache, of the trace\u2019s pages", kind: "ratio", unit: "", better: "lower", about: "cache size over the pages that the trace uses" });
  // All runs; behind them those that are drawn only, without a cache at the sizes of the others.
  const drawnOnes = Array.from({ length: model.runs }, (_, i) => i), every = drawnOnes.slice(0, model.real), level = new Set(model.level);
  const real = (some) => Array.from(new Set(some.map((i) => (i < model.real ? i : model.level[i - model.real]))));
  const at = (column, i) => (Array.isArray(column) ? column[i] : column);
  const code = (name, i) => at(dimensions.get(name).at, i);
  const word = (name, i) => dimensions.get(name).values[code(name, i)];
  const told = (name, i) => model.told[name].values[at(model.told[name].at, i)];
  const size = (name, i) => at(model.sizes[name], i);
  const several = (name) => dimensions.get(name).values.length > 1;
  const labels = dimensions.get("label").values, caches = dimensions.get("cache").values, sized = caches.filter((v) => v !== "none");
  const outer = ["trace", "device", "ftl", "queue_depth", "options"].filter(several);
  // The axes beside cache size, each with the dimension of its values; `rest` is what is left of
  // the names that have the value in them, too.
  const axes = new Map(model.axes.map((a) => [a.name, a]));
  for (const a of axes.values()) {
    if (a.column) dimensions.set(a.name, { name: a.name, title: a.title, ...a.column });
    if (a.rest) dimensions.set(a.name + " rest", { name: a.name + " rest", ...a.rest });
  }
  const numeric = (name) => dimensions.get(name).values.every((v) => v === "" || Number.isFinite(Number(v)));

  function number(name, i) {
    if (model.status[i] !== DONE) return null;
    const column = name in model.numbers ? model.numbers[name] : model.sizes[name];
    return (column === undefined ? null : at(column, i)) ?? null;
  }
  // Runs in groups, by what they are in some dimensions; in the order of those.
  function grouped(runs, names) {
    const columns = names.map((name) => dimensions.get(name)), found = new Map();
    for (const i of runs) {
      let key = 0;
      for (const c of columns) key = key * c.values.length + at(c.at, i);
      const group = found.get(key);
      if (group) group.runs.push(i);
      else found.set(key, { key: key, codes: columns.map((c) => at(c.at, i)), runs: [i] });
    }
    return Array.from(found.values()).sort((a, b) => a.key - b.key);
  }
  // The run of the baseline that differs from a run in its policy alone.
  const others = model.dimensions.map((d) => d.name).filter((name) => name !== "label");
  const rest = (i) => others.map((name) => code(name, i)).join(" ");
  const partners = new Map();
  function partnerOf(i, label) {
    if (!partners.has(label)) partners.set(label, new Map(drawnOnes.filter((k) => word("label", k) === label && model.status[k] === DONE).map((k) => [rest(k), k])));
    return partners.get(label).get(rest(i));
  }
  // The number that is drawn: the metric, or the metric over that of the baseline; null is none.
  function value(i, name, against) {
    const own = number(name, i);
    if (!against || own === null) return own;
    const partner = partnerOf(i, against);
    const under = partner === undefined ? null : number(name, partner);
    return under ? own / under : null;
  }
  // Some runs together: how many have a number, and why the others have none.
  function sum(runs, name, against) {
    const found = { runs: runs, values: [], failed: 0, missing: 0, undefined: 0, mean: null, low: null, high: null };
    for (const i of runs) {
      const v = model.status[i] === DONE ? value(i, name, against) : null;
      if (v !== null) found.values.push(v);
      else found[model.status[i] === DONE ? "undefined" : STATUS[model.status[i]]] += 1;
    }
    found.n = found.values.length;
    found.lacks = runs.length - found.n;
    if (found.n) {
      found.mean = found.values.reduce((a, b) => a + b, 0) / found.n;
      found.low = Math.min(...found.values);
      found.high = Math.max(...found.values);
    }
    return found;
  }
  const median = (values) => (values.length ? Float64Array.from(values).sort()[values.length >> 1] : null);

  // ---- Words
  const formats = [0, 12].map((most) => new Intl.NumberFormat("en-US", { maximumFractionDigits: most }));
  const digits = (v, most) => formats[most ? 1 : 0].format(v);
  const counted = (count, one, many) => digits(count, 0) + " " + (count === 1 ? one : many || one + "s");
  function significant(v, most) {
    return v === 0 || Math.abs(v) >= 10 ** (most - 1) ? digits(v, 0) : digits(Number(v.toPrecision(most)), 12);
  }
  function bytes(v) {
    if (v === null) return NONE;
    const unit = Math.max(0, Math.min(5, Math.floor(Math.log2(v || 1) / 10)));
    return significant(v / 1024 ** unit, 3) + NBSP + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
  }
  const TIMES = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];
  // The unit that numbers of a metric share on an axis or in a column, and its length.
  function unitOf(high, metric, against) {
    if (against) return ["", 1];
    if (metric.kind === "time") return TIMES.find((t) => high >= t[1]) || TIMES[3];
    return metric.kind === "ratio" ? ["%", 0.01] : [metric.unit, 1];
  }
  // A number with its unit; `against` makes it a factor.
  function text(v, metric, against) {
    if (v === null || v === undefined) return NONE;
    if (against) return significant(v, 4) + NBSP + "\u00d7";
    if (metric.kind === "size") return bytes(v);
    const [unit, length] = unitOf(v, metric);
    if (metric.kind === "ratio") return (100 * v).toFixed(2) + NBSP + unit;
    const shown = metric.kind !== "time" && Number.isInteger(v) ? digits(v, 0) : significant(v / length, metric.kind === "time" ? 4 : 5);
    return unit ? shown + NBSP + unit : shown;
  }
  // Numbers that stand side by side: short, without the unit.
  function short(v, metric, length, against) {
    if (against) return significant(v, 3);
    if (metric.kind === "ratio") return (100 * v).toFixed(Math.abs(v) < 0.0995 ? 2 : 1);
    if (metric.kind === "size") return bytes(v);
    const scaled = v / length, [by, sign] = Math.abs(scaled) >= 1e6 ? [1e6, "M"] : Math.abs(scaled) >= 1e4 ? [1e3, "k"] : [1, ""];
    return significant(scaled / by, 3) + sign;
  }
  // Values of dimensions in words, as Python has them.
  const said = (name, code) => dimensions.get(name).said[code];
  const called = (names, codes) => names.map((name, k) => said(name, codes[k])).join(", ");
  const lacking = (s) => [s.failed && s.failed + " failed", s.missing && s.missing + " missing", s.undefined && s.undefined + " without this number"].filter(Boolean).join(", ");
  // A point in words, as a pointer and the arrow keys show it.
  function tipOf({ s, row }) {
    const metric = metrics.get(view.metric), shown = (v) => text(v, metric, view.against);
    return {
      "": row.label + ", " + (axes.has(view.x) ? inner(titleOf(view.x)) + " " : "") + row.cache, ...(s.n ? { [metric.title]: shown(s.mean) } : {}), ...(s.n > 1 ? { from: shown(s.low), to: shown(s.high) } : {}),
      Runs: String(s.n), ...(s.lacks ? { "Not among them": lacking(s) } : {}),
    };
  }

  // ---- Axes, as the charts take them
  // Where an axis begins and ends: at zero, unless all lie far away from it, or it is to be close.
  function domainOf(values, metric, against, log, close) {
    let low = Math.min(...values), high = Math.max(...values);
    if (low > high) return [0, 1];
    if (log && low > 0) return low === high ? [low / 1.5, high * 1.5] : [low / 1.05, high * 1.05];
    if (close && low > 0.2 * high) {
      const air = Math.max((high - low) * 0.06, high * 0.005);
      return [low - air, high + air];
    }
    if (against) [low, high] = [Math.min(low, 1), Math.max(high, 1)];
    if (high <= 0) return low < 0 ? [low * 1.05, 0] : [0, metric.kind === "ratio" ? 0.01 : 1];
    const free = (metric.kind === "ratio" || metric.kind === "count") && low > 0.6 * high;
    if (!against && !free) return [Math.min(0, low), high * 1.04];
    const air = Math.max((high - low) * 0.08, high * 0.005), top = high + air;
    return [Math.max(0, low - air), metric.kind === "ratio" && !against ? Math.min(1, top) : top];
  }
  function axisOf(values, metric, against, log, close) {
    const domain = domainOf(values, metric, against, log, close);
    const [unit, length] = unitOf(domain[1], metric, against);
    const title = against ? metric.title + " / that of " + against : metric.title + (unit ? " (" + unit + ")" : "");
    return { domain: domain, title: title, kind: against ? "real" : metric.kind, length: length, unit: unit };
  }

  // ---- Charts: drawn when they come onto the screen, and drawn again when their rows have changed.
  const jobs = new Set(), panels = [];
  const watcher = new IntersectionObserver(function (entries) {
    for (const entry of entries) entry.target.near(entry.isIntersecting);
  });
  function panel(kind) {
    const caption = html("span", {}), tools = html("span", { class: "tools" }), place = html("div", { class: "vega" });
    const figure = html("figure", {}, html("figcaption", {}, caption, tools), place);
    let want = null, stale = false, near = false, busy = false, result = null, logs = "", width = 0;
    const before = new Map();
    function isNew(name, value) {
      const text = JSON.stringify(value), same = before.get(name) === text;
      before.set(name, text);
      return !same;
    }
    const spec = () => ({ ...model.charts[kind], scales: model.charts[kind].scales.map((s) => (want.logs.includes(s.name.slice(-1)) ? { ...s, type: "log" } : s)) });
    const describe = () => result.view.description(want.about + ". Arrow keys go from point to point, Enter lists the runs behind one.");
    async function update() {
      busy = true;
      while (near && stale) {
        stale = false;
        if (result && logs === want.logs) {
          describe();
          // Rows and axes that are as before are left: Vega would lay all of them out again.
          const given = { ...want.data, ...want.signals, width: width };
          const changed = Object.keys(given).filter((name) => isNew(name, given[name]));
          for (const name of changed) if (name in want.data) result.view.data(name, want.data[name]);
          setAll(result.view, model.charts[kind], Object.fromEntries(changed.filter((name) => !(name in want.data)).map((name) => [name, given[name]])));
          if (changed.length) await result.view.runAsync();
          continue;
        }
        if (result) result.finalize();
        logs = want.logs;
        before.clear();
        for (const [name, value] of Object.entries({ ...want.data, ...want.signals })) isNew(name, value);
        result = await draw(place, spec(), want.data, want.signals, { tell: (d) => want.tell(d.told), open: (d) => open(want.runs(d.told)) });
        describe();
      }
      busy = false;
    }
    function due() {
      if (busy || !near || !stale) return;
      const job = update().finally(() => jobs.delete(job));
      jobs.add(job);
    }
    for (const type of ["svg", "png"]) {
      const button = html("button", { type: "button", class: "plain", "aria-label": "Save this chart as " + type.toUpperCase() }, type.toUpperCase());
      button.addEventListener("click", () => save(spec(), want.data, want.signals, place.clientWidth, want.file, type));
      tools.append(button);
    }
    const made = {
      figure: figure, place: place,
      measure: function () { width = place.clientWidth; },
      show: function (given) {
        want = { signals: {}, logs: "", ...given };
        stale = true;
        caption.replaceChildren(want.name, want.note ? html("small", {}, " " + want.note) : "");
        due();
      },
    };
    place.near = (now) => { near = now; due(); };
    watcher.observe(place);
    // Vega follows the window alone, and a panel grows when others go.
    new ResizeObserver(function () {
      const before = width;
      made.measure();
      if (result && !busy && width !== before) result.view.width(width).runAsync();
    }).observe(place);
    panels.push(made);
    return made;
  }
  // A row of panels: as many as are wanted, with the ones of before.
  const pools = new Map();
  function show(kind, wanted) {
    const place = $(kind);
    if (!pools.has(kind)) pools.set(kind, []);
    const pool = pools.get(kind);
    const shown = view.all ? wanted : wanted.slice(0, MOST_PANELS);
    while (pool.length < shown.length) pool.push(panel(kind));
    if (!place.children.length) place.append(html("div", { class: "panels" }), html("p", { class: "quiet" }, "No run that is chosen has this number."));
    const [grid, none] = place.children, before = grid.childElementCount;
    if (shown.length !== before) {
      grid.replaceChildren(...shown.map((_, k) => pool[k].figure));
      none.hidden = shown.length > 0;
      // A panel is drawn once, with its rows and the width that it has when others come or go.
      shown.forEach((_, k) => pool[k].measure());
    }
    shown.forEach((given, k) => pool[k].show({ ...given, file: [model.file, ...given.file].join("-").replace(/[^\w.-]+/g, "-") }));
  }

  // ---- The four charts
  const split = () => (view.panels === "" ? [] : view.panels === "each" ? outer : [view.panels]);
  // Panels of charts over an axis: its values meet in one panel, and cache sizes come apart.
  function panelNames() {
    const axis = axes.get(view.x), names = split();
    if (!axis) return names;
    const left = names.filter((n) => n !== axis.name).map((n) => (axis.rest && n === axis.of ? axis.name + " rest" : n));
    return [...left, ...(names.length ? ["cache"] : [])].filter(several);
  }
  function curvesAndHeat() {
    const metric = metrics.get(view.metric), names = panelNames();
    const found = grouped(charted, names).map((p) => ({ name: called(names, p.codes) || "All runs", cells: cellsOf(p.runs) }));
    const drawn = found.flatMap((p) => p.cells).filter((c) => c.s.n);
    const extent = (cells) => axisOf(cells.flatMap((c) => (c.s.n ? [c.s.low, c.s.high] : [])), metric, view.against, view.log);
    const sizes = (cells) => Array.from(new Set(cells.map((c) => c.row.at).filter((v) => v !== null))).sort((a, b) => a - b);
    const [allY, allX, allHeat] = [extent(drawn), sizes(drawn), depths(drawn, metric)];
    const wanted = drawn.length ? found : [];
    const over = titleOf(view.x);
    $("over").textContent = "Over " + inner(over);
    $("by").textContent = "Policies by " + inner(over);
    function ways(cells) {
      const known = new Map(cells.map((c) => [c.row.told, c]));
      return { tell: (k) => tipOf(known.get(k)), runs: (k) => known.get(k).s.runs };
    }
    show("curves", wanted.map(function (p) {
      const across = acrossOf(view.own ? sizes(p.cells) : allX, p.cells);
      return {
        name: p.name, note: "", about: metric.title + " over " + inner(over) + ", " + p.name + ", one line a policy", file: [view.metric, p.name],
        data: { rows: p.cells.map((c) => c.row), ones: view.against ? [{ one: 1 }] : [] }, logs: (view.log ? "y" : "") + (across.log ? "x" : ""),
        signals: { across: across, up: view.own ? extent(p.cells) : allY }, ...ways(p.cells),
      };
    }));
    show("heat", wanted.map(function (p) {
      const depth = view.own ? depths(p.cells, metric) : allHeat;
      const rows = p.cells.map((c) => ({ ...c.row, ...(c.s.n ? depth.of(c.s.mean) : {}) }));
      return { name: p.name, note: allY.title, about: "Heat map, " + p.name, file: ["heat", view.metric, p.name], data: { rows: rows }, signals: { across: { title: over } }, ...ways(p.cells) };
    }));
    $("key").replaceChildren(...(drawn.length ? keyOf(view.own ? null : allHeat, metric) : []));
  }
  const titleOf = (x) => (axes.has(x) ? axes.get(x).title : "Cache size");
  // A title within a sentence: keys and abbreviations stay as they are.
  const inner = (title) => (/^[A-Z][a-z]/.test(title) ? title[0].toLowerCase() + title.slice(1) : title);
  // The axis from left to right: sizes and wide ranges by factors, other numbers as they are, names side by side.
  function acrossOf(xs, cells) {
    const [first, last] = [xs[0], xs[xs.length - 1]], axis = axes.get(view.x), share = view.x === "cache_share";
    const names = axis && !numeric(view.x), log = !names && first > 0 && (!axis || last > 20 * first);
    const air = log ? (xs.length > 1 ? (last / first) ** 0.03 : 1.5) : names ? 0.4 : 0.03 * (last - first) || 0.5;
    return {
      domain: log ? [first / air, last * air] : xs.length ? [first - air, last + air] : [0, 1], ticks: xs, log: log,
      title: titleOf(view.x) + (share ? ", of the trace\u2019s pages (%, log scale)" : log ? " (log scale)" : ""),
      kind: axis ? (names ? "name" : "real") : share ? "ratio" : "size", length: share ? 0.01 : 1, form: share ? ".2~r" : ",.6~g",
      names: names ? Object.fromEntries(cells.map((c) => [c.row.at, c.row.cache])) : {},
    };
  }
  // A policy at a value of the axis, with its row for the charts; sizes are means, if its runs differ.
  function cellsOf(runs) {
    const axis = axes.has(view.x), by = axis ? view.x : "cache", where = new Map();
    for (const c of grouped(runs, [by])) {
      const text = dimensions.get(by).values[c.codes[0]];
      const known = axis ? [numeric(by) ? Number(text) : c.codes[0]].filter(() => text !== "" || !numeric(by)) : c.runs.map((i) => size(view.x, i)).filter(Boolean);
      where.set(c.codes[0], known.length ? known.reduce((a, b) => a + b, 0) / known.length : null);
    }
    const shown = (code) => (by.endsWith("options") ? said(by, code) : dimensions.get(by).values[code] || NONE);
    return grouped(runs, ["label", by]).map(function (c) {
      const [label, cache] = c.codes, s = sum(c.runs, view.metric, view.against);
      const why = { failed: "\u2715", missing: "?", undefined: NONE }[LACKS.find((k) => s[k])] || "";
      const row = { told: c.key, label: labels[label], place: label, cache: shown(cache), column: cache, at: where.get(cache), mean: s.mean, low: s.low, high: s.high, lacks: s.lacks, whole: !s.lacks, why: why };
      return { s: s, row: row };
    });
  }
  // From a number to the depth of its colour, 0 to 1; with a baseline, blue is better than it.
  function depths(cells, metric) {
    const values = cells.filter((c) => c.s.n).map((c) => c.s.mean);
    let low = Math.min(...values), high = Math.max(...values);
    const length = unitOf(high, metric, view.against)[1], sign = metric.better === "lower" ? -1 : 1;
    const most = Math.max(...values.filter((v) => v > 0).map((v) => Math.abs(Math.log2(v))), 0.01);
    const to = view.log && low > 0 ? Math.log : (v) => v, [from, over] = [to(low), to(high)];
    if (view.against) [low, high] = sign < 0 ? [2 ** most, 2 ** -most] : [2 ** -most, 2 ** most];
    return {
      low: low, high: high,
      of: function (v) {
        const share = view.against ? (v > 0 ? (sign * Math.log2(v)) / most : -sign) : over > from ? (to(v) - from) / (over - from) : 0.5;
        const depth = Math.min(1, Math.abs(share));
        return { depth: depth, worse: share < 0, deep: depth > 0.72, said: short(v, metric, length, view.against) };
      },
    };
  }
  function keyOf(depth, metric) {
    const better = { higher: "higher is better", lower: "lower is better" }[metric.better];
    const ramp = (v) => html("span", {}, text(v, metric, view.against));
    const scale = depth ? [ramp(depth.low), html("span", { class: view.against ? "ramp two" : "ramp", "aria-hidden": "true" }), ramp(depth.high)] : [html("span", {}, "each map has colours of its own")];
    const signs = "\u2715 failed, ? missing, " + NONE + " no such number, \u25e5 only some runs have it";
    return [...scale, html("span", { class: "quiet" }, [view.against ? "" : better, signs].filter(Boolean).join("; "))];
  }

  // ---- The front. A point is a policy at a cache size, on a drive: means over traces and seeds.
  const SETTING = ["device", "ftl", "queue_depth", "options", "label", "cache"];
  function settings(runs, view) {
    const named = SETTING.filter((name) => name !== "label" && several(name)), covers = new Map();
    const points = grouped(runs, SETTING).map(function (g) {
      const both = g.runs.filter((i) => number(view.x2, i) !== null && number(view.y2, i) !== null);
      const over = grouped(both, ["trace", "seed"]).map((o) => o.key), cover = over.join(",");
      if (both.length) covers.set(cover, [over.length, (covers.get(cover) || [0, 0])[1] + 1, cover]);
      const label = g.codes[4];
      return { key: g.key, label: label, name: [labels[label], called(named, named.map((n) => g.codes[SETTING.indexOf(n)]))].filter(Boolean).join(", "), runs: g.runs, x: sum(both, view.x2).mean, y: sum(both, view.y2).mean, cover: cover, offline: model.looks[label].offline };
    });
    // Compared are settings with the same traces and seeds: the largest set that any has.
    const [wanted] = Array.from(covers.values()).sort((a, b) => b[0] - a[0] || b[1] - a[1] || (a[2] < b[2] ? 1 : -1));
    for (const p of points) { p.whole = Boolean(wanted) && p.cover === wanted[2]; p.wanted = wanted ? wanted[0] : 0; }
    return points;
  }
  // Points that none beats in both; bounds that know the future are no competitors.
  function front(points, view) {
    const [sx, sy] = [view.x2, view.y2].map((name) => (metrics.get(name).better === "higher" ? -1 : 1));
    const able = points.filter((p) => p.whole && !p.offline).sort((a, b) => sx * (a.x - b.x) || sy * (a.y - b.y));
    const found = [];
    for (const p of able) {
      const last = found[found.length - 1];
      if (!last || sy * p.y < sy * last.y || (p.y === last.y && p.x === last.x)) found.push(p);
    }
    return found;
  }
  function pareto() {
    const points = settings(runs, view), best = front(points, view), on = new Set(best);
    const drawn = points.filter((p) => p.x !== null && p.y !== null);
    const [mx, my] = [metrics.get(view.x2), metrics.get(view.y2)], log = (m) => view.log2 || m.kind === "size";
    const said = (p) => (on.has(p) ? "on the front" : p.offline ? "knows the future" : p.whole ? "" : "not all runs");
    const known = new Map(drawn.map((p) => [p.key, p]));
    const tell = (k) => { const p = known.get(k); return { "": p.name, [mx.title]: text(p.x, mx), [my.title]: text(p.y, my), Runs: String(p.runs.length), " ": said(p) }; };
    const rows = drawn.map((p) => ({ told: p.key, label: labels[p.label], x: p.x, y: p.y, whole: p.whole, front: on.has(p) }));
    const axes = [["across", "x", mx], ["up", "y", my]].map(([name, key, m]) => [name, axisOf(drawn.map((p) => p[key]), m, "", log(m), true)]);
    const logs = axes.filter(([, a]) => a.domain[0] > 0).map(([name]) => (name === "up" ? log(my) && "y" : log(mx) && "x")).filter(Boolean).join("");
    show("front", !drawn.length ? [] : [{
      name: my.title + " against " + mx.title, note: (my.better === "higher" ? "up" : "down") + " and to the " + (mx.better === "higher" ? "right" : "left") + " is better",
      about: my.title + " over " + mx.title + ", one point a setting", file: ["pareto", view.x2, view.y2],
      data: { rows: rows }, signals: Object.fromEntries(axes), logs: logs, tell: tell, runs: (k) => known.get(k).runs,
    }]);
    const partial = points.filter((p) => !p.whole).length, offline = points.filter((p) => p.offline).length;
    $("front-note").textContent = "A point is a policy at a cache size" + (points[0] && points[0].wanted > 1 ? ", the mean of " + counted(points[0].wanted, "run") : "") + ". "
      + (partial ? counted(partial, "setting") + " lack runs that others have (failed, missing, or without the number): drawn hollow, or not at all, and not on the front. " : "")
      + (offline ? counted(offline, "setting") + " of policies that know the future: drawn, and not on the front." : "");
    const head = ["On the front", mx.title, my.title].map((t, k) => html("th", { scope: "col", class: k ? "" : "text" }, t));
    const body = best.map((p) => html("tr", {}, html("th", { scope: "row" }, press(p.name, () => open(p.runs), "link")), html("td", {}, text(p.x, mx)), html("td", {}, text(p.y, my))));
    $("front-table").replaceChildren(html("thead", {}, html("tr", {}, head)), html("tbody", {}, body));
  }

  // ---- Distributions: a row a policy, the best median on top, a stroke a run.
  function spread() {
    const metric = metrics.get(view.metric), names = split(), sign = metric.better === "higher" ? -1 : 1;
    const chosen = view.at === "" ? runs : charted.filter((i) => word("cache", i) === view.at);
    const found = grouped(chosen, names).map(function (p) {
      const rows = [], sums = new Map(), groups = grouped(p.runs, ["label"]).map((g) => ({ code: g.codes[0], s: sum(g.runs, view.metric, view.against) }));
      const middle = (g) => (g.s.n ? sign * median(g.s.values) : Infinity);
      groups.sort((a, b) => (middle(a) === middle(b) ? a.code - b.code : middle(a) - middle(b)));
      groups.forEach(function (g, place) {
        const own = g.s.runs.map((i) => [i, value(i, view.metric, view.against)]).filter(([, v]) => v !== null).sort((a, b) => a[1] - b[1]);
        const base = { label: labels[g.code], place: place };
        // Of more, those in the middle stand behind each other: the box shows them.
        const drawn = (k) => own.length <= MOST_STROKES || k < MOST_STROKES / 2 || k >= own.length - MOST_STROKES / 2;
        own.forEach(([i, v], k) => rows.push({ ...base, told: drawn(k) ? i : undefined, value: v, drawn: drawn(k) }));
        // The runs of a cross stand behind those of strokes.
        if (g.s.lacks) rows.push({ ...base, told: model.runs + g.code, value: null, lacks: g.s.lacks });
        sums.set(model.runs + g.code, g.s);
      });
      return { name: called(names, p.codes) || "All runs", rows: rows, sums: sums, values: rows.map((r) => r.value).filter((v) => v !== null) };
    });
    const axis = (values) => axisOf(values, metric, view.against, view.log, true);
    const all = axis(found.flatMap((p) => p.values));
    show("spread", !found.some((p) => p.values.length) ? [] : found.map((p) => ({
      name: p.name, note: "", about: metric.title + " of single runs, " + p.name + ", one row a policy", file: ["spread", view.metric, p.name],
      data: { rows: p.rows }, signals: { across: view.own ? axis(p.values) : all }, logs: view.log && all.domain[0] > 0 ? "x" : "",
      tell: (k) => tipOfRun(p, k), runs: (k) => (k < model.runs ? [k] : p.sums.get(k).runs),
    })));
  }

  function tipOfRun({ sums }, k) {
    if (k >= model.runs) return { "": labels[k - model.runs], "Not drawn": lacking(sums.get(k)) };
    const metric = metrics.get(view.metric), where = ["trace", "device", "ftl", "cache", "seed"].filter(several);
    return { "": word("label", k), [metric.title]: text(value(k, view.metric, view.against), metric, view.against), ...Object.fromEntries(where.map((d) => [dimensions.get(d).title, word(d, k) || NONE])) };
  }

  // ---- What is chosen. A filter without an entry lets everything through.
  const core = model.metrics.filter((m) => m.core);
  const groups = grouped(every, outer).length;
  const usual = {
    metric: (core[0] || model.metrics[0] || { name: "cache_bytes" }).name, against: "", x: sized.length < 2 && axes.size ? axes.keys().next().value : sized.every((v) => v.endsWith("%")) ? "cache_share" : "cache_bytes",
    // Several sizes in one distribution would hide what traces and seeds do.
    at: (sized.length ? sized : caches)[sized.length >> 1],
    panels: !outer.length ? "" : outer.length > 1 && groups <= MOST_PANELS ? "each" : outer[0],
    log: false, own: false, x2: model.pair[0], y2: model.pair[1], log2: false, ...model.opens,
  };
  const view = { ...usual, all: false, filters: new Map(), picked: null };
  const weighed = ["cache_bytes", "cache_share", ...model.metrics.filter((m) => m.better !== "neither").map((m) => m.name)];
  const choices = {
    metric: model.metrics.map((m) => m.name), against: ["", ...labels], x: [...(sized.length > 1 || !axes.size ? ["cache_share", "cache_bytes"] : []), ...axes.keys()], at: ["", ...caches],
    panels: ["", ...outer, ...(outer.length > 1 ? ["each"] : [])], x2: weighed, y2: weighed,
  };
  function readAddress() {
    for (const [name, given] of new URLSearchParams(location.hash.slice(1))) {
      const d = name.startsWith("only.") && dimensions.get(name.slice(5));
      if (typeof usual[name] === "boolean") view[name] = given === "1";
      else if (name in choices && choices[name].includes(given)) view[name] = given;
      else if (d) view.filters.set(d.name, new Set(JSON.parse(given).map((v) => d.values.indexOf(v)).filter((k) => k >= 0)));
    }
  }
  function writeAddress() {
    const said = new URLSearchParams();
    if (root.dataset.theme) said.set(root.dataset.theme, "");
    for (const [name, v] of Object.entries(usual)) if (view[name] !== v) said.set(name, typeof v === "boolean" ? "1" : view[name]);
    for (const [name, codes] of view.filters) said.set("only." + name, JSON.stringify(Array.from(codes, (k) => dimensions.get(name).values[k])));
    history.replaceState(null, "", String(said) ? "#" + said : location.pathname + location.search);
  }

  // ---- Drawing, once a frame however much was pressed.
  let due = null, runs = every, charted = every;
  function change() {
    view.picked = null;
    if (!due) due = new Promise((done) => requestAnimationFrame(() => { due = null; redraw(); done(); }));
  }
  function redraw() {
    hideTip();
    const filters = Array.from(view.filters);
    const fits = (i) => filters.every(([name, codes]) => codes.has(code(name, i)));
    runs = every.filter(fits);
    charted = drawnOnes.filter((i) => !level.has(i) && fits(i));
    writeAddress();
    $("count").textContent = counted(runs.length, "run") + (runs.length === model.real ? "" : " of " + digits(model.real, 0));
    for (const named of facets) named();
    curvesAndHeat();
    pareto();
    spread();
    for (const more of document.querySelectorAll(".more-panels")) {
      const wanted = more.previousElementSibling.id === "spread" ? grouped(runs, split()).length : grouped(charted, panelNames()).length;
      more.hidden = wanted <= MOST_PANELS;
      more.firstElementChild.textContent = (view.all ? "" : MOST_PANELS + " of ") + counted(wanted, "panel") + " drawn";
      more.lastElementChild.textContent = view.all ? "Fewer" : "All of them";
    }
    note();
    table();
  }
  function note() {
    const s = sum(runs, view.metric, view.against), metric = metrics.get(view.metric);
    const lacks = [
      s.failed && counted(s.failed, "run") + " failed", s.missing && counted(s.missing, "run is", "runs are") + " missing",
      s.undefined && counted(s.undefined, "run has", "runs have") + " no number here" + (view.against ? ", or none of " + view.against + " to stand beside" : ""),
    ].filter(Boolean);
    const several = grouped(runs, [...panelNames(), "label", axes.has(view.x) ? view.x : "cache"]).length < runs.length;
    $("about").textContent = metric.title + ": " + metric.about + (view.against ? ", over that of " + view.against + " in the same place, run by run" : "") + "."
      + (several ? " Points and cells are means of the runs that meet there, bars reach from the least to the largest." : "")
      + (lacks.length ? " Not drawn: " + lacks.join(", ") + "; a cross, a hollow marker or a dashed cell says where." : "");
  }

  // ---- Choices
  function press(name, done, css) {
    const made = html("button", { type: "button", class: css || "plain" }, name);
    made.addEventListener("click", done);
    return made;
  }
  function select(name, words) {
    for (const v of choices[name]) {
      const [told, group] = words(v);
      const into = group ? Array.from($(name).children).find((g) => g.label === group) || $(name).appendChild(html("optgroup", { label: group })) : $(name);
      into.append(html("option", { value: v }, told));
    }
    $(name).value = view[name];
    $(name).addEventListener("change", function () {
      view[name] = $(name).value;
      if (name === "panels") view.all = false;
      change();
    });
  }
  const named = (name) => [metrics.get(name).title, metrics.get(name).core === false ? "More" : name.startsWith("cache_") ? "Cache" : "Usual"];
  function setUp() {
    for (const name of ["metric", "x2", "y2"]) select(name, named);
    select("against", (v) => [v === "" ? "absolute" : "relative to " + v]);
    select("x", (v) => [axes.has(v) ? axes.get(v).title : v === "cache_share" ? "Cache size, share of the trace\u2019s pages" : "Cache size, bytes"]);
    select("panels", (v) => [v === "" ? "one" : v === "each" ? "one per setting" : "one per " + (v === "ftl" ? "FTL" : dimensions.get(v).title.toLowerCase())]);
    select("at", (v) => [v === "" ? "all sizes" : v]);
    for (const name of ["log", "own", "log2"]) {
      $(name).checked = view[name];
      $(name).addEventListener("change", function () { view[name] = $(name).checked; change(); });
    }
    for (const more of document.querySelectorAll(".more-panels")) more.lastElementChild.addEventListener("click", function () { view.all = !view.all; change(); });
    $("reset").addEventListener("click", function () { view.filters.clear(); change(); });
    for (const d of model.dimensions) if (d.values.length > 1) $("facets").append(facet(d));
    for (const legend of document.querySelectorAll(".legend")) chips(legend);
  }

  // ---- Filters: a button that unfolds boxes to tick; of many values, a word finds some.
  const facets = [];
  const setFilter = (name, codes) => {
    if (codes.size === dimensions.get(name).values.length) view.filters.delete(name);
    else view.filters.set(name, codes);
    change();
  };
  // A sample of a policy's line, beside its name, as the page has it.
  const swatch = (k) => $("swatches").content.children[k].cloneNode(true);
  function facet({ name, values, title, several }) {
    const button = html("button", { type: "button", class: "plain", "aria-expanded": "false", "aria-controls": "facet-" + name });
    const list = html("div", { class: "ticks" });
    const folded = html("div", { class: "unfolded", id: "facet-" + name, hidden: true, role: "group", "aria-label": title });
    const boxes = values.map(function (_, k) {
      const box = html("input", { type: "checkbox" }), word = said(name, k);
      box.addEventListener("change", () => setFilter(name, new Set(boxes.flatMap((b, k) => (b.checked ? [k] : [])))));
      list.append(html("label", { "data-text": word.toLowerCase() }, box, name === "label" ? swatch(k) : "", html("span", {}, word)));
      return box;
    });
    const bar = html("div", { class: "pick" }, press("All", () => setFilter(name, new Set(values.keys()))), press("None", () => setFilter(name, new Set())));
    if (values.length > 8) {
      const find = html("input", { type: "search", placeholder: "Find", "aria-label": "Find among " + several });
      const rows = Array.from(list.children), fits = (row) => row.dataset.text.includes(find.value.trim().toLowerCase());
      find.addEventListener("input", () => rows.forEach((row) => { row.hidden = !fits(row); }));
      folded.append(find);
      bar.append(press("Only these", () => setFilter(name, new Set(rows.flatMap((row, k) => (fits(row) ? [k] : []))))));
    }
    folded.append(bar, list);
    const fold = (shown) => { folded.hidden = !shown; button.setAttribute("aria-expanded", String(shown)); };
    button.addEventListener("click", function () {
      fold(folded.hidden);
      // What is unfolded stays on the screen.
      folded.style.left = "0";
      folded.style.left = Math.min(0, root.clientWidth - 8 - folded.getBoundingClientRect().right) + "px";
    });
    const whole = html("div", { class: "facet" }, button, folded);
    whole.addEventListener("keydown", function (event) {
      if (event.key === "Escape" && !folded.hidden) { fold(false); button.focus(); event.stopPropagation(); }
    });
    document.addEventListener("pointerdown", (event) => { if (!whole.contains(event.target)) fold(false); });
    whole.addEventListener("focusout", (event) => { if (event.relatedTarget && !whole.contains(event.relatedTarget)) fold(false); });
    facets.push(function () {
      const now = view.filters.get(name);
      boxes.forEach((box, k) => { box.checked = !now || now.has(k); });
      const chosen = !now ? "all " + values.length : now.size === 1 ? said(name, Array.from(now)[0]) : now.size + " of " + values.length;
      button.replaceChildren(html("span", { class: "quiet" }, title), " " + chosen);
      button.classList.toggle("narrowed", Boolean(now));
    });
    return whole;
  }
  function chips(place) {
    if (labels.length < 2) return;
    labels.forEach(function (label, k) {
      const on = () => !view.filters.has("label") || view.filters.get("label").has(k);
      const chip = html("button", { type: "button", class: "chip", title: label }, swatch(k), html("span", {}, label));
      chip.addEventListener("click", function () {
        const now = new Set(view.filters.get("label") || labels.keys());
        if (!now.delete(k)) now.add(k);
        setFilter("label", now);
      });
      const focus = (shown) => { for (const p of panels) focus(p.place, shown); };
      chip.addEventListener("pointerenter", () => on() && focus(label));
      chip.addEventListener("pointerleave", () => focus(null));
      facets.push(() => chip.setAttribute("aria-pressed", String(on())));
      place.append(chip);
    });
  }

  // ---- The runs, fifty at a time.
  const sorting = { name: null, up: true, page: 0 };
  const keyed = ["label", ...model.dimensions.filter((d) => d.name !== "label" && d.values.length > 1).map((d) => d.name)];
  function listed() {
    const list = (view.picked || runs).slice(), name = sorting.name, sign = sorting.up ? 1 : -1;
    if (name === null) return list;
    const key = (i) => (dimensions.has(name) ? code(name, i) : name === "size" ? size("cache_bytes", i) : number(name, i));
    return list.sort(function (a, b) {
      const x = key(a), y = key(b);
      return x === null || y === null ? (x === null) - (y === null) : sign * (x - y) || a - b;
    });
  }
  function table() {
    const list = listed(), names = core.map((m) => m.name);
    if (!names.includes(view.metric)) names.unshift(view.metric);
    const pages = Math.max(1, Math.ceil(list.length / PAGE));
    sorting.page = Math.min(sorting.page, pages - 1);
    const from = sorting.page * PAGE, some = list.slice(from, from + PAGE);
    const units = names.map((name) => unitOf(metrics.get(name).kind === "time" ? median(list.map((i) => number(name, i)).filter((v) => v !== null)) : 0, metrics.get(name)));
    const heads = [...keyed.map((n) => [n, dimensions.get(n).title, "", "text"]), ["size", "Size", "", ""], ...names.map((n, k) => [n, metrics.get(n).title, units[k][0], ""])].map(function ([name, title, unit, css]) {
      const cell = html("th", { scope: "col", class: css }, press(title, function () {
        sorting.up = sorting.name === name ? !sorting.up : !metrics.has(name) || metrics.get(name).better !== "higher";
        Object.assign(sorting, { name: name, page: 0 });
        table();
        Array.from(document.querySelectorAll("#runs th button")).find((b) => b.textContent === title).focus();
      }, "sort"), html("small", {}, unit));
      if (sorting.name === name) cell.setAttribute("aria-sort", sorting.up ? "ascending" : "descending");
      return cell;
    });
    $("runs").replaceChildren(html("thead", {}, html("tr", {}, heads)), html("tbody", {}, some.map((i) => row(i, names, units))));
    $("where").textContent = list.length ? digits(from + 1, 0) + " to " + digits(from + some.length, 0) + " of " + counted(list.length, "run") : "No run is chosen.";
    $("before").disabled = sorting.page === 0;
    $("behind").disabled = sorting.page >= pages - 1;
    $("unpick").hidden = !view.picked;
  }
  const fact = (title, i) => { const f = model.facts.find((f) => f.title === title); return f.values[at(f.at, i)]; };
  function row(i, names, units) {
    const cells = keyed.slice(1).map((n) => html("td", { class: "text" }, n === "options" ? said(n, code(n, i)) : word(n, i) || NONE));
    cells.push(html("td", {}, fact("Size", i) || NONE));
    if (model.status[i] !== DONE) cells.push(html("td", { class: "text lost", colspan: String(names.length), title: fact("Status", i) }, fact("Status", i)));
    else names.forEach(function (name, k) {
      const metric = metrics.get(name), v = number(name, i);
      const said = v === null ? NONE : metric.kind === "ratio" ? (100 * v).toFixed(2) : metric.kind !== "time" && Number.isInteger(v) ? digits(v, 0) : short(v, metric, units[k][1]);
      cells.push(html("td", v === null ? { title: "this run has no such number" } : {}, said));
    });
    return html("tr", {}, html("th", { scope: "row" }, press(word("label", i), () => detail(i), "link")), cells);
  }
  // The runs behind a point: one in detail, several in the table.
  function open(given) {
    hideTip();
    const some = real(given);
    if (some.length === 1) return detail(some[0]);
    view.picked = some;
    sorting.page = 0;
    table();
    $("all-runs").scrollIntoView({ block: "start" });
    document.querySelector("#runs tbody button").focus({ preventScroll: true });
    return undefined;
  }
  function saveTable() {
    const names = model.metrics.map((m) => m.name), sizes = Object.keys(model.sizes), dims = model.dimensions.map((d) => d.name), more = Object.keys(model.told);
    downloadCsv([["status", ...more, ...dims, ...sizes, ...names], ...listed().map((i) =>
      [STATUS[model.status[i]], ...more.map((n) => told(n, i)), ...dims.map((n) => word(n, i)), ...sizes.map((n) => size(n, i)), ...names.map((n) => number(n, i))])], model.file + "-runs");
  }

  // ---- One run
  const dialog = $("run");
  let shown = 0;
  function detail(i) {
    shown = i;
    const facts = model.facts.map((f) => [f.title, f.values[at(f.at, i)]]);
    const body = [html("dl", { class: "made" }, facts.filter(([name, v]) => v && name !== "Size").flatMap(([name, v]) => [html("dt", {}, name), html("dd", {}, v)]))];
    const numbers = model.metrics.filter((m) => number(m.name, i) !== null), absent = model.metrics.length - numbers.length;
    if (model.status[i] === DONE) {
      const place = tail(i);
      if (place) body.push(html("h4", {}, "Response times"), place);
      const rows = numbers.map((m) => html("tr", { title: m.about }, html("th", { scope: "row" }, m.title), html("td", {}, text(number(m.name, i), m)), html("td", { class: "text quiet" }, m.about)));
      body.push(html("div", { class: "scroll low", tabindex: "0", role: "region", "aria-label": "Numbers of the run" }, html("table", { class: "data numbers" }, html("tbody", {}, rows))));
      if (absent) body.push(html("p", { class: "note" }, counted(absent, "number") + " of other runs do not exist for its policy or device."));
      body.push(html("p", { class: "note" }, "Whole, as it was kept: "), html("pre", { class: "command" }, "destage results STORE --where \"id == '" + told("id", i) + "'\" --json -"));
    }
    $("run-title").textContent = word("label", i) + ", " + (word("cache", i) || fact("Size", i));
    $("run-body").replaceChildren(...body);
    if (!dialog.open) dialog.showModal();
    $("run-body").scrollTop = 0;
  }
  const NINES = [["p50", 0.5], ["p90", 0.9], ["p95", 0.95], ["p99", 0.99], ["p999", 0.999], ["p9999", 0.9999]];
  function tail(i) {
    const metric = { title: "Response", kind: "time" };
    const rows = [["response", "all"], ["read_response", "reads"], ["write_response", "writes"]].flatMap(([prefix, kind]) => NINES
      .map(([p, share]) => [share, number(prefix + "_ns_" + p, i)]).filter(([, ns]) => ns)
      .map(([share, ns]) => ({ kind: kind, label: kind, nines: -Math.log10(1 - share), ns: ns })));
    if (rows.length < 2) return null;
    rows.forEach((r, k) => { r.told = k; });
    const place = html("div", { class: "vega" }), up = axisOf(rows.map((r) => r.ns), metric, "", true);
    // The dialog gives the chart its width: it is drawn when it is open.
    const job = new Promise(requestAnimationFrame).then(() => draw(place, model.charts.tail, { rows: rows }, { up: up }, { tell: (d) => tipOfTail(rows[d.told]) })).finally(() => jobs.delete(job));
    jobs.add(job);
    return place;
  }
  const tipOfTail = (r) => ({ "": r.kind, [Number((100 - 100 * 10 ** -r.nines).toPrecision(6)) + " %"]: text(r.ns, { kind: "time" }) });
  function step(by) {
    const list = listed(), k = list.indexOf(shown) + by;
    if (k >= 0 && k < list.length) detail(list[k]);
  }

  readAddress();
  setUp();
  $("theme").addEventListener("click", writeAddress);
  const turn = (by) => () => { sorting.page += by; table(); };
  const clicks = { before: turn(-1), behind: turn(1), unpick: () => { view.picked = null; table(); }, csv: saveTable, "run-close": () => dialog.close(), "run-before": () => step(-1), "run-behind": () => step(1) };
  for (const [id, done] of Object.entries(clicks)) $(id).addEventListener("click", done);
  dialog.addEventListener("keydown", function (event) {
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  window.addEventListener("hashchange", () => location.reload());
  // Until all that is on the screen is drawn; `everything` draws the rest, too.
  async function drawn(everything) {
    if (everything) for (const p of panels) p.place.near(true);
    while (due || jobs.size) await (due || Promise.all(jobs));
  }
  window.addEventListener("beforeprint", () => drawn(true));
  if (sized.length < 2 && !axes.size) $("curves").closest("section").hidden = true;
  redraw();
  window.destageStore = { every, word, settings, front, drawn };
  root.dataset.ready = "true";
})();
