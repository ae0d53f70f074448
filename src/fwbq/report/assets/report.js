"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const models = data.models;
  const count = models.name.length;
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const coarse = matchMedia("(pointer: coarse)").matches;

  // Words and numbers -------------------------------------------------------------------------------------------------
  const leftward = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
  const shorten = (text, limit) => {
    const points = Array.from(text);
    const head = Math.ceil((limit - 1) / 2);
    return points.length <= limit ? text : points.slice(0, head).join("") + "…" + points.slice(points.length - (limit - 1 - head)).join("");
  };
  // Plotly reads a few tags and entities in its texts: names must not be read so.
  const plain = (text, limit) => {
    const short = shorten(text, limit).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
    return leftward.test(short) ? "\u2068" + short + "\u2069" : short;
  };
  const minus = (text) => text.replace(/-/g, "−");
  const whole = (x) => x.toLocaleString("en-US");
  const share = (p) => {
    if (p === null) return "–";
    if (p === 0) return "0";
    if (p >= 0.9995) return "> 0.999";
    return p < 0.001 ? "< 0.001" : p.toPrecision(3);
  };
  const inHover = (text) => text.replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const fixed = (x, places) => (x === null ? "–" : minus(x.toFixed(places)));
  const places = (sd) => (sd > 0 ? Math.min(Math.max(1 - Math.floor(Math.log10(sd)), 2), 8) : 4);
  const deviation = (x) => (x === null ? "–" : x === 0 ? "0" : x < 1e-4 || x >= 1e4 ? minus(x.toExponential(1)) : x >= 10 ? x.toFixed(0) : x.toPrecision(2));

  // State: one filter for the figure and the table --------------------------------------------------------------------
  const folded = models.name.map((name) => name.normalize("NFKC").toLowerCase());
  // On a linear axis a box below a fiftieth of the highest is a flat line: when most are, the axis starts logarithmic.
  const flat = (size) => {
    const highs = models.q95.slice(0, size).map((v) => v ?? 0);
    return highs.filter((v) => v < 0.02 * Math.max(...highs)).length > 0.5 * highs.length;
  };
  const first = innerWidth < 560 ? "10" : "25";
  const state = { words: [], member: "", order: "probability", show: first, log: flat(Number(first)), sort: "rank", down: false, page: 0, size: "25" };
  const matching = () => {
    const rows = [];
    const member = state.member === "" ? -1 : Number(state.member);
    for (let i = 0; i < count; i++) {
      if (member >= 0 && !models.members[i].includes(member)) continue;
      if (state.words.every((word) => folded[i].includes(word))) rows.push(i);
    }
    return rows;
  };

  // Theme -------------------------------------------------------------------------------------------------------------
  const darkWanted = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const applyTheme = () => {
    const dark = chosen === null ? darkWanted.matches : chosen;
    root.dataset.theme = dark ? "dark" : "light";
    $("theme").textContent = dark ? "Light theme" : "Dark theme";
  };

  // Figures -----------------------------------------------------------------------------------------------------------
  const small = innerWidth < 560;
  const config = (...buttons) => ({
    responsive: true, displaylogo: false, displayModeBar: coarse || small ? false : "hover", modeBarButtons: [buttons],
    plotlyServerURL: "", scrollZoom: false, doubleClick: "reset",
  });
  const axis = (title, more) => ({
    title: { text: title, standoff: 10 }, gridcolor: colour("grid"), linecolor: colour("line"), zerolinecolor: colour("line"),
    tickfont: { color: colour("soft"), size: 12 }, automargin: true, ...more,
  });
  const layout = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: colour("sans"), color: colour("ink"), size: 13 },
    margin: { l: 56, r: 12, t: small ? 10 : 34, b: 44 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("soft"), activecolor: colour("accent") }, showlegend: false, hovermode: "closest", dragmode: coarse ? false : "zoom",
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("accent"), font: { family: colour("sans"), color: colour("ink"), size: 13 }, align: "left" },
    ...more,
  });
  const pick = (rows, key) => rows.map((i) => models[key][i]);

  let shown = [];
  let current = -1;
  const boxes = $("plot-probabilities");
  const FLOOR = 1e-12;
  const describe = (i) => [
    ["probability", `${share(models.probability[i])} (${share(models.q05[i])} to ${share(models.q95[i])})`],
    ["P(MAP)", share(models.map[i])],
    ["log evidence", `${fixed(models.logEvidence[i], places(models.sd[i]))} ± ${deviation(models.sd[i])}`],
    ["rank", `${whole(i + 1)} of ${whole(data.total)}; ${whole(models.evaluations[i])} evaluations`],
  ];
  const limit = small ? 14 : 22;
  const longest = () => Math.max(0, ...shown.map((i) => Math.min(limit, models.name[i].length)));
  const ticks = (range) => {
    const first = Math.max(0, Math.ceil(range[0]));
    const last = Math.min(shown.length - 1, Math.floor(range[1]));
    const visible = last - first + 1;
    const room = boxes.clientWidth - 70;
    if (visible < 1 || room / visible < 13) return { tickmode: "array", tickvals: [], ticktext: [], "title.text": `${whole(shown.length)} models; point at one or zoom in for its name` };
    const vals = [];
    const text = [];
    for (let k = first; k <= last; k++) { vals.push(k); text.push(plain(models.name[shown[k]], limit)); }
    const wide = longest() * 7.5 > room / visible;
    return { tickmode: "array", tickvals: vals, ticktext: text, tickangle: wide ? -50 : 0, "title.text": "" };
  };
  const full = () => [-0.6, Math.max(shown.length, 1) - 0.4];
  const drawBoxes = () => {
    if (!has.probabilities) return Promise.resolve();
    const rows = matching();
    if (state.order === "position") rows.sort((a, b) => models.position[a] - models.position[b]);
    shown = state.show === "all" ? rows : rows.slice(0, Number(state.show));
    current = -1;
    // A logarithmic axis ends somewhere: models below its floor have no box there.
    const sunk = (i) => state.log && !(models.q95[i] > FLOOR);
    const clip = (values) => (state.log ? values.map((v) => Math.max(v ?? FLOOR, FLOOR)) : values);
    const box = (keep, line, fill) => {
      const where = [];
      shown.forEach((i, k) => { if ((i === data.best) === keep && !sunk(i)) where.push(k); });
      const part = where.map((k) => shown[k]);
      return {
        type: "box", x: where, lowerfence: clip(pick(part, "q05")), q1: clip(pick(part, "q25")), median: clip(pick(part, "q50")),
        q3: clip(pick(part, "q75")), upperfence: clip(pick(part, "q95")), hoverinfo: "skip", width: Math.min(0.62, 0.09 * Math.max(shown.length, 2)), whiskerwidth: 0.5,
        line: { color: line, width: 1.4 }, fillcolor: fill,
      };
    };
    const hover = {
      type: "scatter", mode: "markers", x: shown.map((_, k) => k), y: clip(pick(shown, "q50")), marker: { size: 12, opacity: 0, color: colour("accent") },
      hoverinfo: "text",
      hovertext: shown.map((i) => `<b>${plain(models.name[i], 60)}</b><br>` + describe(i).map(([k, v]) => inHover(`${k} ${v}`)).join("<br>")),
    };
    const { "title.text": title, ...marks } = ticks(full());
    const low = Math.min(...clip(pick(shown.filter((i) => !sunk(i)), "q05")).filter((v) => v > 0), 0.1);
    const high = Math.max(...pick(shown, "q95").map((v) => v ?? 0), 1e-6);
    const y = state.log
      ? { type: "log", range: [Math.floor(Math.log10(low)) - 0.2, Math.log10(Math.min(high * 1.6, 1.6))], exponentformat: "power", dtick: Math.max(1, Math.ceil(-Math.log10(low) / 8)) }
      : { range: [-0.02 * high, Math.min(high * 1.06, 1.04)], tickformat: "~g", zeroline: true };
    const traces = [box(false, colour("neutral"), colour("neutral-fill")), box(true, colour("accent"), colour("tint")), hover];
    // The first label leans out to the left: without room there it would not be drawn.
    const lean = 0.66 * 7 * longest() - (boxes.clientWidth - 70) / (2 * Math.max(shown.length, 1));
    return Plotly.react(boxes, traces, layout({
      hovermode: "x", hoverdistance: 40, margin: { l: Math.min(Math.max(56, lean), 130), r: 12, t: small ? 10 : 34, b: 44 },
      xaxis: axis(title, { range: full(), showgrid: false, zeroline: false, ...marks }),
      yaxis: axis("posterior probability", y),
    }), config("toImage", "zoomIn2d", "zoomOut2d", "resetScale2d")).then(() => {
      const all = rows.length;
      const noun = `${all < count ? "matching " : ""}model${all === 1 ? "" : "s"}`;
      const part = shown.length < all ? `${whole(shown.length)} of ${whole(all)}` : whole(all);
      const listed = all < count ? ` (${whole(count)} listed)` : count < data.total ? `, the most probable of ${whole(data.total)}` : "";
      const below = shown.filter(sunk).length;
      const lost = below ? ` ${whole(below)} with a probability below 10⁻¹² ${below === 1 ? "has" : "have"} no box on this scale.` : "";
      $("count").textContent = `The figure shows ${part} ${noun}${listed}.${lost}`;
    });
  };
  const relabel = () => {
    const { "title.text": title, ...marks } = ticks(boxes.layout.xaxis.range);
    const update = { "xaxis.title.text": title };
    for (const [key, value] of Object.entries(marks)) update["xaxis." + key] = value;
    return Plotly.relayout(boxes, update);
  };
  const zoom = (factor) => {
    const [a, b] = boxes.layout.xaxis.range;
    const centre = current >= 0 ? current : (a + b) / 2;
    const half = Math.max(((b - a) / 2) * factor, 1.5);
    const [low, high] = full();
    const range = half * 2 >= high - low ? [low, high] : [centre - half, centre + half];
    return Plotly.relayout(boxes, { "xaxis.range": range });
  };
  const step = (by) => {
    if (!shown.length) return;
    current = by === "first" ? 0 : by === "last" ? shown.length - 1 : Math.min(Math.max(current + by, 0), shown.length - 1);
    const [a, b] = boxes.layout.xaxis.range;
    const show = () => Plotly.Fx.hover(boxes, [{ curveNumber: 2, pointNumber: current }]);
    if (current < a || current > b) Plotly.relayout(boxes, { "xaxis.range": [current - (b - a) / 2, current + (b - a) / 2] }).then(show);
    else show();
    const i = shown[current];
    $("spoken").textContent = [shorten(models.name[i], 120), ...describe(i).map((pair) => pair.join(" "))].join(", ");
  };

  const marker = { size: 8 };
  const drawInclusion = () => {
    const inclusion = data.inclusion;
    const k = inclusion.name.length;
    const plot = $("plot-inclusion");
    plot.style.height = `${Math.max(260, 70 + 21 * k)}px`;
    const at = inclusion.name.map((_, j) => k - 1 - j);
    return Plotly.react(plot, [{
      type: "bar", orientation: "h", y: at, x: inclusion.probability, width: 0.68, marker: { color: colour("accent"), opacity: 0.55 },
      error_x: {
        type: "data", symmetric: false, array: inclusion.upper.map((u, j) => u - inclusion.probability[j]),
        arrayminus: inclusion.lower.map((l, j) => inclusion.probability[j] - l), color: colour("ink"), thickness: 1.4, width: 3,
      },
      hoverinfo: "text",
      hovertext: inclusion.name.map((name, j) => `<b>${plain(name, 60)}</b><br>inclusion ${inHover(share(inclusion.probability[j]))}<br>90 %: ${inHover(`${share(inclusion.lower[j])} to ${share(inclusion.upper[j])}`)}`),
    }], layout({
      hovermode: "y",
      xaxis: axis("inclusion probability", { range: [0, 1.02], fixedrange: coarse }),
      yaxis: axis("", { tickmode: "array", tickvals: at, ticktext: inclusion.name.map((name) => plain(name, small ? 12 : 20)), range: [-0.7, k - 0.3], showgrid: false, zeroline: false, fixedrange: coarse }),
    }), config("toImage"));
  };
  const drawHistory = () => {
    const h = data.history;
    const last = h.evaluations[h.evaluations.length - 1];
    return Plotly.react("plot-history", [{
      type: "scatter", mode: "lines+markers", x: h.evaluations, y: h.map, line: { color: colour("accent"), width: 2.2 }, marker, hoverinfo: "text", cliponaxis: false,
      hovertext: h.n.map((n, j) => `<b>${plain(h.best[j], 60)}</b> leads<br>P(MAP) ${inHover(share(h.map[j]))}<br>${whole(h.evaluations[j])} evaluations, ${whole(n)} points<br>${whole(h.contenders[j])} in contention`),
    }], layout({
      xaxis: axis("evaluations of all models", { tickformat: ",d", rangemode: "tozero", range: [0, last * 1.06], nticks: 6 }),
      yaxis: axis("P(MAP)", { range: [0, 1.04], tickformat: "~g" }),
      shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: data.level, y1: data.level, line: { color: colour("contrast"), width: 1.4, dash: "dash" } }],
      annotations: [{ xref: "paper", x: 0.01, xanchor: "left", y: data.level, yanchor: "top", text: String(data.level), showarrow: false, font: { color: colour("contrast"), size: 12 } }],
    }), config("toImage"));
  };
  const curve = (name, n, value, line, dash) => ({
    type: "scatter", mode: "lines+markers", name: plain(name, 40), x: n, y: value, line: { color: line, width: 2.2, dash }, marker, hoverinfo: "text", connectgaps: false,
    hovertext: n.map((k, j) => `${plain(name, 40)}<br>${whole(k)} points: ${value[j] === null ? "–" : minus(value[j].toPrecision(3))}`),
  });
  const positive = (values) => values.map((v) => (v !== null && v > 0 ? v : null));
  // Few and round marks on a logarithmic axis: powers of ten, or 1, 2 and 5 of each, or all digits, whichever first gives three.
  const logMarks = (values) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const [first, last] = [low, high].map((v) => Math.floor(Math.log10(v)));
    const every = Math.max(1, Math.ceil((last - first) / 6));
    const text = (v) => (v >= 1e-3 && v < 1e6 ? whole(Number(v.toPrecision(2))) : minus(v.toExponential(0)));
    for (const digits of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
      const marks = [];
      for (let e = first; e <= last + 1; e += every) marks.push(...digits.map((digit) => digit * 10 ** e));
      const inside = marks.filter((v) => v >= low / 1.1 && v <= high * 1.1);
      if (inside.length >= 3) return { tickvals: inside, ticktext: inside.map(text) };
    }
    return { tickvals: [low, high], ticktext: [low, high].map(text) };
  };
  const logAxis = (title, values, more) => {
    const known = values.filter((v) => v > 0);
    const room = Math.max(0.04, 0.06 * Math.log10(Math.max(...known) / Math.min(...known)));
    return axis(title, {
      type: "log", zeroline: false, tickmode: "array", ...logMarks(known),
      range: [Math.log10(Math.min(...known)) - room, Math.log10(Math.max(...known)) + room], ...more,
    });
  };
  const pointsAxis = (title, n) => {
    const sizes = Array.from(new Set(n));
    return logAxis(title, n, sizes.length <= 8 ? { tickvals: sizes, ticktext: sizes.map(whole) } : {});
  };
  const logLegend = { showlegend: true, legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { size: 12 } }, margin: { l: 60, r: 12, t: 34, b: 44 } };
  const drawError = () => {
    const e = data.error;
    const traces = [curve("leading model", e.n, positive(e.best), colour("accent"), "solid")];
    if (count > 1) traces.push(curve("median of all models", e.n, positive(e.median), colour("neutral"), "dot"));
    return Plotly.react("plot-error", traces, layout({ ...logLegend, xaxis: pointsAxis("points per model", e.n), yaxis: logAxis("sd of log evidence", traces.flatMap((t) => t.y)) }), config("toImage"));
  };
  // Data and fits: one condition at a time ----------------------------------------------------------------------------
  const tones = ["accent", "contrast", "neutral"];
  const dashes = ["solid", "dash", "dot"];
  const conditions = data.fits.conditions || [];
  const forms = data.fits.forms || ["S", "S*"];
  const band = (x, low, high, tone) => [
    { type: "scatter", mode: "lines", x, y: low, line: { width: 0 }, hoverinfo: "skip", showlegend: false },
    { type: "scatter", mode: "lines", x, y: high, line: { width: 0 }, fill: "tonexty", fillcolor: colour(tone) + "33", hoverinfo: "skip", showlegend: false },
  ];
  const dots = (name, x, y, tone, symbol) => ({
    type: "scatter", mode: "markers", name, x, y, marker: { size: 6, color: colour(tone), symbol }, hoverinfo: "x+y+name",
  });
  const joined = (name, x, y, tone, dash) => ({
    type: "scatter", mode: "lines", name, x, y, line: { color: colour(tone), width: 2, dash }, hoverinfo: "x+y+name",
  });
  const below = { showlegend: true, legend: { traceorder: "normal", orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { size: 12 } }, margin: { l: 52, r: 8, t: 52, b: 40 } };
  const drawFits = () => {
    const c = conditions[Number($("condition").value) || 0];
    const between = c.times.slice(1).map((t, j) => 0.5 * (t + c.times[j]));
    const time = () => axis("time", { zeroline: false });
    const levels = [
      ...c.models.flatMap((m, j) => band(c.times, m.levels.low, m.levels.high, tones[j])),
      ...c.models.map((m, j) => joined(plain(m.name, 18), c.times, m.levels.middle, tones[j], dashes[j])),
      ...c.models.flatMap((m, j) => (m.substrate ? [{ ...joined(plain(m.name, 18), c.times, m.substrate, tones[j], "dot"), opacity: 0.6, showlegend: false }] : [])),
      dots(plain(forms[1], 18), c.times, c.phospho, "ink", "circle"), dots(plain(forms[0], 18), c.times, c.substrate, "soft", "circle-open"),
    ];
    const rates = [
      ...c.models.flatMap((m, j) => band(between, m.rates.low, m.rates.high, tones[j])),
      ...c.models.map((m, j) => joined(plain(m.name, 18), between, m.rates.middle, tones[j], dashes[j])),
      dots("measured", between, c.rates, "ink", "circle"),
    ];
    const enzymes = c.enzymes.map((e, j) => ({ ...joined(plain(e.name, 18), c.times, e.levels, tones[j % 3], dashes[(j + Math.floor(j / 3)) % 3]), mode: "lines+markers" }));
    const draw = (id, traces, title) => Plotly.react(id, traces, layout({ ...below, xaxis: time(), yaxis: axis(title, { zeroline: false }) }), config("toImage"));
    return Promise.all([
      draw("plot-levels", levels, "level"), draw("plot-rates", rates, `rate of change of ${plain(forms[1], 18)}`),
      enzymes.length ? draw("plot-enzymes", enzymes, "level") : null,
    ]);
  };
  const has = {
    probabilities: data.total > 1,
    inclusion: data.inclusion.name.length > 0,
    history: data.history.n.length > 1 && data.total > 1,
    error: data.history.n.length > 1 && positive(data.error.best).concat(positive(data.error.median)).some((v) => v !== null),
    fits: conditions.length > 0,
  };
  const drawAll = () => Promise.all([
    drawBoxes(), has.inclusion && drawInclusion(), has.history && drawHistory(), has.error && drawError(), has.fits && drawFits(),
  ]);

  // Table -------------------------------------------------------------------------------------------------------------
  const range = (i) => Array.from(new Set([models.q05[i], models.q95[i]].map(share))).join(" – ");
  const columns = [
    { key: "rank", title: "Rank", value: (i) => i, text: (i) => whole(i + 1), upward: true },
    { key: "name", title: "Model", value: (i) => folded[i], text: (i) => shorten(models.name[i], 60), words: true },
    { key: "probability", title: "Probability", value: (i) => models.probability[i], text: (i) => share(models.probability[i]), bar: true },
    { key: "range", title: "Range, 90 %", value: (i) => models.q95[i] - models.q05[i], text: range },
    { key: "map", title: "P(MAP)", value: (i) => models.map[i], text: (i) => share(models.map[i]) },
    { key: "logEvidence", title: "Log evidence", value: (i) => models.logEvidence[i], text: (i) => fixed(models.logEvidence[i], places(models.sd[i])) },
    { key: "sd", title: "± sd", value: (i) => models.sd[i], text: (i) => deviation(models.sd[i]) },
    { key: "bayes", title: "Log Bayes factor", value: (i) => models.bayes[i], text: (i) => (i === data.best ? "0" : fixed(models.bayes[i], 2)) },
    { key: "evaluations", title: "Evaluations", value: (i) => models.evaluations[i], text: (i) => whole(models.evaluations[i]) },
    { key: "position", title: "No.", value: (i) => models.position[i], text: (i) => whole(models.position[i]), upward: true },
  ];
  const element = (tag, text, name) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (name) made.className = name;
    return made;
  };
  const heads = columns.map((column) => {
    const th = element("th", undefined, column.words ? "text" : "");
    th.scope = "col";
    const button = element("button");
    button.type = "button";
    button.dataset.key = column.key;
    button.addEventListener("click", () => {
      // A first click puts what is looked for on top: the largest, the first rank, the beginning of the alphabet.
      state.down = state.sort === column.key ? !state.down : !(column.words || column.upward);
      state.sort = column.key;
      state.page = 0;
      drawTable();
    });
    th.append(button);
    $("models").tHead.rows[0].append(th);
    return { th, button, column };
  });
  const sorted = () => {
    const rows = matching();
    const column = columns.find((c) => c.key === state.sort);
    const sign = state.down ? -1 : 1;
    const value = rows.map((i) => column.value(i));
    const order = rows.map((_, k) => k);
    order.sort((a, b) => {
      const [x, y] = [value[a], value[b]];
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return x < y ? -sign : x > y ? sign : a - b;
    });
    return order.map((k) => rows[k]);
  };
  const drawTable = () => {
    for (const { th, button, column } of heads) {
      const active = column.key === state.sort;
      th.setAttribute("aria-sort", active ? (state.down ? "descending" : "ascending") : "none");
      button.textContent = column.title + (active ? (state.down ? " ↓" : " ↑") : "");
    }
    const rows = sorted();
    const size = state.size === "all" ? Math.max(rows.length, 1) : Number(state.size);
    const pages = Math.max(1, Math.ceil(rows.length / size));
    state.page = Math.min(state.page, pages - 1);
    const first = state.page * size;
    const part = rows.slice(first, first + size);
    const body = document.createDocumentFragment();
    for (const i of part) {
      const tr = element("tr", undefined, i === data.best ? "best" : "");
      for (const column of columns) {
        const cell = element(column.words ? "th" : "td", column.text(i), column.words ? "text" : "");
        if (column.words) { cell.scope = "row"; cell.title = models.name[i]; cell.dir = "auto"; }
        if (column.bar) {
          const bar = element("span", undefined, "share");
          bar.setAttribute("aria-hidden", "true");
          bar.append(element("i"));
          bar.firstChild.style.width = `${100 * models.probability[i]}%`;
          cell.append(bar);
        }
        tr.append(cell);
      }
      body.append(tr);
    }
    $("models").tBodies[0].replaceChildren(body);
    $("where").textContent = rows.length ? `${whole(first + 1)}–${whole(first + part.length)} of ${whole(rows.length)}` : "no model matches";
    $("previous").disabled = state.page === 0;
    $("next").disabled = state.page >= pages - 1;
  };

  // Controls ----------------------------------------------------------------------------------------------------------
  const texts = Array.from(document.querySelectorAll("[data-filter=text]"));
  const refilter = () => { state.page = 0; drawTable(); return drawBoxes(); };
  let waiting = 0;
  const search = (value) => {
    state.words = value.normalize("NFKC").toLowerCase().split(/\s+/).filter(Boolean);
    for (const input of texts) if (input.value !== value) input.value = value;
    state.page = 0;
    drawTable();
    clearTimeout(waiting);
    waiting = setTimeout(drawBoxes, 120);
  };
  texts.forEach((input) => input.addEventListener("input", () => search(input.value)));
  data.members.forEach((name, j) => {
    const option = element("option", shorten(name, 40));
    option.value = String(j);
    $("member").append(option);
  });
  conditions.forEach((c, j) => {
    const option = element("option", shorten(c.name || "all data", 60));
    option.value = String(j);
    $("condition").append(option);
  });
  $("fit-controls").hidden = conditions.length < 2;
  $("plot-enzymes").parentElement.hidden = !conditions.length || conditions[0].enzymes.length === 0;
  $("condition").addEventListener("change", drawFits);
  for (const part of document.querySelectorAll("[data-needs=members]")) part.hidden = data.members.length === 0;
  $("member").addEventListener("change", (event) => { state.member = event.target.value; refilter(); });
  $("order").addEventListener("change", (event) => { state.order = event.target.value; drawBoxes(); });
  $("show").addEventListener("change", (event) => { state.show = event.target.value; drawBoxes(); });
  $("show").value = state.show;
  $("log").checked = state.log;
  $("log").addEventListener("change", (event) => { state.log = event.target.checked; drawBoxes(); });
  $("reset").addEventListener("click", () => {
    state.member = $("member").value = "";
    state.order = $("order").value = "probability";
    state.log = $("log").checked = flat(Number(first));
    clearTimeout(waiting);
    for (const input of texts) input.value = "";
    state.words = [];
    refilter();
  });
  $("size").addEventListener("change", (event) => { state.size = event.target.value; state.page = 0; drawTable(); });
  $("previous").addEventListener("click", () => { state.page -= 1; drawTable(); });
  $("next").addEventListener("click", () => { state.page += 1; drawTable(); });
  boxes.addEventListener("keydown", (event) => {
    const act = {
      ArrowRight: () => step(1), ArrowLeft: () => step(-1), Home: () => step("first"), End: () => step("last"),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "−": () => zoom(2),
      0: () => Plotly.relayout(boxes, { "xaxis.range": full() }), Escape: () => Plotly.Fx.unhover(boxes),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  $("theme").addEventListener("click", () => { chosen = root.dataset.theme !== "dark"; applyTheme(); drawAll(); });
  darkWanted.addEventListener("change", () => { applyTheme(); drawAll(); });

  // Start -------------------------------------------------------------------------------------------------------------
  for (const [name, present] of Object.entries(has)) $("s-" + name).hidden = !present;
  applyTheme();
  drawTable();
  drawAll().then(() => {
    if (has.probabilities) boxes.on("plotly_relayout", (change) => {
      if (Object.keys(change).some((key) => /^xaxis\.(range|autorange)/.test(key)) || change.autosize) relabel();
    });
    if (has.inclusion) {
      $("plot-inclusion").on("plotly_click", (event) => {
        const name = data.inclusion.name[event.points[0].pointIndex];
        state.member = $("member").value = String(data.members.indexOf(name));
        refilter();
      });
    }
    root.dataset.ready = "yes";
  });
})();
