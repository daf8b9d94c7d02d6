// What every page of Destage has: light and dark, charts and what is pointed at in them, saving.
(function () {
  "use strict";
  const root = document.documentElement;
  const model = JSON.parse(document.getElementById("model").textContent);

  function html(name, values, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(values || {})) {
      if (key in made && typeof value !== "string") made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.flat());
    return made;
  }

  // ---- Light and dark: as the system has it, until the button or the address says otherwise.
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  function nameButton() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to " + (isDark() ? "light" : "dark") + " colours");
  }
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const theme of ["dark", "light"]) if (asked.has(theme)) root.dataset.theme = theme;
  button.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameButton();
  });
  system.addEventListener("change", nameButton);
  button.hidden = false;
  nameButton();

  // ---- What is pointed at, with the pointer or with the arrow keys
  const tip = html("div", { class: "tip", hidden: true });
  const spoken = html("div", { class: "spoken", "aria-live": "polite" });
  document.body.append(tip, spoken);
  const told = (value) => Object.entries(value || {}).filter((e) => e[1] !== "null" && e[1] !== "");
  function showTip(value, x, y) {
    const [head, ...entries] = told(value);
    tip.hidden = !head;
    if (!head) return;
    const rows = entries.map(([name, text]) => html("tr", {}, html("th", {}, name), html("td", {}, text)));
    tip.replaceChildren(html("b", {}, head[1]), html("table", {}, rows));
    const box = tip.getBoundingClientRect();
    const right = x + 16 + box.width > window.innerWidth;
    tip.style.left = Math.max(4, right ? x - 16 - box.width : x + 16) + "px";
    tip.style.top = Math.max(4, Math.min(y + 12, window.innerHeight - box.height - 4)) + "px";
  }
  const hideTip = () => showTip(null);

  // Marks that have something to say, with their places in the chart.
  function places(view, tell) {
    const found = new Map(), origin = view.origin();
    (function look(group, x, y) {
      for (const mark of group.items) for (const item of mark.items || []) {
        if (mark.marktype === "group") look(item, x + item.x, y + item.y);
        else if (mark.marktype !== "line" && item.datum && (tell ? typeof item.datum.told === "number" : item.tooltip)) {
          const b = item.bounds;
          found.set(tell ? item.datum.told : item.datum, { datum: item.datum, tip: item.tooltip, x: x + (b.x1 + b.x2) / 2, y: y + (b.y1 + b.y2) / 2, series: item.datum.label });
        }
      }
    })({ items: [view.scenegraph().root] }, origin[0], origin[1]);
    return Array.from(found.values());
  }
  // The others step back behind the series that is pointed at.
  function focus(place, series) {
    for (const e of place.querySelectorAll(".mark-symbol path, .mark-line path, .mark-rule line, .mark-rect path")) {
      const label = e.__data__ && e.__data__.datum && e.__data__.datum.label;
      e.style.opacity = !series || !label || label === series ? "" : 0.16;
    }
  }
  // What a chart does: the nearest mark to the pointer says what it is, if `tell` knows, and `open`
  // has its clicks; the arrow keys go along a series, and from one to the next; Enter is a click.
  function live(place, view, { tell, open } = {}) {
    let here = null;
    const ring = html("div", { class: "ring", hidden: true });
    place.append(ring);
    place.tabIndex = 0;
    function leave() {
      here = null;
      ring.hidden = true;
      hideTip();
      if (tell) focus(place, null);
    }
    function go(to, x, y, aloud) {
      here = to;
      const box = view.container().querySelector("svg").getBoundingClientRect(), mine = place.getBoundingClientRect();
      ring.hidden = false;
      ring.style.left = box.left - mine.left + here.x + "px";
      ring.style.top = box.top - mine.top + here.y + "px";
      const tip = tell ? tell(here.datum) : here.tip;
      showTip(tip, x ?? box.left + here.x, y ?? box.top + here.y);
      if (aloud) spoken.textContent = told(tip).map(([name, text], k) => (k ? name + ": " + text : text)).join("; ");
      if (tell) focus(place, here.series);
    }
    function nearest(event) {
      const box = view.container().querySelector("svg").getBoundingClientRect();
      const far = (p) => (p.x - event.clientX + box.left) ** 2 + (p.y - event.clientY + box.top) ** 2;
      return places(view, tell).reduce((best, p) => (far(p) < (best ? far(best) : 900) ? p : best), null);
    }
    place.onblur = leave;
    place.onpointerleave = leave;
    if (tell) place.onpointermove = function (event) {
      const to = nearest(event);
      if (to) go(to, event.clientX, event.clientY);
      else leave();
    };
    if (open) place.onclick = (event) => { const to = nearest(event); if (to) open(to.datum); };
    place.onkeydown = function (event) {
      if (event.key === "Escape") return leave();
      if ((event.key === "Enter" || event.key === " ") && here && open) {
        event.preventDefault();
        return open(here.datum);
      }
      const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] || [0, 0];
      const points = dx || dy ? places(view, tell) : [];
      if (!points.length) return undefined;
      event.preventDefault();
      const from = here || points[0];
      // Along: the nearest of the series. Across: the nearest above or below, in the same column first.
      const far = (p) => (dx ? Math.abs(p.x - from.x) : 1000 * Math.abs(p.x - from.x) + Math.abs(p.y - from.y));
      const beyond = dx ? (p) => p.series === from.series && (p.x - from.x) * dx > 0.01 : (p) => p.series !== from.series && (p.y - from.y) * dy > 0.01;
      go((here && points.filter(beyond).sort((a, b) => far(a) - far(b))[0]) || from, null, null, true);
      return undefined;
    };
  }

  // ---- Charts: their rows by the name of the data, and their signals.
  const has = (spec, signal) => (spec.signals || []).some((s) => s.name === signal);
  function filled(spec, data, signals) {
    return {
      ...spec,
      data: (spec.data || []).map((d) => (d.name in data ? { ...d, values: structuredClone(data[d.name]) } : d)),
      signals: (spec.signals || []).map((s) => (s.name in signals ? { ...s, value: signals[s.name] } : s)),
    };
  }
  function setAll(view, spec, signals) {
    for (const [signal, value] of Object.entries(signals)) if (has(spec, signal)) view.signal(signal, value);
  }
  async function draw(place, spec, data, signals, ways) {
    const result = await vegaEmbed(place, filled(spec, data, signals), {
      mode: "vega", renderer: "svg", actions: false, defaultStyle: false,
      tooltip: (handler, event, item, value) => showTip(value, event.clientX, event.clientY),
      ast: true, // expressions are interpreted: the page's policy allows no code made of text
    });
    live(place, result.view, ways);
    return result;
  }
  function download(url, name) {
    html("a", { href: url, download: name }).click();
  }
  function downloadText(text, kind, name) {
    const url = URL.createObjectURL(new Blob([text], { type: kind }));
    download(url, name);
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
  const quote = (v) => (v === null || v === undefined ? "" : /[",\r\n]/.test(v) ? '"' + String(v).replace(/"/g, '""') + '"' : String(v));
  function downloadCsv(lines, name) {
    downloadText(lines.map((l) => l.map(quote).join(",")).join("\n") + "\n", "text/csv", name + ".csv");
  }
  // A saved figure has the colours for white paper, whatever the page has.
  async function save(spec, data, signals, width, file, kind) {
    const text = JSON.stringify(spec).replace(/var\((--[a-z0-9]+)\)/g, (_, name) => model.paper[name]);
    const hidden = html("div", {});
    hidden.style.cssText = "position:absolute;left:-9999px;width:" + width + "px";
    document.body.append(hidden);
    const paper = { ...JSON.parse(text), background: "white", padding: 12 };
    const result = await draw(hidden, paper, data, signals);
    download(await result.view.toImageURL(kind, kind === "png" ? 2 : 1), file + "." + kind);
    result.finalize();
    hidden.remove();
  }

  // A table that goes on at either side says so: a shadow there, and a word above.
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.closest("noscript")) continue;
    const word = html("p", { class: "aside", hidden: true }, "the table goes on to the right: scroll \u2192");
    box.before(word);
    const look = function () {
      const left = box.scrollLeft, more = box.scrollWidth - box.clientWidth - left;
      box.classList.toggle("more-left", left > 2);
      box.classList.toggle("more-right", more > 2);
      word.hidden = box.scrollWidth - box.clientWidth <= 2;
    };
    box.addEventListener("scroll", look, { passive: true });
    new ResizeObserver(look).observe(box.firstElementChild);
    new ResizeObserver(look).observe(box);
    look();
  }

  // Paper cannot be unfolded.
  window.addEventListener("beforeprint", function () {
    for (const d of document.querySelectorAll("details")) d.open = true;
  });

  for (const b of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    b.hidden = false;
    b.addEventListener("click", function () {
      navigator.clipboard.writeText(document.getElementById(b.dataset.copy).textContent).then(function () {
        b.textContent = "Copied";
        setTimeout(() => { b.textContent = "Copy"; }, 1200);
      });
    });
  }

  window.destage = { model, html, hideTip, focus, has, draw, save, setAll, downloadCsv };
})();
