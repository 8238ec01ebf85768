"use strict";
/* Draws what stands as JSON in #results.  Each function returns text of HTML or SVG; numbers come from the
 * results, texts pass through safe(). */
const results = JSON.parse(document.getElementById("results").textContent);
const SERVER_COLOURS = ["#3b6ea8", "#d98032", "#4d9a6a", "#a8577e", "#8a7a3d", "#6c63b5", "#3f9aa6", "#b5524a"];
const VARIANT_COLOURS = ["#c0392b", "#2a7f4f", "#3b6ea8", "#8a63b0", "#b07d2b"];

const safe = text => String(text).replace(/[&<>"]/g, c => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})[c]);
const percent = share => `${(100 * share).toFixed(share > 0.995 || share < 0.0005 ? 0 : 1)} %`;
const round = number => number >= 100 ? Math.round(number).toLocaleString("en").replace(/,/g, "\u202f") : Number(number.toPrecision(3));
const time = us => us <= 0 ? "–" : us < 1000 ? `${round(us)} µs` : us < 999500 ? `${(us / 1000).toPrecision(3)} ms` : `${(us / 1e6).toFixed(2)} s`;
const bytes = n => n < 1e3 ? `${Math.round(n)} B` : n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;
const per_second = m => m.to_s > m.from_s ? m.operations / (m.to_s - m.from_s) : 0;
const swatch = colour => `<i class="swatch" style="background:${colour}"></i>`;
const sum = list => list.reduce((a, b) => a + b, 0);

/* The least round number that is not below it. */
function ceiling(number) {
  if (!(number > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(number));
  return [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10].map(f => f * power).find(f => f >= number * 0.9999);
}

/* Charts are drawn when the page stands, each as wide as its place is: so letters are never shrunk. */
const charts = [];
function chart(draw) {
  charts.push(draw);
  return `<div class="chart" data-chart="${charts.length - 1}" tabindex="0" role="group" aria-label="Chart: arrows go from figure to figure"></div>`;
}
function draw_charts() {
  for (const place of document.querySelectorAll(".chart"))
    if (place.clientWidth > 0) place.innerHTML = charts[place.dataset.chart](Math.floor(place.clientWidth));
}

/* --- throughput over time: a line a variant --------------------------------------------------------- */
function lines_chart(list, unit, W) {
  const H = Math.max(180, Math.min(260, W / 3)), L = 58, R = 12, T = 12, B = 28;
  const end = Math.max(0.001, ...list.map(s => Math.max(0, ...s.moments.map(m => m.to_s))));
  const top = ceiling(Math.max(0, ...list.flatMap(s => s.moments.map(per_second))));
  const x = s => L + (W - L - R) * s / end, y = v => H - B - (H - T - B) * v / top;
  let out = `<svg width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" role="img" aria-label="${safe(unit)} over time">`;
  for (let i = 0; i <= 4; i++) {
    const v = top * i / 4;
    out += `<line class="grid" x1="${L}" x2="${W - R}" y1="${y(v)}" y2="${y(v)}"/>` +
      `<text x="${L - 8}" y="${y(v) + 4}" text-anchor="end">${round(v)}</text>`;
  }
  const step = ceiling(end / Math.max(3, Math.min(10, W / 90)));
  for (let s = 0; s <= end + 1e-9; s += step) out += `<text x="${x(s)}" y="${H - 8}" text-anchor="middle">${Number(s.toFixed(2))} s</text>`;
  for (const s of list) {
    const points = s.moments.flatMap(m => [`${x(m.from_s).toFixed(1)},${y(per_second(m)).toFixed(1)}`, `${x(m.to_s).toFixed(1)},${y(per_second(m)).toFixed(1)}`]);
    if (points.length) out += `<polyline points="${points.join(" ")}" fill="none" stroke="${s.colour}" stroke-width="2.5" stroke-linejoin="round"/>`;
    for (const m of s.moments)
      out += `<rect x="${x(m.from_s)}" y="${y(per_second(m)) - 6}" width="${Math.max(1, x(m.to_s) - x(m.from_s))}" height="12" fill="transparent" data-tip="${
        safe(`${s.name}, ${m.from_s.toFixed(1)} to ${m.to_s.toFixed(1)} s\n${round(per_second(m))} ${unit}\np99 ${time(m.p99_us)}`)}"/>`;
    for (const c of s.changes)
      out += `<circle cx="${x(c.at_s)}" cy="${H - B}" r="4" fill="${s.colour}"><title>${safe(change_text(c))}</title></circle>`;
  }
  return out + "</svg>";
}

function change_text(c, address = n => n) {
  return `${c.at_s.toFixed(1)} s: ` + (c.what === "split" ? `tablet ${c.tablet} was split into ${c.pieces}`
    : c.what === "merge" ? `${c.pieces} tablets were merged into ${c.tablet}`
    : c.what === "move" ? `tablet ${c.tablet} was moved from ${address(c.from)} to ${address(c.to)}`
    : `tablet ${c.tablet} was handed over from ${address(c.from)} to ${address(c.to)}`);
}

/* --- share of each server over time: stacked -------------------------------------------------------- */
function server_of(phase, m, i) { return phase.maps[m.map][i].server; }

function shares_chart(phase, servers, W) {
  const H = 140, L = 40, B = 22, T = 6;
  const end = Math.max(0.001, ...phase.moments.map(m => m.to_s));
  const x = s => L + (W - L) * s / end, y = v => T + (H - T - B) * (1 - v);
  let out = `<svg width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" role="img" aria-label="Share of each server over time">`;
  for (const m of phase.moments) {
    const all = sum(m.by_tablet);
    let from = 0;
    for (const s of servers) {
      const share = all ? sum(m.by_tablet.filter((_, i) => server_of(phase, m, i) === s.server)) / all : 0;
      if (share > 0) out += `<rect x="${x(m.from_s).toFixed(2)}" y="${y(from + share).toFixed(2)}" width="${Math.max(0.5, x(m.to_s) - x(m.from_s) + 0.3).toFixed(2)}" height="${
        (y(from) - y(from + share)).toFixed(2)}" fill="${s.colour}" data-tip="${safe(`${s.address}\n${m.from_s.toFixed(1)} to ${m.to_s.toFixed(1)} s: ${percent(share)}`)}"/>`;
      from += share;
    }
  }
  for (const v of [0, 0.5, 1]) out += `<text x="${L - 6}" y="${y(v) + 4}" text-anchor="end">${100 * v} %</text>`;
  out += `<text x="${L}" y="${H - 6}">0 s</text><text x="${W}" y="${H - 6}" text-anchor="end">${end.toFixed(1)} s</text>`;
  return out + "</svg>";
}

/* --- tablets over time: a heat map ------------------------------------------------------------------ */
/* 0 cold to 1 hot: ever further from the ground, be that light or dark. */
const is_dark = matchMedia("(prefers-color-scheme: dark)");
const LIGHT_HEAT = [[254, 240, 200], [253, 200, 100], [240, 120, 60], [200, 40, 60], [90, 10, 90]];
const DARK_HEAT = [[62, 28, 66], [128, 36, 84], [205, 66, 62], [245, 146, 62], [255, 240, 170]];
function heat(v) {
  const stops = is_dark.matches ? DARK_HEAT : LIGHT_HEAT;
  if (v <= 0) return "var(--cold)";
  const at = Math.min(0.9999, Math.sqrt(v)) * (stops.length - 1), i = Math.floor(at), f = at - i;
  return `rgb(${stops[i].map((c, k) => Math.round(c + (stops[i + 1][k] - c) * f)).join(",")})`;
}

/* A key stands as text, each byte of it that does not print as \xNN: its bytes again, which are what rows are sorted by. */
const key_bytes = key => key.replace(/\\x([0-9a-f]{2})/g, (_, digits) => String.fromCharCode(parseInt(digits, 16)));

/* Rows are stretches between any two ends that a tablet ever had; a tablet covers one or more of them. */
function heat_map(phase, address, W) {
  const starts = [...new Set(phase.maps.flatMap(map => map.map(t => t.start)))].sort((a, b) => key_bytes(a) < key_bytes(b) ? -1 : 1);
  const row = new Map(starts.map((s, i) => [s, i]));
  const L = 40, B = 22, high = Math.max(5, Math.min(22, 260 / starts.length)), H = high * starts.length + B;
  const end = Math.max(0.001, ...phase.moments.map(m => m.to_s));
  const hottest = phase.moments.reduce((most, m) => m.by_tablet.reduce( /* not spread: there may be a million */
    (more, n) => Math.max(more, n / Math.max(1e-9, m.to_s - m.from_s)), most), 1e-9);
  const x = s => L + (W - L) * s / end;
  let out = `<svg width="${W}" height="${H}" viewBox="0 0 ${W} ${H}" role="img" aria-label="Operations of each tablet over time">`;
  for (const m of phase.moments) {
    phase.maps[m.map].forEach((t, i) => {
      const from = row.get(t.start), next = phase.maps[m.map][i + 1];
      const to = next ? row.get(next.start) : starts.length;
      const rate = m.by_tablet[i] / Math.max(1e-9, m.to_s - m.from_s);
      out += `<rect x="${x(m.from_s).toFixed(2)}" y="${(from * high).toFixed(2)}" width="${Math.max(0.5, x(m.to_s) - x(m.from_s) + 0.3).toFixed(2)}" height="${
        ((to - from) * high - 1).toFixed(2)}" fill="${heat(rate / hottest)}" data-tip="${
        safe(`${round(rate)} a second, ${m.from_s.toFixed(1)} to ${m.to_s.toFixed(1)} s\nfrom ${t.start || "the first row"}\nto ${t.end || "the last row"}\ntablet ${t.tablet} on ${address(t.server)}`)}"/>`;
    });
  }
  out += `<text x="${L - 6}" y="10" text-anchor="end">first</text><text x="${L - 6}" y="${H - B - 2}" text-anchor="end">last</text>` +
    `<text x="${L}" y="${H - 6}">0 s</text><text x="${W}" y="${H - 6}" text-anchor="end">${end.toFixed(1)} s</text></svg>`;
  const ramp = [0.001, 0.0625, 0.25, 0.5625, 1].map(heat).join(",");
  return out + `<div class="scale"><span>0</span><i style="background:linear-gradient(90deg,${ramp})"></i><span>${round(hottest)} a second</span></div>`;
}

/* --- tables ----------------------------------------------------------------------------------------- */
function phase_row(variant, phase, colour, list, is_query) {
  const fastest = Math.max(...list.map(p => p.per_second));
  const looked_at = phase.rows_found > 0 ? phase.rows_looked_at / phase.rows_found : 0;
  const ratio = fastest > 0 ? phase.per_second / fastest : 0;
  return `<tr><td>${swatch(colour)}${safe(variant.name)}</td><td class="${ratio < 0.5 ? "worst" : ""}">${round(phase.per_second)}</td><td>${
    ratio.toFixed(2)} ×</td><td>${time(phase.p50_us)}</td><td>${time(phase.p99_us)}</td><td class="${phase.errors ? "worst" : ""}">${phase.errors}</td>` + (is_query
    ? `<td>${round(phase.seconds > 0 ? phase.rows / phase.seconds : 0)}</td><td>${phase.operations ? round(phase.bytes_given / phase.operations) : "–"}</td><td>${phase.operations && phase.cells_looked_at ? round(phase.cells_looked_at / phase.operations) : "–"}</td><td class="${looked_at >= 5 ? "worst" : ""}">${looked_at ? looked_at.toFixed(1) : "–"}</td>`
    : `<td class="${phase.busiest_tablet >= 0.5 ? "worst" : ""}">${percent(phase.busiest_tablet)}</td><td>${percent(phase.busiest_server)}</td><td>${
      phase.maps.length ? `${phase.maps[0].length} → ${phase.maps[phase.maps.length - 1].length}` : "–"}</td><td>${phase.splits}</td><td>${phase.moves}</td><td>${phase.hand_overs}</td><td>${Math.round(variant.event_bytes)}</td>`) + "</tr>";
}

function phase_table(result, phase_of, title, is_query) {
  const there = result.variants.filter(v => phase_of(v).operations + phase_of(v).errors + phase_of(v).cut_off > 0);
  const heads = is_query ? ["queries/s", "of the best", "p50", "p99", "errors", "rows/s", "bytes a query", "cells looked at a query", "rows looked at for one"]
    : ["events/s", "of the best", "p50", "p99", "errors", "busiest tablet", "busiest server", "tablets", "splits", "moves", "hand-overs", "bytes an event"];
  if (!there.length) return "";
  return `<h3>${safe(title)}</h3><div class="scroll" tabindex="0" role="group" aria-label="${safe(title)}"><table aria-label="${safe(title)}"><thead><tr><th scope="col" aria-label="schema"></th>${heads.map(h => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${
    there.map(v => phase_row(v, phase_of(v), VARIANT_COLOURS[result.variants.indexOf(v)], there.map(phase_of), is_query)).join("")}</tbody></table></div>`;
}

/* --- what the master decided -------------------------------------------------------------------------- */
const DECISIONS = [["splits", "split", "splits"], ["merges", "merge", "merges"], ["moves", "move", "moves"],
  ["hand_overs", "hand-over", "hand-overs"], ["others", "other", "others"]];
function decided_text(decided) {
  const made = DECISIONS.filter(([name]) => decided[name].count > 0).map(([name, one, several]) => {
    const {count, done, given_up} = decided[name];
    const ends = [done ? `${done} done` : "", given_up ? `${given_up} given up` : ""].filter(end => end);
    return `${count} ${count === 1 ? one : several}${ends.length ? ` (${ends.join(", ")})` : ""}`;
  });
  const refused = Object.entries(decided.refusals).map(([reason, count]) => `${count} ${reason}`);
  return [made.length ? `decided: ${made.join(", ")}` : "", refused.length ? `refused: ${refused.join(", ")}` : ""].filter(part => part).join("; ");
}

/* --- an experiment ---------------------------------------------------------------------------------- */
function variant_card(result, variant, servers) {
  const address = n => (servers.find(s => s.server === n) || {address: "no server"}).address;
  const w = variant.write, role = {bad: "the fault", good: "a cure", also: "another way"}[variant.role];
  let out = `<article class="card ${variant.role}"><header><h2>${safe(variant.name)}</h2><span class="tag ${variant.role}">${role}</span></header>` +
    `<code class="key">${safe(variant.key)}</code><p class="soft">${safe(variant.about)}</p>`;
  if (w.moments.length) {
    out += `<div class="figures"><div><b>${round(w.per_second)}</b><span>events a second</span></div><div><b>${time(w.p99_us)}</b><span>p99</span></div>` +
      `<div><b>${percent(w.busiest_tablet)}</b><span>on the busiest tablet</span></div></div>` +
      `<h3>Share of each server</h3>${chart(W => shares_chart(w, servers, W))}<ul class="legend">${servers.concat(w.servers.filter(o => !servers.some(s => s.server === o.server)).map(o => ({...o, colour: "#888", address: "no server, or a new one"}))).map(s => {
        const own = w.servers.find(o => o.server === s.server);
        return `<li>${swatch(s.colour)}${safe(s.address.replace(/^tcp:\/\//, ""))} ${percent(own ? own.share : 0)}</li>`;
      }).join("")}</ul><h3>Tablets, in order of their rows</h3>${chart(W => heat_map(w, address, W))}`;
    if (w.changes.length) out += `<ul class="events">${w.changes.slice(0, 12).map(c => `<li>${safe(change_text(c, address))}</li>`).join("")}${
      w.changes.length > 12 ? `<li>and ${w.changes.length - 12} more</li>` : ""}</ul>`;
  }
  for (const query of variant.queries.filter(q => q.moments.length))
    out += `<details><summary>“${safe(query.name)}”, ${round(query.per_second)} a second</summary>${chart(W => shares_chart(query, servers, W))}${
      chart(W => heat_map(query, address, W))}</details>`;
  const decided = decided_text(variant.decided);
  if (decided) out += `<p class="soft">The master ${safe(decided)}</p>`;
  for (const told of variant.told) out += `<p class="soft">The cluster says: ${safe(told)}</p>`;
  return out + "</article>";
}

function experiment(result) {
  const servers = result.servers.map((s, i) => ({...s, colour: SERVER_COLOURS[i % SERVER_COLOURS.length]}));
  const load = result.rate > 0 ? `${round(result.rate)} requests a second` : `${result.in_flight * result.clients} requests at a time`;
  const drawn = result.variants.map((v, i) => ({name: v.name, colour: VARIANT_COLOURS[i], moments: v.write.moments, changes: v.write.changes}));
  const queries = result.variants.length ? result.variants[0].queries : [];
  return `<section class="experiment" id="${safe(result.experiment)}"><h1>${safe(result.experiment)}</h1><p>${safe(result.story)}</p>` +
    `<dl class="verdicts">${result.variants.map((v, i) =>
      `<dt>${swatch(VARIANT_COLOURS[i])}${safe(v.name)}<code>${safe(v.key)}</code></dt><dd class="${v.faults.length ? v.role : "good"}">${safe(v.verdict)}</dd>`).join("")}</dl>` +
    (result.choice ? `<p class="outcome">${safe(result.choice)}.</p>` : "") +
    (result.verdict ? `<p class="compared">${safe(result.verdict[0].toUpperCase() + result.verdict.slice(1))}</p>` : "") +
    `<p class="soft">${servers.length} servers, ${result.replicas} ${result.replicas === 1 ? "copy" : "copies"} of each tablet, ${load}, ${round(result.history)} events there before.${
      result.confinement ? ` ${safe(result.confinement)}.` : ""}${result.interrupted ? " Interrupted: what there is." : ""}</p>` +
    `<h3>Writes over time, events a second</h3>${chart(W => lines_chart(drawn, "events a second", W))}<ul class="legend">${
      drawn.map(d => `<li>${swatch(d.colour)}${safe(d.name)}</li>`).join("")}${
      drawn.some(d => d.changes.length) ? "<li>● a tablet was split, merged, moved or handed over then</li>" : ""}</ul>` +
    phase_table(result, v => v.write, "Writes", false) +
    queries.map((q, i) => phase_table(result, v => v.queries[i], `Query: ${q.name}`, true)).join("") +
    `<div class="variants">${result.variants.map(v => variant_card(result, v, servers)).join("")}</div></section>`;
}

/* --- the page --------------------------------------------------------------------------------------- */
document.getElementById("names").innerHTML = results.length > 1
  ? results.map(r => `<a href="#${safe(r.experiment)}">${safe(r.experiment)}</a>`).join("") : "";
document.getElementById("page").innerHTML = results.map(experiment).join("") +
  "<footer>Made by <code>edubba-load lab</code>. Shares are of the operations that the load counted, by the tablet that each row lay in.</footer>";
draw_charts();
addEventListener("resize", draw_charts);
document.addEventListener("toggle", draw_charts, true); /* of <details>: what is closed has no width */
is_dark.addEventListener("change", draw_charts);
document.title = `Edubba lab: ${results.map(r => r.experiment).join(", ")}`;

/* --- a figure of a chart: by pointer, finger or arrows ------------------------------------------------- */
const tip = document.getElementById("tip");
const text_of = place => place.getAttribute && place.getAttribute("data-tip");
function show_tip(text, x, y) {
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = `${Math.max(0, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 14, innerHeight - tip.offsetHeight - 8))}px`;
}
for (const kind of ["pointermove", "pointerdown"])
  document.addEventListener(kind, event => show_tip(text_of(event.target), event.clientX, event.clientY));
document.addEventListener("pointerleave", () => show_tip(null));

const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
function middle(place) {
  const box = place.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
}
/* The nearest that way; what lies aside counts as farther. */
function nearest(places, from, [right, down]) {
  const [x, y] = middle(from);
  let best = from, least = Infinity;
  for (const place of places) {
    const [a, b] = middle(place);
    const along = (a - x) * right + (b - y) * down, aside = Math.abs((a - x) * down) + Math.abs((b - y) * right);
    if (along > 0.5 && along + 4 * aside < least) { best = place; least = along + 4 * aside; }
  }
  return best;
}
document.addEventListener("keydown", event => {
  const chart = event.target.closest && event.target.closest(".chart"), way = ARROWS[event.key];
  if (!chart || !(way || event.key === "Escape")) return;
  const places = [...chart.querySelectorAll("rect[data-tip]")], at = chart.querySelector("rect.at");
  if (!way || !places.length) return show_tip(null);
  event.preventDefault();
  const next = at ? nearest(places, at, way) : places[0];
  if (at) at.classList.remove("at");
  next.classList.add("at");
  show_tip(text_of(next), ...middle(next));
});
document.addEventListener("focusout", () => {
  for (const at of document.querySelectorAll("rect.at")) at.classList.remove("at");
  show_tip(null);
});
