// What moves in the report: charts, their common legend, the table's order, light and dark.
(function () {
  "use strict";
  const { model, has, setAll } = window.destage;

  // ---- Charts. Those of a group share their rows, what is shown in colour, what is in focus, and
  // which cache size and requests they look at.
  const dataOf = (group) => ({ runs: group.rows, ...group.data });

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
      const { view } = await window.destage.draw(place, chart.spec, dataOf(group), { shown, focus, ...chosen });
      if (has(chart.spec, "shown")) {
        view.addEventListener("pointerover", function (event, item) {
          const datum = item && item.datum;
          setFocus(datum && typeof datum.label === "string" ? datum.label : null);
        });
        view.addEventListener("pointerout", () => setFocus(null));
        views.push([view, chart.spec]);
        setAll(view, chart.spec, { shown, focus, ...chosen });
        await view.runAsync();
      }
      for (const b of place.parentNode.querySelectorAll("[data-save]")) {
        b.addEventListener("click", () =>
          window.destage.save(chart.spec, dataOf(group), { shown, ...chosen }, place.clientWidth, chart.file, b.dataset.save));
      }
    });
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
      if (sizes < 0) return; // without a cache
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
      for (const row of body.rows) row.hidden = !["", row.dataset.frames].includes(size.value) && row.dataset.frames !== "";
      stripe();
    });
    if (all) all.addEventListener("change", () => table.classList.toggle("all", all.checked));
    if (csv) csv.addEventListener("click", function () {
      const lines = [heads.map((h) => h.dataset.name)].concat(
        Array.from(body.rows, (row) => Array.from(row.cells, (c) => c.dataset.v)));
      window.destage.downloadCsv(lines, csv.dataset.csv);
    });
  }
})();
