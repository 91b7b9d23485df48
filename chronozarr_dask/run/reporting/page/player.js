"use strict";
/* Shows stored values. Residuals become values by section 4 of the chronozarr specification:
   value = (anchor + residual) modulo 2^bits, which is what writing to a typed array of the stored dtype does. */
(() => {
  const source = document.getElementById("player-data");
  const stage = document.getElementById("stage");
  if (!source || !stage) return;
  const film = JSON.parse(source.textContent);
  const TYPES = { uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array, float32: Float32Array };
  const COLOURS = ["#c8553d", "#3f8f5b", "#3b7dc4", "#8a63b8", "#b58a1b", "#2c9aa0", "#c0588f", "#6b7780"];
  const TICK = 650;
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const nodata = film.nodata === null ? null : film.dtype === "float32" ? Math.fround(film.nodata) : film.nodata;
  const day = (iso) => (iso.slice(11, 19) === "00:00:00" ? iso.slice(0, 10) : iso.slice(0, 19).replace("T", " "));

  // ---- stored bytes to values ------------------------------------------------------------------------------------

  async function unpacked(text, Type) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Type(await new Response(plain).arrayBuffer());
  }

  const decoded = new Map();
  function open(k) {
    if (!decoded.has(k)) decoded.set(k, decode(film.levels[k]));
    return decoded.get(k);
  }

  async function decode(level) {
    const values = await unpacked(level.data, TYPES[film.dtype]);
    const size = level.bands.length * level.height * level.width;
    level.references.forEach((anchor, t) => {
      if (anchor === t) return;  // an anchor, or a store of encoding none: true values
      for (let i = 0; i < size; i++) values[t * size + i] = values[anchor * size + i] + values[t * size + i];
    });
    return {
      level, size, values,
      plane: level.height * level.width,
      mask: level.mask === null ? null : await unpacked(level.mask, Uint8Array),
      coverage: level.coverage === null ? null : await unpacked(level.coverage, Uint8Array),
    };
  }

  const value = (o, t, b, p) => o.values[t * o.size + b * o.plane + p];
  function valid(o, t, b, p) {
    if (o.mask !== null) return o.mask[t * o.plane + p] === 1;
    return nodata === null || value(o, t, b, p) !== nodata;
  }

  // ---- pictures ----------------------------------------------------------------------------------------------------

  const state = { k: 0, t: 0, pixel: null, timer: null, open: null };
  const shown = () => (state.band === "colour" ? film.shown : [Number(state.band)]);

  /* The stretch of the bands that are shown: of a part of the pixels, or of all where that part has nothing valid. */
  function stretch(o, bands) {
    if (film.stretch !== null && bands.every((b) => film.shown.includes(b))) return film.stretch;
    const at = bands.map((b) => o.level.bands.indexOf(b));
    const step = Math.max(1, Math.floor((o.level.times.length * o.plane) / 50000));
    const found = taken(o, at, step);
    if (!found.length) return extremes(taken(o, at, 1));
    found.sort((a, b) => a - b);
    const last = found.length - 1;
    return apart(found[Math.floor(0.02 * last)], found[Math.ceil(0.98 * last)]);
  }

  function taken(o, at, step) {
    const out = [], n = o.level.times.length * o.plane;
    for (let i = 0; i < n; i += step) {
      const t = Math.floor(i / o.plane), p = i % o.plane;
      for (const b of at) if (valid(o, t, b, p)) out.push(value(o, t, b, p));
    }
    return out;
  }

  function extremes(values) {
    let low = Infinity, high = -Infinity;
    for (const v of values) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
    return values.length ? apart(low, high) : [0, 1];  // nothing is drawn
  }

  const apart = (low, high) => (high > low ? [low, high] : [low - 0.5, low + 0.5]);

  function draw() {
    const o = state.open, { height, width, times } = o.level;
    const canvas = $("canvas"), bands = shown().map((b) => o.level.bands.indexOf(b));
    canvas.width = width;
    canvas.height = height;
    canvas.parentElement.style.setProperty("--aspect", width / height);
    const picture = new ImageData(width, height), range = state.range;
    let count = 0;
    for (let p = 0; p < o.plane; p++) {
      if (!bands.every((b) => valid(o, state.t, b, p))) continue;
      count++;
      for (let c = 0; c < 3; c++) {
        const v = value(o, state.t, bands[bands.length === 3 ? c : 0], p);
        picture.data[4 * p + c] = Math.round(((v - range[0]) / (range[1] - range[0])) * 255);
      }
      picture.data[4 * p + 3] = 255;
    }
    canvas.getContext("2d").putImageData(picture, 0, 0);
    const name = day(film.times[times[state.t]]), share = Math.round((1000 * count) / o.plane) / 10;
    $("now").textContent = `${name}${count ? "" : " – no valid pixel"}`;
    $("time").setAttribute("aria-valuetext", name);
    canvas.setAttribute("aria-label", `Level ${o.level.level} at ${name}, ${share} % of its pixels valid`);
    mark();
  }

  // ---- one pixel ---------------------------------------------------------------------------------------------------

  function told(t, [y, x]) {
    const o = state.open, p = y * o.level.width + x;
    const row = o.level.row + y * o.level.stride, col = o.level.col + x * o.level.stride;
    const texts = o.level.bands.map((b, i) => {
      const v = `${film.bands[b]} ${value(o, t, i, p)}`;
      return valid(o, t, i, p) ? v : `${v} (not valid)`;
    });
    if (o.coverage !== null) texts.push(`coverage ${o.coverage[t * o.plane + p]}`);
    return `${day(film.times[o.level.times[t]])}, row ${row}, column ${col}: ${texts.join(", ")}`;
  }

  function mark() {
    const cross = $("cross"), at = state.pixel;
    cross.hidden = at === null;
    if (at === null) return;
    const { height, width } = state.open.level;
    cross.style.left = `${(100 * (at[1] + 0.5)) / width}%`;
    cross.style.top = `${(100 * (at[0] + 0.5)) / height}%`;
    $("readout").textContent = told(state.t, at);
    $("series").replaceChildren(plot(at));
  }

  function element(name, attributes, text) {
    const out = document.createElementNS(SVG, name);
    for (const key in attributes) out.setAttribute(key, attributes[key]);
    if (text !== undefined) out.textContent = text;
    return out;
  }

  function plot(at) {
    const o = state.open, times = o.level.times, p = at[0] * o.level.width + at[1];
    const [w, top, bottom, strip, left] = [420, 8, 118, 34, 46];
    const moments = times.map((t) => Date.parse(film.times[t]));
    const span = moments[moments.length - 1] - moments[0] || 1;
    const x = (t) => left + 6 + ((w - left - 14) * (moments[t] - moments[0])) / span;
    const bands = shown().map((b) => o.level.bands.indexOf(b));
    const all = bands.flatMap((b) => times.map((_, t) => t).filter((t) => valid(o, t, b, p)).map((t) => value(o, t, b, p)));
    const low = Math.min(...all), high = Math.max(...all), range = high - low || 1;
    const y = (v) => bottom - ((bottom - top) * (v - low)) / range;
    const svg = element("svg", { viewBox: `0 0 ${w} 194`, role: "img", "aria-label": "Stored values of the chosen pixel over time" });
    svg.append(element("line", { class: "axis", x1: left, x2: w, y1: bottom + 4, y2: bottom + 4 }));
    svg.append(element("line", { class: "here", x1: x(state.t), x2: x(state.t), y1: top, y2: bottom + 4 + strip }));
    if (all.length) {
      svg.append(element("text", { x: left - 4, y: top + 8, "text-anchor": "end" }, short(high)));
      if (high > low) svg.append(element("text", { x: left - 4, y: bottom, "text-anchor": "end" }, short(low)));
    } else svg.append(element("text", { x: left + 10, y: 60 }, "no valid value"));
    bands.forEach((b, i) => {
      const colour = COLOURS[i % COLOURS.length];
      let path = "", before = false;
      times.forEach((_, t) => {
        if (!valid(o, t, b, p)) return (before = false);
        path += `${before ? "L" : "M"}${x(t).toFixed(1)} ${y(value(o, t, b, p)).toFixed(1)}`;
        before = true;
      });
      svg.append(element("path", { d: path, fill: "none", stroke: colour, "stroke-width": 1.6 }));
      times.forEach((_, t) => {
        if (!valid(o, t, b, p)) return;
        const dot = element("circle", { cx: x(t), cy: y(value(o, t, b, p)), r: times.length > 60 ? 1.8 : 3, fill: colour });
        dot.append(element("title", {}, told(t, at)));
        svg.append(dot);
      });
      const name = film.bands[o.level.bands[b]];
      svg.append(element("text", { x: left + 6 + i * 110, y: 190, style: `fill:${colour}` }, name.length > 16 ? `${name.slice(0, 15)}…` : name));
    });
    if (o.coverage !== null) {
      const counts = times.map((_, t) => o.coverage[t * o.plane + p]), most = Math.max(1, ...counts);
      counts.forEach((n, t) => {
        const h = (strip * n) / most;
        const bar = element("rect", { class: "count", x: x(t) - 2, width: 4, y: bottom + 6 + strip - h, height: h });
        bar.append(element("title", {}, `${day(film.times[times[t]])}: coverage ${n}`));
        svg.append(bar);
      });
      svg.append(element("text", { x: left - 4, y: bottom + 16, "text-anchor": "end" }, `${most} obs.`));
    }
    svg.append(element("text", { x: left + 6, y: bottom + 18 + strip }, day(film.times[times[0]])));
    if (times.length > 1) svg.append(element("text", { x: w, y: bottom + 18 + strip, "text-anchor": "end" }, day(film.times[times[times.length - 1]])));
    return svg;
  }
  const short = (v) => (Number.isInteger(v) ? String(v) : v.toPrecision(4));

  // ---- controls ----------------------------------------------------------------------------------------------------

  function go(t) {
    const n = state.open.level.times.length;
    state.t = ((t % n) + n) % n;
    $("time").value = state.t;
    draw();
  }

  function play(on) {
    clearInterval(state.timer);
    state.timer = on ? setInterval(() => go(state.t + 1), TICK) : null;
    $("play").textContent = on ? "Pause" : "Play";
    $("play").setAttribute("aria-pressed", String(on));
  }

  function move(dy, dx) {
    const { height, width } = state.open.level;
    const [y, x] = state.pixel || [height >> 1, width >> 1];
    state.pixel = [Math.min(height - 1, Math.max(0, y + dy)), Math.min(width - 1, Math.max(0, x + dx))];
    mark();
  }

  function choices(o) {
    const names = film.shown.length === 3 ? [["colour", "true colour"]] : [];
    o.level.bands.forEach((b) => names.push([String(b), film.bands[b]]));
    $("band").replaceChildren(...names.map(([key, text]) => new Option(text, key)));
    state.band = names.some(([key]) => key === state.band) ? state.band : names[0][0];
    $("band").value = state.band;
  }

  async function change(k) {
    const time = state.open ? state.open.level.times[state.t] : -1, before = state.open && state.open.level;
    const o = await open(k);
    if (state.pixel !== null) {
      const [y, x] = state.pixel;
      state.pixel = [Math.floor(((y + 0.5) * o.level.height) / before.height), Math.floor(((x + 0.5) * o.level.width) / before.width)];
    }
    state.open = o;
    state.k = k;
    $("time").max = o.level.times.length - 1;
    $("time").disabled = o.level.times.length < 2;
    choices(o);
    state.range = stretch(o, shown());
    go(Math.max(0, o.level.times.indexOf(time)));
  }

  function keys(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    const native = event.target.matches("select") || (event.target.matches("input") && !event.shiftKey);
    if (step && event.shiftKey) move(...step);
    else if (native) return;
    else if (step && step[1]) go(state.t + step[1]);
    else if (event.key === "Home") go(0);
    else if (event.key === "End") go(state.open.level.times.length - 1);
    else if (event.key === " " && !event.target.matches("button")) play(state.timer === null);
    else return;
    event.preventDefault();
  }

  function under(event) {
    const box = $("canvas").getBoundingClientRect(), { height, width } = state.open.level;
    const y = Math.floor(((event.clientY - box.top) / box.height) * height);
    const x = Math.floor(((event.clientX - box.left) / box.width) * width);
    return [Math.min(height - 1, Math.max(0, y)), Math.min(width - 1, Math.max(0, x))];
  }

  function wire() {
    $("level").replaceChildren(...film.levels.map((l, k) => new Option(`${l.level} (${l.width} x ${l.height} px)`, k)));
    $("level").addEventListener("change", (e) => change(Number(e.target.value)));
    $("band").addEventListener("change", (e) => {
      state.band = e.target.value;
      state.range = stretch(state.open, shown());
      draw();
    });
    $("time").addEventListener("input", (e) => go(Number(e.target.value)));
    $("play").addEventListener("click", () => play(state.timer === null));
    $("canvas").addEventListener("click", (e) => { state.pixel = under(e); mark(); });
    $("canvas").addEventListener("mousemove", (e) => { $("readout").textContent = told(state.t, under(e)); });
    $("canvas").addEventListener("mouseleave", () => { if (state.pixel) $("readout").textContent = told(state.t, state.pixel); });
    stage.addEventListener("keydown", keys);
  }

  wire();
  change(0).then(() => { stage.hidden = false; });

  // For a console, and for tests: the true values of a timestep, band after band, row after row.
  stage.frame = async (k, t) => {
    const o = await open(k);
    return Array.from(o.values.subarray(t * o.size, (t + 1) * o.size));
  };
})();
