// What moves in the report: charts, their common legend, the table's order, light and dark.
(function () {
  "use strict";
  const root = document.documentElement;
  const model = JSON.parse(document.getElementById("model").textContent);

  // ---- Light and dark: as the system has it, until the button or the address says otherwise.
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
  }
  function nameButton() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Switch to " + (isDark() ? "light" : "dark") + " colours");
  }
  if (location.hash === "#dark" || location.hash === "#light") {
    root.dataset.theme = location.hash.slice(1);
  }
  button.addEventListener("click", function () {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameButton();
  });
  system.addEventListener("change", nameButton);
  button.hidden = false;
  nameButton();

  // ---- Tooltip
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.appendChild(tip);
  function showTip(handler, event, item, value) {
    if (value === null || value === undefined || value === "") {
      tip.hidden = true;
      return;
    }
    const entries = Object.entries(value).filter((e) => e[1] !== "null" && e[1] !== "");
    const table = document.createElement("table");
    tip.replaceChildren();
    entries.forEach(function (entry, i) {
      if (i === 0) {
        const head = document.createElement("b");
        head.textContent = entry[1];
        tip.appendChild(head);
        return;
      }
      const row = table.insertRow();
      const name = document.createElement("th");
      name.textContent = entry[0];
      row.appendChild(name);
      row.insertCell().textContent = entry[1];
    });
    tip.appendChild(table);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const right = event.clientX + 16 + box.width > window.innerWidth;
    tip.style.left = Math.max(4, right ? event.clientX - 16 - box.width : event.clientX + 16) + "px";
    tip.style.top = Math.min(event.clientY + 12, window.innerHeight - box.height - 4) + "px";
  }

  // ---- Charts. Those of a group share their rows, what is shown in colour, what is in focus, and
  // which cache size and requests they look at.
  function filled(spec, group) {
    const copy = JSON.parse(JSON.stringify(spec));
    for (const data of copy.data || []) {
      if (data.name === "runs") data.values = group.rows;
      else if (group.data && group.data[data.name]) data.values = group.data[data.name];
    }
    return copy;
  }

  function setUp(group) {
    const views = [];
    const chips = Array.from(document.querySelectorAll('[data-legend="' + group.id + '"] .chip'));
    const unasked = group.shown.slice();
    let shown = group.shown.slice();
    let focus = null;
    const chosen = {};

    function tell(signal, value) {
      for (const [view, spec] of views) if (has(spec, signal)) view.signal(signal, value).runAsync();
    }
    const choices = document.querySelectorAll('select[data-group="' + group.id + '"]');
    for (const choice of choices) {
      const signal = choice.dataset.signal;
      choice.addEventListener("change", function () {
        tell(signal, (chosen[signal] = JSON.parse(choice.value)));
        // Another selector may say the same.
        for (const other of choices) if (other.dataset.signal === signal) other.value = choice.value;
      });
      chosen[signal] = JSON.parse(choice.value);
    }
    function setFocus(label) {
      if (label !== focus) tell("focus", (focus = label));
    }
    function setShown(labels) {
      shown = labels;
      for (const chip of chips) chip.setAttribute("aria-pressed", shown.includes(chip.dataset.label));
      tell("shown", shown);
    }
    for (const chip of chips) {
      const label = chip.dataset.label;
      chip.addEventListener("click", function () {
        setShown(shown.includes(label) ? shown.filter((l) => l !== label) : shown.concat(label));
      });
      chip.addEventListener("pointerenter", () => setFocus(label));
      chip.addEventListener("pointerleave", () => setFocus(null));
      chip.addEventListener("focus", () => setFocus(label));
      chip.addEventListener("blur", () => setFocus(null));
    }
    for (const b of document.querySelectorAll('[data-legend="' + group.id + '"] [data-show]')) {
      b.addEventListener("click", function () {
        const labels = Array.from(new Set(chips.map((c) => c.dataset.label)));
        setShown({ all: labels, none: [], reset: unasked }[b.dataset.show].slice());
      });
    }

    return group.charts.map((chart) => async function () {
      const place = document.getElementById(chart.id);
      const { view } = await draw(place, filled(chart.spec, group), "svg");
      if (has(chart.spec, "shown")) {
        setAll(view, chart.spec, { shown: shown, focus: focus }, chosen);
        view.addEventListener("pointerover", function (event, item) {
          const datum = item && item.datum;
          setFocus(datum && typeof datum.label === "string" ? datum.label : null);
        });
        view.addEventListener("pointerout", () => setFocus(null));
        views.push([view, chart.spec]);
        await view.runAsync();
      }
      for (const b of place.parentNode.querySelectorAll("[data-save]")) {
        b.addEventListener("click", () => save(chart, group, { shown: shown }, chosen, place, b.dataset.save));
      }
    });
  }
  function has(spec, signal) {
    return (spec.signals || []).some((s) => s.name === signal);
  }
  function setAll(view, spec, ...values) {
    for (const [signal, value] of Object.entries(Object.assign({}, ...values))) {
      if (has(spec, signal)) view.signal(signal, value);
    }
  }
  function draw(place, spec, renderer) {
    return vegaEmbed(place, spec, {
      mode: "vega", renderer: renderer, actions: false, defaultStyle: false, tooltip: showTip,
      ast: true, // expressions are interpreted: the page's policy allows no code made of text
    });
  }

  // A saved figure has the colours for white paper, whatever the page has.
  async function save(chart, group, shown, chosen, place, kind) {
    const text = JSON.stringify(chart.spec).replace(/var\((--[a-z0-9]+)\)/g, (_, name) => model.paper[name]);
    const spec = filled(JSON.parse(text), group);
    spec.background = "white";
    spec.padding = 12;
    const hidden = document.createElement("div");
    hidden.style.cssText = "position:absolute;left:-9999px;width:" + place.clientWidth + "px";
    document.body.appendChild(hidden);
    const result = await draw(hidden, spec, "svg");
    setAll(result.view, chart.spec, shown, chosen);
    await result.view.runAsync();
    download(await result.view.toImageURL(kind, kind === "png" ? 2 : 1), chart.file + "." + kind);
    result.finalize();
    hidden.remove();
  }
  function download(url, name) {
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
  }

  // One chart after the other, so that the first ones are there at once.
  model.groups.flatMap(setUp).reduce((before, draw) => before.then(draw), Promise.resolve());

  // ---- Tables: order by a column, the best first on the first click; what is none stays last.
  for (const table of document.querySelectorAll("table.sorts")) {
    const body = table.tBodies[0];
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      const control = head.querySelector("button");
      control.addEventListener("click", function () {
        const now = head.getAttribute("aria-sort");
        const first = head.dataset.first || "ascending";
        const other = first === "ascending" ? "descending" : "ascending";
        const order = now === first ? other : first;
        for (const h of heads) h.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const key = (row) => row.cells[column].dataset.v;
        const rows = Array.from(body.rows);
        rows.sort(function (a, b) {
          const x = key(a), y = key(b);
          if (x === "" || y === "") return (x === "") - (y === "");
          if (head.dataset.kind === "text") return sign * (x < y ? -1 : x > y ? 1 : 0);
          return sign * (Number(x) - Number(y));
        });
        body.append(...rows);
        stripe();
      });
    });
    const section = table.closest("section");
    const size = section.querySelector("[data-size]");
    const all = section.querySelector("[data-all]");
    const csv = section.querySelector("[data-csv]");
    // A line above the first row of each cache size, as long as they stand together.
    function stripe() {
      const sizes = heads.findIndex((h) => h.dataset.name === "frames");
      const ordered = heads[sizes].hasAttribute("aria-sort");
      let before = null;
      for (const row of body.rows) {
        if (row.hidden) continue;
        const frames = row.cells[sizes].dataset.v;
        row.classList.toggle("first", ordered && before !== null && frames !== before);
        before = frames;
      }
    }
    if (size) size.addEventListener("change", function () {
      for (const row of body.rows) row.hidden = size.value !== "" && row.dataset.frames !== size.value;
      stripe();
    });
    if (all) all.addEventListener("change", () => table.classList.toggle("all", all.checked));
    if (csv) csv.addEventListener("click", function () {
      const quote = (t) => (/[",\r\n]/.test(t) ? '"' + t.replace(/"/g, '""') + '"' : t);
      const lines = [heads.map((h) => h.dataset.name)].concat(
        Array.from(body.rows, (row) => Array.from(row.cells, (c) => c.dataset.v)));
      const blob = new Blob([lines.map((l) => l.map(quote).join(",")).join("\n") + "\n"], { type: "text/csv" });
      const url = URL.createObjectURL(blob);
      download(url, csv.dataset.csv + ".csv");
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    });
  }

  // A table that goes on at either side says so: a shadow there, and a word above.
  for (const box of document.querySelectorAll(".scroll")) {
    if (box.closest("noscript")) continue;
    const word = document.createElement("p");
    word.className = "aside";
    word.textContent = "the table goes on to the right: scroll \u2192";
    word.hidden = true;
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
})();
