// The page: filters, choices, the address that keeps them, the table of runs, one run in detail.
(function () {
  "use strict";
  const S = window.destageStore;
  const html = S.html, model = S.model;
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);

  // ---- What is chosen. A filter without an entry lets everything through.
  const core = model.metrics.filter((m) => m.core);
  const first = (core[0] || model.metrics[0] || { name: "cache_bytes" }).name;
  const shares = S.dimensions.get("cache").values.every((v) => v.endsWith("%"));
  const caches = S.dimensions.get("cache").values;
  // Several sizes in one distribution would hide what traces and seeds do.
  const middle = caches[caches.length >> 1];
  const outer = S.outer();
  const groups = S.grouped(S.every, outer).length;
  const usual = {
    metric: first, against: "", x: shares ? "cache_share" : "cache_bytes", at: middle,
    panels: !outer.length ? "" : groups <= S.MOST_PANELS ? "each" : outer[0],
    log: false, own: false, x2: model.pair[0], y2: model.pair[1], log2: false,
  };
  const view = { ...usual, all: false, filters: new Map(), picked: null, open: open };
  const choices = {
    metric: model.metrics.map((m) => m.name), against: ["", ...S.dimensions.get("label").values],
    x: ["cache_bytes", "cache_share"], at: ["", ...S.dimensions.get("cache").values],
    panels: ["", ...outer, ...(outer.length > 1 ? ["each"] : [])],
  };
  const weighed = ["cache_bytes", "cache_share", ...model.metrics.filter((m) => m.better !== "neither").map((m) => m.name)];
  choices.x2 = choices.y2 = weighed;
  if (usual.panels === "each" && outer.length === 1) usual.panels = view.panels = outer[0];

  function readAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const [name, value] of asked) {
      if (name === "dark" || name === "light") root.dataset.theme = name;
      else if (typeof usual[name] === "boolean") view[name] = value === "1";
      else if (name in choices && choices[name].includes(value)) view[name] = value;
      else if (name.startsWith("only.") && S.dimensions.has(name.slice(5))) {
        const d = S.dimensions.get(name.slice(5));
        const codes = JSON.parse(value).map((v) => d.values.indexOf(v)).filter((k) => k >= 0);
        view.filters.set(name.slice(5), new Set(codes));
      }
    }
  }
  function writeAddress() {
    const said = new URLSearchParams();
    if (root.dataset.theme) said.set(root.dataset.theme, "");
    for (const [name, value] of Object.entries(usual)) if (view[name] !== value) said.set(name, typeof value === "boolean" ? "1" : view[name]);
    for (const [name, codes] of view.filters) said.set("only." + name, JSON.stringify(Array.from(codes, (k) => S.dimensions.get(name).values[k])));
    const text = said.toString();
    history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
  }

  function chosen() {
    const filters = Array.from(view.filters);
    return S.every.filter((i) => filters.every(([name, codes]) => codes.has(S.code(name, i))));
  }

  // ---- Drawing, once a frame however much was pressed.
  let due = false, runs = S.every;
  const parts = [["curves", S.curves], ["heat", S.heat], ["pareto", S.pareto], ["spread", S.spread]];
  function change() {
    view.picked = null;
    if (due) return;
    due = true;
    requestAnimationFrame(function () {
      due = false;
      redraw();
    });
  }
  function redraw() {
    S.hideTip();
    runs = chosen();
    writeAddress();
    for (const [id, draw] of parts) if ($(id)) draw($(id), runs, view);
    const panels = S.panels(runs, view).length;
    for (const more of document.querySelectorAll(".more-panels")) {
      more.hidden = panels <= S.MOST_PANELS;
      more.firstElementChild.textContent = view.all ? S.counted(panels, "panel") + " drawn" : S.MOST_PANELS + " of " + S.counted(panels, "panel") + " drawn";
      more.lastElementChild.textContent = view.all ? "Fewer" : "All of them";
    }
    $("count").textContent = S.counted(runs.length, "run") + (runs.length === model.runs ? "" : " of " + model.runs.toLocaleString("en-US"));
    for (const named of facets) named();
    note();
    table();
  }
  function note() {
    const sum = S.sum(runs, view.metric, view.against);
    const metric = S.metrics.get(view.metric);
    const lacks = [];
    if (sum.failed) lacks.push(S.counted(sum.failed, "run") + " failed");
    if (sum.missing) lacks.push(S.counted(sum.missing, "run is", "runs are") + " missing");
    if (sum.undefined) lacks.push(S.counted(sum.undefined, "run has", "runs have") + " no number here" + (view.against ? ", or none of " + view.against + " to stand beside" : ""));
    const about = metric.title + ": " + metric.about + (view.against ? ", over that of " + view.against + " in the same place, run by run" : "") + ".";
    const several = S.grouped(runs, ["trace", "device", "ftl", "queue_depth", "options", "label", "cache"]).length < runs.length;
    $("about").textContent = about + (several ? " Points and cells are means of the runs that meet there, bars reach from the least to the largest." : "") + (lacks.length ? " Not drawn: " + lacks.join(", ") + "; a cross, a hollow marker or a hatched cell says where." : "");
  }

  // ---- Choices
  function select(id, name, options) {
    const box = $(id);
    if (!box) return;
    for (const [value, text, group] of options) {
      let into = box;
      if (group) into = Array.from(box.children).find((g) => g.label === group) || box.appendChild(html("optgroup", { label: group }));
      into.append(html("option", { value: value }, text));
    }
    box.value = view[name];
    box.addEventListener("change", function () {
      view[name] = box.value;
      if (name === "panels") view.all = false;
      for (const other of document.querySelectorAll('select[data-of="' + name + '"]')) other.value = box.value;
      change();
    });
    box.dataset.of = name;
  }
  const named = (name) => [name, S.metrics.get(name).title, S.metrics.get(name).core === false ? "More" : name.startsWith("cache_") ? "Cache" : "Usual"];
  function setUp() {
    select("metric", "metric", choices.metric.map(named));
    select("against", "against", [["", "as it is"], ...choices.against.slice(1).map((v) => [v, "over " + v])]);
    select("x", "x", [["cache_share", "share of the trace\u2019s pages"], ["cache_bytes", "bytes"]]);
    select("panels", "panels", choices.panels.map((v) => [v, v === "" ? "everything together" : v === "each" ? "each setting" : "each " + (v === "ftl" ? "FTL" : S.dimensions.get(v).title.toLowerCase())]));
    select("at", "at", choices.at.map((v) => [v, v === "" ? "all sizes" : v]));
    select("x2", "x2", weighed.map(named));
    select("y2", "y2", weighed.map(named));
    for (const name of ["log", "own", "log2"]) {
      $(name).checked = view[name];
      $(name).addEventListener("change", function () { view[name] = $(name).checked; change(); });
    }
    for (const more of document.querySelectorAll(".more-panels")) {
      more.lastElementChild.addEventListener("click", function () { view.all = !view.all; change(); });
    }
    $("reset").addEventListener("click", function () {
      view.filters.clear();
      change();
    });
  }

  // ---- Filters: a button that unfolds boxes to tick; of many values, a word finds some.
  const facets = [];
  function facet(dimension) {
    const name = dimension.name, values = dimension.values;
    const button = html("button", { type: "button", class: "plain", "aria-expanded": "false", "aria-controls": "facet-" + name });
    const list = html("div", { class: "ticks" });
    const panel = html("div", { class: "unfolded", id: "facet-" + name, hidden: true, role: "group", "aria-label": dimension.title });
    const boxes = values.map(function (value, code) {
      const box = html("input", { type: "checkbox" });
      box.addEventListener("change", function () {
        const now = new Set(boxes.flatMap((b, k) => (b.checked ? [k] : [])));
        if (now.size === values.length) view.filters.delete(name);
        else view.filters.set(name, now);
        change();
      });
      const told = S.called([name], [code]);
      const row = html("label", {}, box, ...(name === "label" ? [S.swatch(code)] : []), html("span", {}, told));
      row.dataset.text = told.toLowerCase();
      list.append(row);
      return box;
    });
    const set = (codes) => { if (codes) view.filters.set(name, codes); else view.filters.delete(name); change(); };
    const press = (text, done) => {
      const made = html("button", { type: "button", class: "plain" }, text);
      made.addEventListener("click", done);
      return made;
    };
    const bar = html("div", { class: "pick" }, press("All", () => set(null)), press("None", () => set(new Set())));
    if (values.length > 8) {
      const find = html("input", { type: "search", placeholder: "Find", "aria-label": "Find among " + dimension.several });
      const rows = Array.from(list.children);
      const fits = (row) => row.dataset.text.includes(find.value.trim().toLowerCase());
      find.addEventListener("input", () => rows.forEach((row) => { row.hidden = !fits(row); }));
      panel.append(find);
      bar.append(press("Only these", () => set(new Set(rows.flatMap((row, k) => (fits(row) ? [k] : []))))));
    }
    panel.append(bar, list);
    const fold = (open) => { panel.hidden = !open; button.setAttribute("aria-expanded", String(open)); };
    button.addEventListener("click", function () {
      const open = panel.hidden;
      for (const other of document.querySelectorAll(".facet > button")) if (other !== button && other.getAttribute("aria-expanded") === "true") other.click();
      fold(open);
      if (open) place(panel);
    });
    const whole = html("div", { class: "facet" }, button, panel);
    whole.addEventListener("keydown", function (event) {
      if (event.key === "Escape" && !panel.hidden) { fold(false); button.focus(); event.stopPropagation(); }
    });
    document.addEventListener("pointerdown", (event) => { if (!whole.contains(event.target)) fold(false); });
    whole.addEventListener("focusout", (event) => { if (event.relatedTarget && !whole.contains(event.relatedTarget)) fold(false); });
    facets.push(function () {
      const now = view.filters.get(name);
      boxes.forEach((box, k) => { box.checked = !now || now.has(k); });
      const said = !now ? "all " + values.length : now.size === 1 ? S.called([name], [Array.from(now)[0]]) : now.size + " of " + values.length;
      button.replaceChildren(html("span", { class: "quiet" }, dimension.title), " " + said);
      button.classList.toggle("narrowed", Boolean(now));
    });
    return whole;
  }
  // What is unfolded stays on the screen.
  function place(panel) {
    panel.style.left = "0";
    const over = panel.getBoundingClientRect().right - root.clientWidth + 8;
    if (over > 0) panel.style.left = -over + "px";
  }
  function chips(place) {
    const dimension = S.dimensions.get("label");
    if (dimension.values.length < 2) return;
    dimension.values.forEach(function (label, code) {
      const chip = html("button", { type: "button", class: "chip", title: label }, S.swatch(code), html("span", {}, label));
      chip.addEventListener("click", function () {
        const now = view.filters.get("label") || new Set(dimension.values.keys());
        if (now.has(code)) now.delete(code); else now.add(code);
        if (now.size === dimension.values.length) view.filters.delete("label");
        else view.filters.set("label", now);
        change();
      });
      const focus = (series) => { for (const chart of document.querySelectorAll(".plot > svg")) S.dim(chart, series); };
      chip.addEventListener("pointerenter", () => { if (!view.filters.has("label") || view.filters.get("label").has(code)) focus(code); });
      chip.addEventListener("pointerleave", () => focus(null));
      facets.push(() => chip.setAttribute("aria-pressed", String(!view.filters.has("label") || view.filters.get("label").has(code))));
      place.append(chip);
    });
  }

  // ---- The runs, fifty at a time.
  const PAGE = 50;
  const sorting = { name: null, up: true, page: 0 };
  const STATUS = ["done", "failed", "missing"];
  const keyed = model.dimensions.filter((d) => d.name === "label" || d.values.length > 1).map((d) => d.name);
  function columns() {
    const names = core.map((m) => m.name);
    if (!names.includes(view.metric)) names.unshift(view.metric);
    return names;
  }
  function listed() {
    const list = (view.picked || runs).slice();
    if (sorting.name === null) return list;
    const text = S.dimensions.has(sorting.name);
    const value = (i) => (text ? S.code(sorting.name, i) : sorting.name === "size" ? S.size("cache_bytes", i) : S.number(sorting.name, i));
    const sign = sorting.up ? 1 : -1;
    return list.sort(function (a, b) {
      const x = value(a), y = value(b);
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (x - y) || a - b;
    });
  }
  function table() {
    const list = listed(), names = columns();
    const pages = Math.max(1, Math.ceil(list.length / PAGE));
    sorting.page = Math.min(sorting.page, pages - 1);
    const from = sorting.page * PAGE, some = list.slice(from, from + PAGE);
    const units = new Map(names.map(function (name) {
      const metric = S.metrics.get(name);
      const high = metric.kind === "time" ? S.quantile(Float64Array.from(list.map((i) => S.number(name, i)).filter((v) => v !== null)).sort(), 0.5) : 0;
      return [name, S.unit(high || 0, metric)];
    }));
    const head = (name, title, unit, css) => {
      const button = html("button", { type: "button" }, title);
      const cell = html("th", { scope: "col", class: css }, button, html("small", {}, unit || ""));
      if (sorting.name === name) cell.setAttribute("aria-sort", sorting.up ? "ascending" : "descending");
      button.addEventListener("click", function () {
        const better = S.metrics.has(name) ? S.metrics.get(name).better !== "higher" : true;
        if (sorting.name === name) sorting.up = !sorting.up;
        else { sorting.name = name; sorting.up = better; }
        sorting.page = 0;
        table();
        Array.from(document.querySelectorAll("#runs th button")).find((b) => b.textContent === title).focus();
      });
      return cell;
    };
    const heads = [head("label", "Policy", "", "text"), ...keyed.filter((n) => n !== "label").map((n) => head(n, S.dimensions.get(n).title, "", "text")), head("size", "Size", "", "")];
    for (const name of names) heads.push(head(name, S.metrics.get(name).title, units.get(name).name, ""));
    const rows = some.map((i) => row(i, names, units));
    $("runs").replaceChildren(html("thead", {}, html("tr", {}, heads)), html("tbody", {}, rows));
    $("where").textContent = list.length ? (from + 1).toLocaleString("en-US") + " to " + (from + some.length).toLocaleString("en-US") + " of " + S.counted(list.length, "run") : "No run is chosen.";
    $("before").disabled = sorting.page === 0;
    $("behind").disabled = sorting.page >= pages - 1;
    $("unpick").hidden = !view.picked;
  }
  function row(i, names, units) {
    const show = html("button", { type: "button", class: "link" }, S.word("label", i));
    show.addEventListener("click", () => detail(i));
    const cells = keyed.filter((n) => n !== "label").map((n) => html("td", { class: "text" }, n === "options" ? S.options(S.word(n, i)) : S.word(n, i) || S.NONE));
    cells.push(html("td", {}, S.bytes(S.size("cache_bytes", i))));
    if (model.status[i] !== S.DONE) {
      const said = STATUS[model.status[i]] + (S.told("reason", i) ? ": " + S.told("reason", i) : "");
      cells.push(html("td", { class: "text lost", colspan: names.length, title: said }, said));
    } else {
      for (const name of names) {
        const metric = S.metrics.get(name), value = S.number(name, i);
        const text = value === null ? S.NONE : metric.kind === "ratio" ? (100 * value).toFixed(2) : metric.kind === "time" ? S.short(value, metric, units.get(name)) : Number.isInteger(value) ? value.toLocaleString("en-US") : S.short(value, { kind: "" }, { length: 1 });
        cells.push(html("td", value === null ? { title: "this run has no such number" } : {}, text));
      }
    }
    return html("tr", {}, html("th", { scope: "row" }, show), cells);
  }
  // The runs behind a point: one in detail, several in the table.
  function open(some) {
    S.hideTip();
    if (some.length === 1) return detail(some[0]);
    view.picked = some;
    sorting.page = 0;
    table();
    $("all-runs").scrollIntoView({ block: "start" });
    const first = document.querySelector("#runs tbody button");
    if (first) first.focus({ preventScroll: true });
    return undefined;
  }
  function saveTable() {
    const names = model.metrics.map((m) => m.name);
    const sizes = Object.keys(model.sizes), dims = model.dimensions.map((d) => d.name), told = Object.keys(model.told);
    const quote = (v) => (v === null || v === undefined ? "" : /[",\r\n]/.test(v) ? '"' + String(v).replace(/"/g, '""') + '"' : String(v));
    const lines = [["status", ...told, ...dims, ...sizes, ...names]];
    for (const i of listed()) {
      lines.push([STATUS[model.status[i]], ...told.map((n) => S.told(n, i)), ...dims.map((n) => S.word(n, i)), ...sizes.map((n) => S.size(n, i)), ...names.map((n) => S.number(n, i))]);
    }
    S.download(lines.map((l) => l.map(quote).join(",")).join("\n") + "\n", "text/csv", model.file + "-runs.csv");
  }

  // ---- One run
  const dialog = $("run");
  let shown = 0;
  function detail(i) {
    shown = i;
    const label = S.word("label", i);
    const params = Object.entries(JSON.parse(S.told("params", i) || "{}")).map(([k, v]) => k + " = " + v).join(", ");
    const pages = S.size("trace_unique_pages", i);
    const facts = [
      ["Status", STATUS[model.status[i]] + (S.told("reason", i) ? ": " + S.told("reason", i) : "")],
      ["Parameters", params],
      ...["trace", "device", "ftl", "queue_depth", "seed"].map((n) => [S.dimensions.get(n).title, S.word(n, i)]),
      ["Options", S.options(S.word("options", i))],
      ["Cache", [S.word("cache", i), S.bytes(S.size("cache_bytes", i)), S.counted(S.size("frames", i) || 0, "frame")].join(", ")],
      ["Trace", pages ? S.counted(S.size("trace_requests", i) || 0, "request") + ", " + S.counted(S.size("trace_accesses", i) || 0, "access", "accesses") + " to " + S.counted(pages, "page") : ""],
      ["Fingerprint", S.told("trace_fingerprint", i)],
      ["Warnings", S.told("warnings", i)],
      ["Run", S.told("id", i)],
    ];
    const list = html("dl", { class: "made" }, facts.filter(([, v]) => v && v !== "no options").flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
    const body = [list];
    const numbers = model.metrics.filter((m) => S.number(m.name, i) !== null);
    const absent = model.metrics.length - numbers.length;
    if (model.status[i] === S.DONE) {
      const tail = tailOf(i);
      if (tail) body.push(html("h4", {}, "Response times"), tail);
      const rows = numbers.map((m) => html("tr", { title: m.about }, html("th", { scope: "row" }, m.title), html("td", {}, S.text(S.number(m.name, i), m)), html("td", { class: "text quiet" }, m.about)));
      body.push(html("div", { class: "scroll low", tabindex: 0, role: "region", "aria-label": "Numbers of the run" }, html("table", { class: "data numbers" }, html("tbody", {}, rows))));
      if (absent) body.push(html("p", { class: "note" }, S.counted(absent, "number") + " that other runs have, this one has not: its policy or its drive knows no such thing."));
      body.push(html("p", { class: "note" }, "Whole, as it was kept: "), html("pre", { class: "command" }, "destage results STORE --where \"id == '" + S.told("id", i) + "'\" --json -"));
    }
    $("run-title").textContent = label + ", " + (S.word("cache", i) || S.bytes(S.size("cache_bytes", i)));
    $("run-body").replaceChildren(...body);
    if (!dialog.open) dialog.showModal();
    $("run-body").scrollTop = 0;
  }
  // Percentiles on an axis of nines: reads, writes, all.
  const NINES = [["p50", 0.5], ["p90", 0.9], ["p95", 0.95], ["p99", 0.99], ["p999", 0.999], ["p9999", 0.9999]];
  const KINDS = [["response", "all", "var(--ink)", ""], ["read_response", "reads", "var(--s0)", "7 3"], ["write_response", "writes", "var(--s1)", "2 3"]];
  function tailOf(i) {
    const lines = KINDS.map(([prefix, name, color, dash]) => [name, color, dash, NINES.map(([p, share]) => [share, S.number(prefix + "_ns_" + p, i)]).filter(([, v]) => v)]).filter((l) => l[3].length > 1);
    if (!lines.length) return null;
    const chart = S.svg("svg", { width: 520, role: "img", "aria-label": "Percentiles of response times" });
    const box = S.sized(chart, 520, 190, { left: 66, top: 8, right: 64, bottom: 42 });
    const times = lines.flatMap((l) => l[3].map(([, v]) => v));
    const domain = S.domain(times, { kind: "time" }, "", true);
    const y = S.scale(domain[0], domain[1], box.bottom, box.top, true), x = S.scale(0, 4, box.left, box.right, false);
    const nines = (share) => -Math.log10(1 - share);
    const unit = S.unit(domain[1], { kind: "time" });
    chart.append(S.axisY(box, y, unit, "Response (" + unit.name + ")"), S.axisX(box, NINES.filter(([p]) => p !== "p95").map(([p, share]) => ({ x: x(nines(share)), text: Number((100 * share).toPrecision(6)) + " %" })), "Share of the requests that took at most so long", false));
    let floor = -Infinity;
    const ends = lines.map((l) => [l, y(l[3][l[3].length - 1][1])]).sort((a, b) => a[1] - b[1]);
    for (const [[name, color, dash, points], end] of ends) {
      const path = points.map(([share, v], k) => (k ? "L" : "M") + x(nines(share)) + " " + y(v)).join("");
      chart.append(S.svg("path", { d: path, fill: "none", stroke: color, "stroke-width": 2, ...(dash ? { "stroke-dasharray": dash } : {}) }));
      floor = Math.max(end + 4, floor + 13);
      chart.append(S.svg("text", { x: x(nines(points[points.length - 1][0])) + 6, y: floor, fill: color, "font-size": 12 }, name));
    }
    return chart;
  }
  function step(by) {
    const list = listed(), k = list.indexOf(shown) + by;
    if (k >= 0 && k < list.length) detail(list[k]);
  }

  // ---- Light and dark: as the system has it, until the button or the address says otherwise.
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  function nameTheme() {
    $("theme").textContent = isDark() ? "Light" : "Dark";
    $("theme").setAttribute("aria-label", "Switch to " + (isDark() ? "light" : "dark") + " colours");
  }

  readAddress();
  setUp();
  const bar = $("facets");
  for (const d of model.dimensions) if (d.values.length > 1) bar.append(facet(d));
  for (const legend of document.querySelectorAll(".legend")) chips(legend);
  $("theme").hidden = false;
  $("theme").addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
    writeAddress();
  });
  system.addEventListener("change", nameTheme);
  nameTheme();
  $("before").addEventListener("click", () => { sorting.page -= 1; table(); });
  $("behind").addEventListener("click", () => { sorting.page += 1; table(); });
  $("unpick").addEventListener("click", () => { view.picked = null; table(); });
  $("csv").addEventListener("click", saveTable);
  $("run-close").addEventListener("click", () => dialog.close());
  $("run-before").addEventListener("click", () => step(-1));
  $("run-behind").addEventListener("click", () => step(1));
  dialog.addEventListener("keydown", function (event) {
    if (event.key === "ArrowLeft") step(-1);
    if (event.key === "ArrowRight") step(1);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  window.addEventListener("hashchange", () => location.reload());
  window.addEventListener("beforeprint", S.drawAll);
  let width = root.clientWidth;
  new ResizeObserver(function () {
    if (root.clientWidth !== width) { width = root.clientWidth; change(); }
  }).observe(root);
  if (S.dimensions.get("cache").values.length < 2) for (const id of ["curves", "heat"]) $(id).closest("section").hidden = id === "curves";
  redraw();
  root.dataset.ready = "true";
})();
