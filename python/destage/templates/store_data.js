// The runs of a store as columns: what they are, which are chosen, and what they come to.
(function () {
  "use strict";
  const model = JSON.parse(document.getElementById("model").textContent);
  const S = { model: model, DONE: 0, FAILED: 1, MISSING: 2 };
  window.destageStore = S;

  const NONE = "\u2013", NBSP = "\u00a0";
  const dimensions = new Map(model.dimensions.map((d) => [d.name, d]));
  const metrics = new Map(model.metrics.map((m) => [m.name, m]));
  // What a run costs in memory is weighed like what it measures.
  metrics.set("cache_bytes", { name: "cache_bytes", title: "Cache size", kind: "size", unit: "", better: "lower", about: "bytes of cache" });
  metrics.set("cache_share", { name: "cache_share", title: "Cache, of the trace\u2019s pages", kind: "ratio", unit: "", better: "lower", about: "cache size over the pages that the trace uses" });
  S.dimensions = dimensions;
  S.metrics = metrics;
  S.every = Array.from({ length: model.runs }, (_, i) => i);

  const at = (column, i) => (Array.isArray(column) ? column[i] : column);
  S.code = (name, i) => at(dimensions.get(name).at, i);
  S.word = (name, i) => dimensions.get(name).values[S.code(name, i)];
  S.told = (name, i) => model.told[name].values[at(model.told[name].at, i)];
  S.size = (name, i) => at(model.sizes[name], i);
  S.several = (name) => dimensions.get(name).values.length > 1;

  // ---- Numbers
  S.number = function (name, i) {
    if (model.status[i] !== S.DONE) return null;
    const column = name in model.numbers ? model.numbers[name] : model.sizes[name];
    const value = column === undefined ? null : at(column, i);
    return value === undefined ? null : value;
  };

  // The run of the baseline that differs from a run in its policy alone.
  const partners = new Map();
  function partnersOf(label) {
    if (partners.has(label)) return partners.get(label);
    const code = dimensions.get("label").values.indexOf(label);
    const found = new Map();
    for (const i of S.every) if (S.code("label", i) === code && model.status[i] === S.DONE) found.set(rest(i), i);
    partners.set(label, found);
    return found;
  }
  const others = model.dimensions.map((d) => d.name).filter((name) => name !== "label");
  const rest = (i) => others.map((name) => S.code(name, i)).join(" ");

  // The number that is drawn: the metric, or the metric over that of the baseline; null is none.
  S.value = function (i, name, against) {
    const value = S.number(name, i);
    if (!against || value === null) return value;
    const partner = partnersOf(against).get(rest(i));
    const under = partner === undefined ? null : S.number(name, partner);
    return under ? value / under : null;
  };

  // What some runs come to: how many have a number, and why the others have none.
  S.sum = function (runs, name, against) {
    const found = { runs: runs, values: [], failed: 0, missing: 0, undefined: 0 };
    for (const i of runs) {
      if (model.status[i] === S.FAILED) found.failed += 1;
      else if (model.status[i] === S.MISSING) found.missing += 1;
      else {
        const value = S.value(i, name, against);
        if (value === null) found.undefined += 1;
        else found.values.push(value);
      }
    }
    const sorted = Float64Array.from(found.values).sort();
    found.sorted = sorted;
    found.n = sorted.length;
    found.mean = found.n ? sorted.reduce((a, b) => a + b, 0) / found.n : null;
    found.low = found.n ? sorted[0] : null;
    found.high = found.n ? sorted[found.n - 1] : null;
    return found;
  };
  S.quantile = function (sorted, share) {
    const place = (sorted.length - 1) * share, below = Math.floor(place);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
  };
  // Why runs have no number, in words; empty if all have one.
  S.lacks = function (sum) {
    const parts = [];
    if (sum.failed) parts.push(sum.failed + " failed");
    if (sum.missing) parts.push(sum.missing + " missing");
    if (sum.undefined) parts.push(sum.undefined + " without this number");
    return parts.join(", ");
  };

  // Runs in groups, by what they are in some dimensions; in the order of those.
  S.grouped = function (runs, names) {
    const found = new Map();
    for (const i of runs) {
      const codes = names.map((name) => S.code(name, i));
      const key = codes.join(" ");
      if (!found.has(key)) found.set(key, { key: key, codes: codes, runs: [] });
      found.get(key).runs.push(i);
    }
    return Array.from(found.values()).sort(function (a, b) {
      for (let k = 0; k < names.length; k += 1) if (a.codes[k] !== b.codes[k]) return a.codes[k] - b.codes[k];
      return 0;
    });
  };
  S.called = (names, codes) => names.map(function (name, k) {
    const value = dimensions.get(name).values[codes[k]];
    if (name === "queue_depth") return "queue depth " + (value || NONE);
    if (name === "seed") return "seed " + (value || NONE);
    if (name === "device") return value || "no drive";
    if (name === "options") return S.options(value);
    return value || NONE;
  }).filter((text) => text).join(", ");
  S.options = function (text) {
    const given = text ? Object.entries(JSON.parse(text)) : [];
    return given.map(([key, value]) => key + "=" + (typeof value === "string" ? value : JSON.stringify(value))).join(", ") || "no options";
  };

  // ---- Words
  const digits = (value, most) => value.toLocaleString("en-US", { maximumFractionDigits: most });
  function significant(value, most) {
    if (value === 0 || Math.abs(value) >= 10 ** (most - 1)) return digits(value, 0);
    return digits(Number(value.toPrecision(most)), 12);
  }
  const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  S.bytes = function (value) {
    if (value === null) return NONE;
    let unit = 0;
    while (value >= 1024 && unit < BINARY.length - 1) { value /= 1024; unit += 1; }
    return significant(value, 3) + NBSP + BINARY[unit];
  };
  const TIMES = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];
  S.time = function (value) {
    const [unit, length] = TIMES.find((t) => value >= t[1]) || TIMES[3];
    return significant(value / length, 4) + NBSP + unit;
  };
  // A number with its unit; `against` makes it a factor.
  S.text = function (value, metric, against) {
    if (value === null || value === undefined) return NONE;
    if (against) return significant(value, 4) + NBSP + "\u00d7";
    if (metric.kind === "ratio") return (100 * value).toFixed(2) + NBSP + "%";
    if (metric.kind === "time") return S.time(value);
    if (metric.kind === "size") return S.bytes(value);
    const text = Number.isInteger(value) ? digits(value, 0) : significant(value, 5);
    return metric.unit ? text + NBSP + metric.unit : text;
  };
  // The same where many stand side by side: short, without the unit.
  S.short = function (value, metric, unit) {
    if (value === null || value === undefined) return NONE;
    if (!unit) return significant(value, 3);
    if (metric.kind === "ratio") return (100 * value).toFixed(Math.abs(value) < 0.0995 ? 2 : 1);
    if (metric.kind === "size") return S.bytes(value);
    const scaled = value / unit.length;
    if (Math.abs(scaled) >= 1e6) return significant(scaled / 1e6, 3) + "M";
    if (Math.abs(scaled) >= 1e4) return significant(scaled / 1e3, 3) + "k";
    return significant(scaled, 3);
  };
  // The unit that numbers of a metric share on an axis; null for factors.
  S.unit = function (high, metric, against) {
    if (against) return null;
    if (metric.kind === "ratio") return { name: "%", length: 0.01 };
    if (metric.kind === "time") {
      const [name, length] = TIMES.find((t) => high >= t[1]) || TIMES[3];
      return { name: name, length: length };
    }
    return { name: metric.unit, length: 1 };
  };
  S.titled = function (metric, unit, against) {
    if (against) return metric.title + " / that of " + against;
    return metric.title + (unit && unit.name ? " (" + unit.name + ")" : "");
  };
  S.counted = (count, one, many) => digits(count, 0) + " " + (count === 1 ? one : many || one + "s");
  S.look = (code) => model.looks[code];
  S.NONE = NONE;
})();
