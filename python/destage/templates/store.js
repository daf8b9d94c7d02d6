// Which runs are shown: filters, the address that keeps them, and drawing them again. Words and numbers
// of runs are columns of the page. What depends on the filters is put together here, since Python
// cannot know it: means, medians, factors, the front, and the reach of axes.
(function () {
  "use strict";
  const { model, html, hideTip, focus, draw, save, setAll, downloadCsv } = window.destage;
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const NBSP = "\u00a0", NONE = "\u2013", MOST_PANELS = 12, PAGE = 50, MOST_STROKES = 60;
  const LACKS = ["failed", "missing", "undefined"];

  // ---- The runs as columns: values, each with its words, and the place of each run among them.
  const columns = model.columns, digit = new Map(Array.from(model.letters, (letter, k) => [letter, k]));
  function codesOf(name) {
    const { at } = columns[name], width = at.length / model.runs;
    if (typeof at === "string") columns[name].at = Uint32Array.from({ length: model.runs }, function (_, i) {
      let place = 0;
      for (let k = i * width; k < (i + 1) * width; k++) place = place * model.letters.length + digit.get(at[k]);
      return place;
    });
    return columns[name].at;
  }
  const code = (name, i) => codesOf(name)[i];
  const raw = (name, i) => columns[name].values[code(name, i)];
  const words = (name) => columns[name].said || columns[name].values;
  const said = (name, i) => words(name)[code(name, i)] ?? NONE;
  const dimensions = Object.keys(model.titles);
  const several = (name) => columns[name].values.length > 1;
  const done = codesOf("status").map((place) => Number(columns.status.values[place] === "done"));
  // Numbers of a metric by run, none where the run is not done: filters look at all of them.
  const numbers = new Map();
  function numbersOf(name) {
    if (!numbers.has(name)) numbers.set(name, Array.from(codesOf(name), (place, i) => (done[i] ? columns[name].values[place] : null)));
    return numbers.get(name);
  }
  const number = (name, i) => numbersOf(name)[i];

  const metrics = new Map(model.metrics.map((m) => [m.name, m])), axes = new Map(model.axes.map((a) => [a.name, a]));
  const own = model.metrics.filter((m) => m.core !== null), core = own.filter((m) => m.core);
  // All runs; behind them those that are drawn only, without a cache at the sizes of the others.
  const drawnOnes = Array.from({ length: model.runs }, (_, i) => i), every = drawnOnes.slice(0, model.real), level = new Set(model.level);
  const real = (some) => Array.from(new Set(some.map((i) => (i < model.real ? i : model.level[i - model.real]))));
  const labels = columns.label.values, outer = ["trace", "device", "ftl", "queue_depth", "options"].filter(several);

  // Runs in groups, by what they are in some dimensions; in the order of those.
  function grouped(runs, names) {
    const places = names.map(codesOf), counts = names.map((name) => columns[name].values.length), found = new Map();
    for (const i of runs) {
      let key = 0;
      for (let k = 0; k < places.length; k++) key = key * counts[k] + places[k][i];
      const group = found.get(key);
      if (group) group.runs.push(i);
      else found.set(key, { key: key, codes: places.map((p) => p[i]), runs: [i] });
    }
    return Array.from(found.values()).sort((a, b) => a.key - b.key);
  }
  // The run of the baseline that differs from a run in its policy alone.
  const others = dimensions.filter((name) => name !== "label");
  const rest = (i) => others.map((name) => code(name, i)).join(" ");
  const partners = new Map();
  function partnerOf(i, label) {
    if (!partners.has(label)) partners.set(label, new Map(drawnOnes.filter((k) => raw("label", k) === label && done[k]).map((k) => [rest(k), k])));
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
    const known = numbersOf(name);
    for (const i of runs) {
      const v = against ? value(i, name, against) : known[i];
      if (v !== null) found.values.push(v);
      else found[done[i] ? "undefined" : raw("status", i)] += 1;
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

  // ---- Words of what the filters leave: counts, and means, which no run has as its own number.
  const written = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0, maximumSignificantDigits: 4, roundingPriority: "morePrecision" }).format;
  const counted = (count, one, many) => written(count) + " " + (count === 1 ? one : many || one + "s");
  const tail = (unit) => (unit ? NBSP + unit : "");
  function text(v, metric, against) {
    if (v === null) return NONE;
    if (against) return written(v) + NBSP + "\u00d7";
    const place = columns[metric.name].values.indexOf(v);
    return place < 0 ? written(v / metric.length) + tail(metric.unit) : words(metric.name)[place] + tail(metric.tail ?? metric.unit);
  }
  const called = (names, codes) => names.map((name, k) => words(name)[codes[k]]).join(", ");
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
    const title = against ? metric.title + " / that of " + against : metric.title + (metric.unit && metric.kind !== "size" ? " (" + metric.unit + ")" : "");
    return { domain: domainOf(values, metric, against, log, close), title: title, kind: against ? "real" : metric.kind, length: against ? 1 : metric.length };
  }

  // ---- Charts: drawn when they come onto the screen, and drawn again when their rows have changed.
  const jobs = new Set(), panels = [];
  const watcher = new IntersectionObserver(function (entries) {
    for (const entry of entries) entry.target.near(entry.isIntersecting);
  });
  function panel(kind) {
    const figure = $("panel").content.firstElementChild.cloneNode(true), place = figure.querySelector(".vega");
    const caption = figure.querySelector("figcaption > span");
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
    for (const b of figure.querySelectorAll("[data-save]")) b.addEventListener("click", () => save(spec(), want.data, want.signals, place.clientWidth, want.file, b.dataset.save));
    const made = {
      figure, place,
      measure: () => { width = place.clientWidth; },
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
    if (!place) return;
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
    const left = names.filter((n) => n !== axis.name).map((n) => (n === axis.of ? axis.name + " rest" : n));
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
    entitle("curves", "Over " + inner(over));
    entitle("heat", "Policies by " + inner(over));
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
      return { name: p.name, note: allY.title, about: "Heat map, " + p.name, file: ["heat", view.metric, p.name], data: { rows: rows }, signals: { across: { title: over }, up: allY }, ...ways(p.cells) };
    }));
    $("key").replaceChildren(...(drawn.length ? keyOf(view.own ? null : allHeat, metric) : []));
  }
  function entitle(kind, title) {
    const place = $(kind) && $(kind).closest("section");
    if (!place || place.querySelector("h3").textContent === title) return;
    place.querySelector("h3").textContent = title;
    for (const link of document.querySelectorAll('.contents [href="#' + place.id + '"]')) link.textContent = title;
  }
  const titleOf = (x) => (axes.has(x) ? axes.get(x).title : "Cache size");
  // A title within a sentence: keys and abbreviations stay as they are.
  const inner = (title) => (/^[A-Z][a-z]/.test(title) ? title[0].toLowerCase() + title.slice(1) : title);
  // The axis from left to right: sizes and wide ranges by factors, other numbers as they are, names side by side.
  function acrossOf(xs, cells) {
    const [first, last] = [xs[0], xs[xs.length - 1]], axis = axes.get(view.x), share = view.x === "cache_share";
    const names = axis && !axis.numeric, log = !names && first > 0 && (!axis || last > 20 * first);
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
    const axis = axes.get(view.x), by = axis ? view.x : "cache", where = new Map();
    for (const c of grouped(runs, [by])) {
      const text = columns[by].values[c.codes[0]];
      const known = axis && axis.numeric ? [Number(text)].filter(() => text !== "") : axis ? [c.codes[0]] : c.runs.map((i) => raw(view.x, i)).filter(Boolean);
      where.set(c.codes[0], known.length ? known.reduce((a, b) => a + b, 0) / known.length : null);
    }
    const shown = (code) => (by.endsWith("options") ? words(by) : columns[by].values)[code] || NONE;
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
    const sign = metric.better === "lower" ? -1 : 1;
    const most = Math.max(...values.filter((v) => v > 0).map((v) => Math.abs(Math.log2(v))), 0.01);
    const to = view.log && low > 0 ? Math.log : (v) => v, [from, over] = [to(low), to(high)];
    if (view.against) [low, high] = sign < 0 ? [2 ** most, 2 ** -most] : [2 ** -most, 2 ** most];
    return {
      low: low, high: high,
      of: function (v) {
        const share = view.against ? (v > 0 ? (sign * Math.log2(v)) / most : -sign) : over > from ? (to(v) - from) / (over - from) : 0.5;
        const depth = Math.min(1, Math.abs(share));
        return { depth: depth, worse: share < 0, deep: depth > 0.72 };
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
      return { key: g.key, label: label, name: [labels[label], called(named, named.map((n) => g.codes[SETTING.indexOf(n)]))].filter(Boolean).join(", "), runs: g.runs, x: sum(both, view.x2).mean, y: sum(both, view.y2).mean, cover: cover, offline: model.offline[label] };
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
    const said = (p) => (on.has(p) ? "on the front" : p.offline ? "uses future accesses" : p.whole ? "" : "not all runs");
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
    const chosen = view.at === "" ? runs : charted.filter((i) => raw("cache", i) === view.at);
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
    return { "": raw("label", k), [metric.title]: text(value(k, view.metric, view.against), metric, view.against), ...Object.fromEntries(where.map((d) => [model.titles[d], raw(d, k) || NONE])) };
  }

  // ---- What is chosen. A filter without an entry lets everything through.
  const view = { ...model.opens, all: false, filters: new Map(), picked: null };
  function readAddress() {
    for (const [name, given] of new URLSearchParams(location.hash.slice(1))) {
      const filter = name.startsWith("only.") && name.slice(5);
      if (typeof model.opens[name] === "boolean") view[name] = given === "1";
      else if (name in model.opens && Array.from($(name)?.options || []).some((o) => o.value === given)) view[name] = given;
      else if (dimensions.includes(filter)) view.filters.set(filter, new Set(JSON.parse(given).map((v) => columns[filter].values.indexOf(v)).filter((k) => k >= 0)));
    }
  }
  function writeAddress() {
    const said = new URLSearchParams();
    if (root.dataset.theme) said.set(root.dataset.theme, "");
    for (const [name, v] of Object.entries(model.opens)) if (view[name] !== v) said.set(name, typeof v === "boolean" ? "1" : view[name]);
    for (const [name, codes] of view.filters) said.set("only." + name, JSON.stringify(Array.from(codes, (k) => columns[name].values[k])));
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
    $("count").textContent = counted(runs.length, "run") + (runs.length === model.real ? "" : " of " + written(model.real));
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
  function setUp() {
    for (const name of Object.keys(model.opens)) {
      const control = $(name), key = typeof view[name] === "boolean" ? "checked" : "value";
      if (!control) continue;
      control[key] = view[name];
      control.addEventListener("change", function () {
        view[name] = control[key];
        if (name === "panels") view.all = false;
        change();
      });
    }
    for (const more of document.querySelectorAll(".more-panels")) more.lastElementChild.addEventListener("click", function () { view.all = !view.all; change(); });
    $("reset").addEventListener("click", function () { view.filters.clear(); change(); });
    document.querySelectorAll(".facet").forEach(facet);
    document.querySelectorAll(".legend").forEach(chips);
    // The address keeps the choice, and no place of the page.
    for (const link of document.querySelectorAll(".contents a")) link.addEventListener("click", function (event) {
      event.preventDefault();
      $(link.hash.slice(1)).scrollIntoView();
    });
  }

  // ---- Filters: a button that unfolds boxes to tick; of many values, a word finds some.
  const facets = [];
  const allOf = (name) => new Set(columns[name].values.keys());
  const setFilter = (name, codes) => {
    if (codes.size === columns[name].values.length) view.filters.delete(name);
    else view.filters.set(name, codes);
    change();
  };
  function facet(whole) {
    const name = whole.dataset.facet, [button, folded] = whole.children, find = folded.querySelector("[type=search]");
    const rows = Array.from(whole.querySelectorAll("label")), boxes = rows.map((row) => row.firstElementChild);
    const fits = (row) => row.textContent.toLowerCase().includes(find.value.trim().toLowerCase());
    const choose = (is) => () => setFilter(name, new Set(boxes.flatMap((box, k) => (is(box, k) ? [k] : []))));
    for (const box of boxes) box.addEventListener("change", choose((b) => b.checked));
    const picks = { all: () => true, none: () => false, found: (_, k) => fits(rows[k]) };
    for (const pick of folded.querySelectorAll("[data-pick]")) pick.addEventListener("click", choose(picks[pick.dataset.pick]));
    if (find) find.addEventListener("input", () => rows.forEach((row) => { row.hidden = !fits(row); }));
    const fold = (shown) => { folded.hidden = !shown; button.setAttribute("aria-expanded", String(shown)); };
    button.addEventListener("click", function () {
      fold(folded.hidden);
      // What is unfolded stays on the screen.
      folded.style.left = "0";
      folded.style.left = Math.min(0, root.clientWidth - 8 - folded.getBoundingClientRect().right) + "px";
    });
    whole.addEventListener("keydown", function (event) {
      if (event.key === "Escape" && !folded.hidden) { fold(false); button.focus(); event.stopPropagation(); }
    });
    document.addEventListener("pointerdown", (event) => { if (!whole.contains(event.target)) fold(false); });
    whole.addEventListener("focusout", (event) => { if (event.relatedTarget && !whole.contains(event.relatedTarget)) fold(false); });
    facets.push(function () {
      const now = view.filters.get(name);
      boxes.forEach((box, k) => { box.checked = !now || now.has(k); });
      const chosen = !now ? "all " + boxes.length : now.size === 1 ? words(name)[Array.from(now)[0]] : now.size + " of " + boxes.length;
      button.replaceChildren(html("span", { class: "quiet" }, model.titles[name]), " " + chosen);
      button.classList.toggle("narrowed", Boolean(now));
    });
  }
  // The legend is the filter of policies, too.
  function chips(place) {
    const shown = () => view.filters.get("label") || allOf("label");
    for (const b of place.querySelectorAll("[data-show]")) b.addEventListener("click", () => setFilter("label", b.dataset.show === "none" ? new Set() : allOf("label")));
    place.querySelectorAll(".chip").forEach(function (chip, k) {
      chip.addEventListener("click", function () {
        const now = new Set(shown());
        if (!now.delete(k)) now.add(k);
        setFilter("label", now);
      });
      const point = (label) => { for (const p of panels) focus(p.place, label); };
      chip.addEventListener("pointerenter", () => shown().has(k) && point(labels[k]));
      chip.addEventListener("pointerleave", () => point(null));
      facets.push(() => chip.setAttribute("aria-pressed", String(shown().has(k))));
    });
  }

  // ---- The runs, fifty at a time.
  const sorting = { name: null, up: true, page: 0 };
  const keyed = ["label", ...dimensions.filter((name) => name !== "label" && several(name))];
  function listed() {
    const list = (view.picked || runs).slice(), name = sorting.name, sign = sorting.up ? 1 : -1;
    if (name === null) return list;
    const key = (i) => (metrics.has(name) && name !== "cache_bytes" ? number(name, i) : raw(name, i) === null ? null : code(name, i));
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
    const heads = [...keyed.map((n) => [n, model.titles[n], "", "text"]), ["cache_bytes", "Size", "", ""], ...names.map((n) => [n, metrics.get(n).title, metrics.get(n).unit, ""])].map(function ([name, title, unit, css]) {
      const cell = html("th", { scope: "col", class: css }, press(title, function () {
        sorting.up = sorting.name === name ? !sorting.up : !metrics.has(name) || metrics.get(name).better !== "higher";
        Object.assign(sorting, { name: name, page: 0 });
        table();
        Array.from(document.querySelectorAll("#runs th button")).find((b) => b.textContent === title).focus();
      }, "sort"), html("small", {}, unit));
      if (sorting.name === name) cell.setAttribute("aria-sort", sorting.up ? "ascending" : "descending");
      return cell;
    });
    $("runs").replaceChildren(html("thead", {}, html("tr", {}, heads)), html("tbody", {}, some.map((i) => row(i, names))));
    $("where").textContent = list.length ? written(from + 1) + " to " + written(from + some.length) + " of " + counted(list.length, "run") : "No run is chosen.";
    $("before").disabled = sorting.page === 0;
    $("behind").disabled = sorting.page >= pages - 1;
    $("unpick").hidden = !view.picked;
  }
  function row(i, names) {
    const cells = keyed.slice(1).map((n) => html("td", { class: "text" }, n === "options" ? said(n, i) : raw(n, i) || NONE));
    cells.push(html("td", {}, said("cache_bytes", i)));
    if (done[i]) cells.push(...names.map((name) => html("td", number(name, i) === null ? { title: "this run has no such number" } : {}, said(name, i))));
    else cells.push(html("td", { class: "text lost", colspan: String(names.length), title: raw("why", i) }, raw("why", i)));
    return html("tr", {}, html("th", { scope: "row" }, press(raw("label", i), () => detail(i), "link")), cells);
  }
  // The runs behind a point: one in detail, several in the table.
  function open(given) {
    hideTip();
    const some = real(given);
    if (some.length === 1) return detail(some[0]);
    view.picked = some;
    sorting.page = 0;
    table();
    $("runs").closest("section").scrollIntoView({ block: "start" });
    document.querySelector("#runs tbody button").focus({ preventScroll: true });
    return undefined;
  }
  function saveTable() {
    const names = Object.keys(columns).slice(0, model.csv), measured = new Set(own.map((m) => m.name));
    downloadCsv([names, ...listed().map((i) => names.map((n) => (measured.has(n) ? number(n, i) : raw(n, i))))], model.file + "-runs");
  }

  // ---- One run
  const dialog = $("run");
  let shown = 0;
  function detail(i) {
    shown = i;
    const facts = model.facts.map(([title, name]) => [title, raw(name, i)]).filter(([, v]) => v);
    const body = [html("dl", { class: "made" }, facts.flatMap(([title, v]) => [html("dt", {}, title), html("dd", {}, v)]))];
    const there = own.filter((m) => number(m.name, i) !== null), absent = own.length - there.length;
    if (done[i]) {
      const place = slowest(i);
      if (place) body.push(html("h4", {}, "Response times"), place);
      const rows = there.map((m) => html("tr", { title: m.about }, html("th", { scope: "row" }, m.title), html("td", {}, said(m.name, i) + tail(m.unit)), html("td", { class: "text quiet" }, m.about)));
      body.push(html("div", { class: "scroll low", tabindex: "0", role: "region", "aria-label": "Numbers of the run" }, html("table", { class: "data numbers" }, html("tbody", {}, rows))));
      if (absent) body.push(html("p", { class: "note" }, counted(absent, "number") + " of other runs do not exist for its policy or device."));
      body.push(html("p", { class: "note" }, "Whole, as it was kept: "), html("pre", { class: "command" }, "destage results STORE --where \"id == '" + raw("id", i) + "'\" --json -"));
    }
    $("run-title").textContent = raw("label", i) + ", " + (raw("cache", i) || said("cache_bytes", i));
    $("run-body").replaceChildren(...body);
    if (!dialog.open) dialog.showModal();
    $("run-body").scrollTop = 0;
  }
  const NINES = [["p50", 0.5], ["p90", 0.9], ["p95", 0.95], ["p99", 0.99], ["p999", 0.999], ["p9999", 0.9999]];
  function slowest(i) {
    const rows = [["response", "all"], ["read_response", "reads"], ["write_response", "writes"]].flatMap(([prefix, kind]) => NINES
      .map(([p, share]) => ({ kind: kind, label: kind, metric: prefix + "_ns_" + p, nines: -Math.log10(1 - share) }))
      .filter((r) => r.metric in columns && number(r.metric, i)).map((r) => ({ ...r, ns: number(r.metric, i) })));
    if (rows.length < 2) return null;
    rows.forEach((r, k) => { r.told = k; });
    const place = html("div", { class: "vega" }), metric = metrics.get(rows[0].metric);
    const up = axisOf(rows.map((r) => r.ns), { ...metric, title: "Response" }, "", true);
    // The dialog gives the chart its width: it is drawn when it is open.
    const job = new Promise(requestAnimationFrame).then(() => draw(place, model.charts.tail, { rows: rows }, { up: up }, { tell: (d) => tipOfTail(rows[d.told]) })).finally(() => jobs.delete(job));
    jobs.add(job);
    return place;
  }
  const tipOfTail = (r) => ({ "": r.kind, [Number((100 - 100 * 10 ** -r.nines).toPrecision(6)) + " %"]: text(r.ns, metrics.get(r.metric)) });
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
  redraw();
  window.destageStore = { every, raw, settings, front, drawn };
  root.dataset.ready = "true";
})();
