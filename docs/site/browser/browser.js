"use strict";
/* The page that runs Destage. All work is done in a worker, by the WebAssembly module of
   crates/destage-web; the page asks in JSON and draws the answers. Files are loaded with script
   elements, which work from a folder as well as from a server. */
(() => {
  const BASE = new URL(".", document.currentScript.src);
  const MICRO = "r1 w2 r3 r1 w4 r5 r1 w2 r6 r7 r2 w5 r3 r8 w4 r1 r9 r5";
  const PRESETS = {
    "mixed accesses": MICRO,
    "a loop": "r1 r2 r3 r4 r5 ".repeat(4).trim(),
    "a scan": "r1 r2 r1 r2 r10 r11 r12 r13 r14 r15 r1 r2 r16 r17 r18 r19 r1 r2",
    "hot writes": "w1 r2 r3 w1 r4 r5 w1 r6 w7 r8 w1 r9 r10 w7 r2 w1",
  };
  const SAMPLES = {
    oltp: ["oltp.csv.xz", "PostgreSQL under pgbench, the first 60,000 requests of our recording"],
    scan: ["scan.csv.gz", "a hot set and a scan over all other pages, generated"],
    loop: ["loop.csv.zst", "a loop over 4,000 pages, generated"],
  };
  const LINES = ["", "7 3", "2 3", "9 3 2 3"];
  const EVERY = 300; // sizes of a curve that one pass gives
  const HEAD = 60; // accesses that are stepped of a trace
  const state = {
    catalogue: null, files: [], facts: null, stale: false, running: 0, run: null, steps: null, at: 0,
  };
  const $ = (name) => document.getElementById(`lab-${name}`);

  // The worker. It is made from this function's text, so that it needs no file of its own.
  function work() {
    let engine = null;
    const text = new TextDecoder();
    const at = (place, bytes) => new Uint8Array(engine.memory.buffer, place >>> 0, bytes >>> 0);
    const give = (...parts) => {
      const bytes = parts.reduce((sum, part) => sum + part.length, 0);
      let place = engine.destage_input(bytes) >>> 0;
      for (const part of parts) {
        at(place, part.length).set(part);
        place += part.length;
      }
    };
    const answer = () => text.decode(at(engine.destage_answer(), engine.destage_answer_bytes()));
    const bytesOf = (told) => new TextEncoder().encode(told);
    const serve = async ({ module, clear, put, ask }) => {
      if (module) {
        const packed = new Blob([module]).stream();
        const bytes = packed.pipeThrough(new DecompressionStream("gzip"));
        const compiled = await WebAssembly.compile(await new Response(bytes).arrayBuffer());
        const nothing = () => {
          throw new Error("the module asked for something of the browser");
        };
        const given = {}; // of a library that would draw random numbers; reading draws none
        for (const { module: from, name } of WebAssembly.Module.imports(compiled)) {
          (given[from] ??= {})[name] = nothing;
        }
        engine = (await WebAssembly.instantiate(compiled, given)).exports;
      }
      if (clear) engine.destage_clear();
      for (const { name, bytes } of put ?? []) {
        give(bytesOf(name), bytes);
        engine.destage_put(bytesOf(name).length);
      }
      if (!ask) return { ok: null };
      give(bytesOf(JSON.stringify(ask)));
      engine.destage_ask();
      return JSON.parse(answer());
    };
    const handle = async (data) => {
      try {
        self.postMessage({ id: data.id, ...(await serve(data)) });
      } catch (fault) {
        let why = `${fault}`;
        try {
          const told = JSON.parse(answer());
          if (told.error?.startsWith("internal error")) why = told.error;
        } catch {}
        if (why.includes("unreachable") || why.includes("RangeError")) {
          why = "The trace does not fit into a page's memory. The command takes traces of any size.";
        }
        self.postMessage({ id: data.id, error: why, broken: true });
      }
    };
    // One after the other: a question waits until the module is there.
    let last = Promise.resolve();
    self.onmessage = ({ data }) => {
      last = last.then(() => handle(data));
    };
  }

  const engine = {
    worker: null, module: null, waiting: new Map(), next: 1,
    start() {
      const source = URL.createObjectURL(new Blob([`(${work})()`], { type: "text/javascript" }));
      this.worker = new Worker(source);
      this.worker.onmessage = ({ data }) => {
        const { done, failed } = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        if (data.broken) this.restart();
        if (data.error === undefined) done(data.ok);
        else failed(new Error(data.error));
      };
      return this.send({ module: this.module });
    },
    restart() {
      this.worker.terminate();
      for (const { failed } of this.waiting.values()) failed(new Error("stopped"));
      this.waiting.clear();
      state.stale = true;
      this.start();
    },
    send(message) {
      const id = this.next++;
      return new Promise((done, failed) => {
        this.waiting.set(id, { done, failed });
        this.worker.postMessage({ id, ...message });
      });
    },
    ask(question) {
      return this.send({ ask: question });
    },
  };

  const loaded = {}; // by name: bytes, which the scripts bring in base64
  self.destageLoaded = (name, content) => {
    const letters = atob(content);
    const bytes = new Uint8Array(letters.length);
    for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
    loaded[name] = bytes;
  };
  const load = (path, name) =>
    new Promise((done, failed) => {
      if (loaded[name]) return done(loaded[name]);
      const script = document.createElement("script");
      script.src = new URL(path, BASE);
      script.onload = () => done(loaded[name]);
      script.onerror = () => failed(new Error(`${path} is missing beside this page`));
      document.head.append(script);
    });

  // Numbers and words.
  const count = (n) => n.toLocaleString("en-US");
  const percent = (misses, accesses) =>
    accesses ? (100 * (1 - misses / accesses)).toFixed(2) : "-";
  const size = (bytes) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (bytes >= 1024 && unit < 4) {
      bytes /= 1024;
      unit += 1;
    }
    return `${bytes >= 100 || unit === 0 ? Math.round(bytes) : +bytes.toPrecision(3)} ${units[unit]}`;
  };
  const short = (n) =>
    n >= 1e6 ? `${+(n / 1e6).toPrecision(3)} M` : n >= 1e3 ? `${+(n / 1e3).toPrecision(3)} k` : `${n}`;
  const split = (list) => {
    const parts = [""];
    let depth = 0;
    for (const letter of list) {
      depth += (letter === "[") - (letter === "]");
      if (letter === "," && depth === 0) parts.push("");
      else parts[parts.length - 1] += letter;
    }
    return parts.map((part) => part.trim()).filter(Boolean);
  };
  const quoted = (word) =>
    /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
  const element = (tag, text, names) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (names) made.className = names;
    return made;
  };
  const show = (place, text) => {
    $(place).textContent = text;
    $(place).hidden = !text;
  };
  const say = (text) => {
    $("state").textContent = text;
  };

  // Reader options as on the command line: --key value, --key=value, --flag.
  const options = () => {
    const words = $("options").value.match(/(?:[^\s"']+|"[^"]*"|'[^']*')+/g) ?? [];
    const plain = words.map((word) => word.replaceAll(/["']/g, ""));
    const found = {};
    for (let k = 0; k < plain.length; k++) {
      if (!plain[k].startsWith("--")) {
        throw new Error(`options: expected --name value, found ${plain[k]}`);
      }
      const [name, ...rest] = plain[k].slice(2).split("=");
      let value = rest.length ? rest.join("=") : "true";
      if (!rest.length && plain[k + 1] !== undefined && !plain[k + 1].startsWith("--")) {
        value = plain[++k];
      }
      found[name.replaceAll("-", "_")] = value;
    }
    return [found, words.map((word) => quoted(word.replaceAll(/["']/g, "")))];
  };

  // 1. The trace.
  const open = async (files) => {
    state.files = files;
    state.facts = null;
    $("run").disabled = true;
    show("trace-error", "");
    $("warnings").hidden = true;
    $("facts").textContent = `Reading ${files.map((file) => file.name).join(", ")} ...`;
    try {
      const put = files.map(({ name, bytes }) => ({ name, bytes }));
      await engine.send({ clear: true, put });
      const [found, words] = options();
      const pageSize = $("page-size").value.trim();
      const names = files.map((file) => file.name);
      const question = { ask: "open", files: names, options: found };
      if (pageSize) question.page_size = pageSize;
      state.facts = await engine.ask(question);
      state.stale = false;
      state.words = pageSize ? [...words, "--page-size", quoted(pageSize)] : words;
      describe(state.facts);
      $("run").disabled = false;
      $("step-trace").disabled = false;
    } catch (fault) {
      $("facts").textContent = "No trace yet.";
      show("trace-error", fault.message);
    }
  };

  const describe = (facts) => {
    const formats = [...new Set(facts.files.map((file) => file.format))].join(", ");
    const time = facts.seconds === null ? "no times" : `${+facts.seconds.toPrecision(3)} s`;
    $("facts").textContent =
      `${facts.files.map((file) => file.name).join(", ")}: ${formats}, ` +
      `${count(facts.requests)} requests, ${((100 * facts.reads) / facts.requests).toFixed(1)} % reads, ` +
      `${count(facts.accesses)} page accesses, ${count(facts.unique_pages)} pages of ` +
      `${size(facts.page_bytes)} (${size(facts.unique_pages * facts.page_bytes)}), ${time}.`;
    $("warnings").replaceChildren(...facts.warnings.map((text) => element("li", text)));
    $("warnings").hidden = facts.warnings.length === 0;
  };

  const chosen = async (list) => {
    const files = [];
    for (const file of list) {
      files.push({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) });
    }
    if (files.length) await open(files);
  };

  const sample = async (name) => {
    const [file] = SAMPLES[name];
    $("facts").textContent = `Loading ${file} ...`;
    try {
      await open([{ name: file, bytes: await load(`samples/${file}.js`, file) }]);
    } catch (fault) {
      $("facts").textContent = "No trace yet.";
      show("trace-error", fault.message);
    }
  };

  // 2. Runs.
  const run = async () => {
    const number = ++state.running;
    show("run-error", "");
    $("run").disabled = true;
    $("stop").hidden = false;
    $("progress").hidden = false;
    $("progress").value = 0;
    try {
      if (state.stale) await open(state.files);
      const policies = split($("policies").value);
      const cache = $("cache").value.trim() || "auto";
      if (!policies.length) throw new Error("policies: expected at least one, such as lru,arc");
      await draw(number, policies, cache);
    } catch (fault) {
      if (fault.message !== "stopped") show("run-error", fault.message);
    } finally {
      $("run").disabled = state.facts === null;
      $("stop").hidden = true;
      $("progress").hidden = true;
    }
  };

  const draw = async (number, policies, cache) => {
    const sizes = await engine.ask({ ask: "sizes", cache });
    const known = new Map(state.catalogue.policies.map((policy) => [policy.name, policy]));
    const about = policies.map((policy) => known.get(policy.split("[")[0]) ?? {});
    const parts = about.flatMap((one, k) =>
      one.one_pass ? [[k, sizes]] : sizes.map((only) => [k, [only]]),
    );
    const every = policies
      .map((policy, k) => [policy, k])
      .filter(([, k]) => about[k].every_size);
    const found = { policies, cache, sizes, labels: [...policies], rows: [], every: [] };
    let done = 0;
    const step = () => {
      $("progress").value = ++done / (parts.length + every.length);
    };
    for (const [k, some] of parts) {
      const frames = some.map((one) => `${one.frames}p`).join(",");
      const curve = await engine.ask({ ask: "points", policy: policies[k], cache: frames });
      if (number !== state.running) return;
      found.labels[k] = curve.label;
      curve.points.forEach((point, j) => found.rows.push({ ...point, policy: k, given: some[j].given }));
      step();
    }
    for (const [policy, k] of every) {
      const curve = await engine.ask({ ask: "every", policy, most: EVERY });
      found.every.push({ ...curve, policy: k });
      step();
    }
    state.run = found;
    results(found);
    $("results").hidden = false;
    await verdict();
    say("Done.");
  };

  const style = (run, k) => {
    const name = run.policies[k].split("[")[0];
    const offline = state.catalogue.policies.find((one) => one.name === name)?.offline;
    return offline
      ? { colour: "var(--c4)", dash: "2 3" }
      : { colour: `var(--c${[0, 1, 2, 3, 5, 6, 7][k % 7]})`, dash: LINES[Math.floor(k / 7) % 4] };
  };
  const mark = (k, x, y, colour) => {
    const shapes = [
      `<circle cx="${x}" cy="${y}" r="3.5"/>`,
      `<rect x="${x - 3}" y="${y - 3}" width="6" height="6"/>`,
      `<path d="M${x} ${y - 4.5}l4.2 7.5h-8.4z"/>`,
      `<path d="M${x} ${y - 4.5}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>`,
      `<path d="M${x - 3.5} ${y - 3.5}l7 7m0 -7l-7 7" stroke-width="2" style="stroke:${colour}"/>`,
    ];
    return `<g style="fill:${colour}">${shapes[k % 5]}</g>`;
  };

  const results = (run) => {
    const legend = run.labels.map((label, k) => {
      const { colour, dash } = style(run, k);
      const made = element("span", undefined);
      made.innerHTML =
        `<svg viewBox="0 0 38 14" aria-hidden="true"><path class="lab-line" d="M0 7H38" ` +
        `style="stroke:${colour}" stroke-dasharray="${dash}"/>${mark(k, 19, 7, colour)}</svg>`;
      made.append(label);
      return made;
    });
    $("legend").replaceChildren(...legend);
    charts(run);
    tables(run);
    const picked = $("size").value;
    $("size").replaceChildren(
      ...run.sizes.map((one) => {
        const made = element("option", `${one.given} (${count(one.frames)} pages)`);
        made.value = `${one.frames}p`;
        return made;
      }),
    );
    const middle = `${run.sizes[Math.floor(run.sizes.length / 2)].frames}p`;
    const there = run.sizes.some((one) => `${one.frames}p` === picked);
    $("size").value = there ? picked : middle;
    const words = ["destage", "mrc", ...state.files.map((file) => quoted(file.name)), ...state.words];
    words.push("-p", quoted(run.policies.join(",")), "-c", quoted(run.cache));
    $("command").textContent = words.join(" ");
    $("copied").textContent = "";
  };

  const series = (run, value, ofEvery) =>
    run.labels.map((label, k) => {
      const rows = run.rows.filter((row) => row.policy === k && value(row) !== null);
      const points = rows.map((row) => [row.frames, value(row)]).sort((a, b) => a[0] - b[0]);
      const every = run.every.find((one) => one.policy === k);
      const [low, high] = [run.sizes[0].frames, run.sizes.at(-1).frames];
      const line = every && ofEvery(every)
        ? every.frames
            .map((frames, j) => [frames, ofEvery(every)[j]])
            .filter(([frames]) => frames >= low && frames <= high)
        : [];
      // The pass thins sizes out: where it has few, the points that were asked for join in.
      const joined = [...line, ...points].sort((a, b) => a[0] - b[0]);
      return { label, points, line: joined, ...style(run, k) };
    });

  const charts = (run) => {
    const hits = series(
      run,
      (row) => (100 * (row.accesses - row.misses)) / row.accesses,
      (every) => every.hits.map((hits) => (100 * hits) / every.accesses),
    );
    const writes = series(run, (row) => row.physical_writes, (every) => every.physical_writes);
    chart("hits", hits, (y) => `${+y.toPrecision(3)}`, "Hit ratio in per cent over cache size");
    chart("writes", writes, short, "Pages written to flash over cache size");
  };

  const ticks = (high) => {
    const rough = high / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const unit = [1, 2, 2.5, 5, 10].find((step) => step * power >= rough) * power;
    return Array.from({ length: Math.ceil(high / unit - 1e-9) + 1 }, (_, k) => k * unit);
  };

  const chart = (place, lines, label, about) => {
    const width = Math.max(260, $(place).clientWidth || 480);
    const [height, left, right, top, bottom] = [250, 44, 24, 10, 32];
    const all = lines.flatMap((line) => line.line);
    if (!all.length) return $(place).replaceChildren();
    const frames = all.map(([x]) => x);
    const [low, high] = [Math.min(...frames), Math.max(...frames)];
    const steps = ticks(Math.max(...all.map(([, y]) => y)));
    const most = steps.at(-1) || 1;
    const x = (value) =>
      left + ((width - left - right) * Math.log(value / low)) / (Math.log(high / low) || 1);
    const y = (value) => height - bottom - ((height - top - bottom) * value) / most;
    const path = (points) =>
      points.map(([a, b], k) => `${k ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
    const grid = steps.map(
      (step) =>
        `<path class="lab-grid" d="M${left} ${y(step)}H${width - right}"/>` +
        `<text x="${left - 6}" y="${y(step) + 4}" text-anchor="end">${label(step)}</text>`,
    );
    const page = state.facts.page_bytes;
    // Powers of two, as many as there is room for.
    const [first, last] = [low, high].map((frames) => Math.log2(frames * page));
    const powers = Array.from({ length: 64 }, (_, k) => k).filter((k) => k >= first && k <= last);
    const stride = Math.ceil(powers.length / (width < 420 ? 4 : 6));
    const named = powers.filter((_, k) => k % stride === 0).map((k) => 2 ** k / page);
    const names = (named.length ? named : [low]).map(
      (frames) =>
        `<path class="lab-grid" d="M${x(frames)} ${height - bottom}v4"/>` +
        `<text x="${x(frames)}" y="${height - 10}" text-anchor="middle">${size(frames * page)}</text>`,
    );
    const drawn = lines.map(
      ({ line, points, colour, dash }, k) =>
        `<path class="lab-line" d="${path(line)}" style="stroke:${colour}" stroke-dasharray="${dash}"/>` +
        points.map(([a, b]) => mark(k, x(a), y(b), colour)).join(""),
    );
    $(place).innerHTML =
      `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${about}; the table has the numbers">` +
      `${grid.join("")}${names.join("")}${drawn.join("")}</svg>`;
  };

  const tables = (run) => {
    const page = state.facts.page_bytes;
    const fill = (place, title, text) => {
      const head = element("tr");
      head.append(...["cache", "pages", "size", ...run.labels].map((one) => element("th", one)));
      const lines = run.sizes.map(({ given, frames }) => {
        const rows = run.labels.map((_, k) =>
          run.rows.find((row) => row.policy === k && row.frames === frames),
        );
        // No mark: one run of a trace has no interval here.
        const cells = rows.map((row) => element("td", text(row)));
        const line = element("tr");
        line.append(...[given, count(frames), size(frames * page)].map((one) => element("td", one)));
        line.append(...cells);
        return line;
      });
      const [above, body] = [element("thead"), element("tbody")];
      above.append(head);
      body.append(...lines);
      $(place).replaceChildren(element("caption", title), above, body);
    };
    fill("table-hits", "Hit ratio, %", (row) => percent(row.misses, row.accesses));
    fill("table-writes", "Flash writes, pages", (row) => count(row.physical_writes));
  };

  const verdict = async () => {
    const asked = state.run;
    const cache = $("size").value;
    const given = $("size").selectedOptions[0].textContent;
    $("verdict").textContent = "...";
    try {
      const policies = asked.policies;
      const found = await engine.ask({ ask: "verdict", policies, cache });
      if (asked !== state.run || cache !== $("size").value) return;
      const points = (hits) => `${((100 * hits) / found.accesses).toFixed(1)} points`;
      const room = found.bound_hits - found.hits;
      const more = found.hits_at_twice - found.hits;
      const first = {
        policy: "Policy: a better policy could gain more than twice the cache would.",
        "working set": "Working set: twice the cache gains more than any policy could at this size.",
        both: "Both: a better policy could gain as much as twice the cache, to within a point.",
        neither: "Neither: less than one point is to be gained either way.",
      }[found.answer];
      $("verdict").textContent =
        `${first} At ${given}, ${found.best} is the best of these policies and hits ` +
        `${percent(found.accesses - found.hits, found.accesses)} %. MIN, which uses future accesses, hits ` +
        `${percent(found.accesses - found.bound_hits, found.accesses)} %: ${points(room)} more. ` +
        `Twice the cache gives ${found.best} ${points(more)} more.`;
      const twice = `${found.frames}p,${found.frames * 2}p`;
      $("verdict").title = `-p ${found.best},min -c ${twice}`;
    } catch (fault) {
      $("verdict").textContent = fault.message;
    }
  };

  const csv = () => {
    const head = "policy,cache,frames,accesses,misses,physical_reads,physical_writes";
    const quote = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    return state.run.rows.reduce((text, row) => {
      const cells = [quote(state.run.labels[row.policy]), row.given, row.frames, row.accesses];
      cells.push(row.misses, row.physical_reads, row.physical_writes);
      return `${text}${cells.join(",")}\n`;
    }, `${head}\n`);
  };

  // 3. Steps.
  const begin = async () => {
    show("step-error", "");
    try {
      const [policy, accesses] = [$("step-policy").value, $("step-accesses").value.trim()];
      const cache = `${$("step-frames").value || 0}p`;
      state.steps = await engine.ask({ ask: "steps", policy, cache, accesses });
      $("at").max = state.steps.steps.length - 1;
      tape(state.steps);
      const frames = state.steps.frames;
      $("python").textContent =
        `import destage\n\ncache = destage.Cache("${policy}", frames=${frames})\n` +
        `for access in "${accesses}".split():\n` +
        `    found = cache.access(int(access[1:]), write=access[0] == "w")\n` +
        `    print(access, found, cache.lists, cache.gauges)`;
      $("stepper").hidden = false;
      go(0);
    } catch (fault) {
      $("stepper").hidden = true;
      show("step-error", fault.message);
    }
  };

  const tape = (played) => {
    const made = played.steps.map((step, k) => {
      const kind = step.result === "hit" ? "lab-hit" : "lab-miss";
      const button = element("button", `${step.op}${step.page}`, kind);
      button.type = "button";
      button.tabIndex = -1;
      button.onclick = () => go(k);
      return button;
    });
    $("tape").replaceChildren(...made);
  };

  const drawn = (part, step) => {
    if (Array.isArray(part)) {
      const group = element("span", undefined, "lab-group");
      group.append(...part.map((one) => drawn(one, step)));
      return group;
    }
    if (part?.page === undefined) return element("span", typeof part === "number" ? `${+part.toPrecision(4)}` : `${part}`);
    const names = ["lab-page"];
    if (!step.resident.includes(part.page)) names.push("lab-ghost");
    else if (step.dirty.includes(part.page)) names.push("lab-dirty");
    if (part.page === step.page) names.push("lab-now");
    return element("span", `${part.page}`, names.join(" "));
  };

  const go = (place) => {
    const { steps, label, frames } = state.steps;
    state.at = Math.max(0, Math.min(steps.length - 1, place));
    const step = steps[state.at];
    $("at").value = state.at;
    $("first").disabled = $("back").disabled = state.at === 0;
    $("last").disabled = $("next").disabled = state.at === steps.length - 1;
    [...$("tape").children].forEach((one, k) => one.classList.toggle("lab-here", k === state.at));
    const here = $("tape").children[state.at];
    $("tape").scrollLeft = here.offsetLeft - $("tape").offsetLeft - $("tape").clientWidth / 2;
    const hits = steps.slice(0, state.at + 1).filter((one) => one.result === "hit").length;
    const written = steps.slice(0, state.at + 1)
      .reduce((sum, one) => sum + one.destaged.length + one.padded, 0);
    const result = { hit: "a hit", miss: "a miss", bypass: "a miss, bypassed" }[step.result];
    const told = [`Access ${state.at + 1} of ${steps.length}: ${step.op === "w" ? "write" : "read"} ${step.page}, ${result}.`];
    if (step.evicted.length) told.push(`Evicted: ${step.evicted.join(" ")}.`);
    if (step.destaged.length) told.push(`Written to flash: ${step.destaged.join(" ")}.`);
    if (step.padded) told.push(`Padding pages: ${step.padded}.`);
    told.push(`${label}, ${frames} frames: ${hits} hits so far, ${written} flash writes.`);
    $("said").textContent = told.join(" ");
    const lists = step.lists.flatMap(([name, part]) => {
      const row = element("div");
      const parts = Array.isArray(part) ? part : [part];
      row.append(...parts.map((one) => drawn(one, step)));
      return [element("b", name.replaceAll("_", " ")), row];
    });
    const gauges = Object.entries(step.gauges).flatMap(([name, value]) => {
      const row = element("div");
      row.append(element("span", `${+value.toPrecision(4)}`));
      return [element("b", name), row];
    });
    // Some policies keep no list by page.
    const listed = JSON.stringify(step.lists);
    const whole = [];
    if (!step.resident.every((page) => listed.includes(JSON.stringify({ page })))) {
      const row = element("div");
      row.append(...step.resident.map((page) => drawn({ page }, step)));
      whole.push(element("b", "in the cache"), row);
    }
    $("lists").replaceChildren(...lists, ...whole, ...gauges);
  };

  const fromTrace = async () => {
    try {
      if (state.stale) await open(state.files);
      const head = await engine.ask({ ask: "head", accesses: HEAD });
      const names = new Map();
      const renamed = head.split(" ").map((word) => {
        const page = word.slice(1);
        if (!names.has(page)) names.set(page, names.size + 1);
        return word[0] + names.get(page);
      });
      $("step-accesses").value = renamed.join(" ");
      await begin();
    } catch (fault) {
      show("step-error", fault.message);
    }
  };

  // The parts of the page, once.
  const choices = (catalogue) => {
    const families = Map.groupBy
      ? Map.groupBy(catalogue.policies.filter((one) => one.runs), (one) => one.family)
      : catalogue.policies.filter((one) => one.runs).reduce(
          (map, one) => map.set(one.family, [...(map.get(one.family) ?? []), one]), new Map());
    const words = { classic: "By recency and frequency", flash: "Clean/dirty-aware", admission: "Admission control", blocks: "Erase blocks" };
    const sets = [...families].map(([family, policies]) => {
      const set = element("fieldset");
      set.append(element("legend", words[family] ?? family));
      for (const policy of policies) {
        const label = element("label");
        label.title = `${policy.title}: ${policy.about}`;
        const box = element("input");
        box.type = "checkbox";
        box.value = policy.name;
        box.onchange = () => {
          const now = split($("policies").value);
          const without = now.filter((one) => one.split("[")[0] !== policy.name);
          $("policies").value = (box.checked ? [...now, policy.name] : without).join(",");
        };
        label.append(box, policy.name);
        set.append(label);
      }
      return set;
    });
    $("choices").replaceChildren(...sets);
    const tick = () => {
      const now = new Set(split($("policies").value).map((one) => one.split("[")[0]));
      for (const box of $("choices").querySelectorAll("input")) box.checked = now.has(box.value);
    };
    $("policies").oninput = tick;
    tick();
    const steps = catalogue.policies.filter((one) => one.steps);
    $("step-policy").replaceChildren(...steps.map((one) => element("option", one.name)));
    $("step-policy").value = "arc";
  };

  const aboutPolicy = () => {
    const one = state.catalogue.policies.find((one) => one.name === $("step-policy").value);
    $("step-about").textContent = `${one.title}. ${one.about}`;
  };

  const wire = () => {
    $("file").onchange = () => chosen($("file").files);
    const drop = $("drop");
    drop.ondragover = (event) => {
      event.preventDefault();
      drop.classList.add("lab-over");
    };
    drop.ondragleave = () => drop.classList.remove("lab-over");
    drop.ondrop = (event) => {
      event.preventDefault();
      drop.classList.remove("lab-over");
      chosen(event.dataTransfer.files);
    };
    for (const [name, [, about]] of Object.entries(SAMPLES)) {
      const button = element("button", name);
      button.type = "button";
      button.id = `lab-sample-${name}`;
      button.title = about;
      button.onclick = () => sample(name);
      $("samples").append(button);
    }
    for (const [name, accesses] of Object.entries(PRESETS)) {
      const button = element("button", name);
      button.type = "button";
      button.onclick = () => {
        $("step-accesses").value = accesses;
        begin();
      };
      $("step-presets").append(button);
    }
    const button = element("button", `the trace above, first ${HEAD}`);
    button.type = "button";
    button.id = "lab-step-trace";
    button.disabled = true;
    button.title = "Pages are numbered in the order of their first access";
    button.onclick = fromTrace;
    $("step-presets").append(button);
    $("step-accesses").value = MICRO;
    $("again").onclick = () => {
      if (state.files.length) open(state.files);
    };
    $("run").onclick = run;
    $("stop").onclick = () => {
      state.running += 1;
      engine.restart();
      say("Stopped.");
    };
    for (const name of ["policies", "cache"]) {
      $(name).onkeydown = (event) => {
        if (event.key === "Enter" && !$("run").disabled) run();
      };
    }
    $("size").onchange = verdict;
    $("csv").onclick = () => {
      const link = element("a");
      link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
      link.download = "curves.csv";
      link.click();
    };
    $("copy").onclick = async () => {
      try {
        await navigator.clipboard.writeText($("command").textContent);
        $("copied").textContent = "Copied.";
      } catch {
        getSelection().selectAllChildren($("command"));
        $("copied").textContent = "Selected: copy it with your keyboard.";
      }
    };
    $("step-begin").onclick = begin;
    $("step-policy").onchange = () => {
      aboutPolicy();
      begin();
    };
    $("step-accesses").onkeydown = (event) => {
      if (event.key === "Enter") begin();
    };
    $("at").oninput = () => go(+$("at").value);
    $("first").onclick = () => go(0);
    $("back").onclick = () => go(state.at - 1);
    $("next").onclick = () => go(state.at + 1);
    $("last").onclick = () => go(state.steps.steps.length - 1);
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width && state.run) charts(state.run);
      width = innerWidth;
    });
  };

  const begun = async () => {
    wire();
    try {
      engine.module = await load("engine.js", "engine");
      await engine.start();
      state.catalogue = await engine.ask({ ask: "catalogue" });
    } catch (fault) {
      say("");
      show("trace-error", `The engine did not start: ${fault.message}`);
      return;
    }
    choices(state.catalogue);
    aboutPolicy();
    $("step-begin").disabled = false;
    say(`Ready: Destage ${state.catalogue.version}.`);
    document.getElementById("lab").ariaBusy = "false";
    const asked = new URLSearchParams(location.search);
    for (const name of ["cache", "policies"]) {
      if (asked.get(name)) $(name).value = asked.get(name);
    }
    $("policies").oninput();
    const name = asked.get("trace");
    if (name && !SAMPLES[name]) {
      const names = Object.keys(SAMPLES).join(", ");
      show("trace-error", `trace=${name}: expected one of ${names}`);
    } else if (name) {
      await sample(name);
      if (state.facts) await run();
    }
  };

  self.destagePage = { state, csv, open };
  begun();
})();
