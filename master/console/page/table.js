// A table: its heat map, its tablets.

import { ApiError, ask, look } from './api.js';
import { repeat } from './repeat.js';
import { bar, empty, grid, h, keyOf, renew } from './dom.js';
import { METRICS, bytes, count, key, moment, percent, processors, rate, say, span } from './format.js';
import { adviceOf } from './diagnostics.js';
import { HeatMap } from './heatmap.js';
import { commonStart } from './scale.js';

const SPANS = [[300, '5 min'], [900, '15 min'], [3600, '1 hour'], [21600, '6 hours'], [86400, '1 day'], [345600, '4 days'], [1209600, '14 days']];
const SPAN_LEAST_S = 120, SPAN_MOST_S = 900; // of what is known, where the address names no window
const REFRESH_MS = 3000;
const PAGE = 100;
const PARTS_MOST = 50;

/** What a person has set stays from one part of the picture to the next: pins by table, brightness, heights. */
const kept = { pins: new Map(), parts: new Map(), gain: 0.65, by: 'size' };

// --- parts that were zoomed out of ------------------------------------------------------------------------------

const WHOLE = { from: null, to: null, start: null, end: null };
const isSame = (a, b) => Object.keys(WHOLE).every((name) => String(a[name] ?? '') === String(b[name] ?? ''));
const partOf = ({ from, to, start, end }) => ({ from, to, start, end });

/** Into a part; what was shown before is what zooming out shows again. */
function zoomIn(state, part, go) {
  kept.parts.set(state.name, [...(kept.parts.get(state.name) ?? []), partOf(state)].slice(-PARTS_MOST));
  go(part);
}

/** To what was shown before, or where nothing was, as in an address that somebody sent, to the whole table. */
function zoomOut(state, go) {
  const parts = kept.parts.get(state.name) ?? [];
  let part = parts.pop();
  while (part && isSame(part, state)) part = parts.pop();
  go(part ? { ...WHOLE, ...part } : WHOLE);
}

const option = (value, text, chosen) => h('option', { value, selected: String(value) === String(chosen) }, text);

/** The page of one table.  state: {name, tab, metric, last, from, to, start, end, rows}; go(changes, replace). */
export function tablePage(main, state, go, signal) {
  // Whoever zooms with the keyboard goes on with it: what had the focus has it again.
  const had = document.activeElement;
  const again = had?.closest('.heat') ? '.picture' : had?.id && main.contains(had) ? `#${had.id}` : null;
  const tab = (id, text) => h('a', { id: `tab-${id}`, href: link({ ...state, tab: id }), 'aria-current': state.tab === id ? 'page' : null }, text);
  main.replaceChildren(
    h('div', { class: 'head' }, h('h1', {}, state.name), h('nav', { 'aria-label': 'Of this table' }, tab('heat', 'Heat map'), tab('tablets', 'Tablets'))));
  if (state.tab === 'tablets') tabletsTab(main, state, signal); else heatTab(main, state, go, signal);
  if (again) main.querySelector(again)?.focus({ preventScroll: true });
}

export function link(state) {
  const parameters = new URLSearchParams();
  for (const name of ['metric', 'last', 'from', 'to', 'start', 'end', 'rows', 'after']) {
    if (state[name]) parameters.set(name, state[name]);
  }
  const text = parameters.toString();
  return `#/table/${encodeURIComponent(state.name)}${state.tab === 'tablets' ? '/tablets' : ''}${text ? `?${text}` : ''}`;
}

// --- the heat map ----------------------------------------------------------------------------------------------

/** Those that are offered, and the one that the address says. */
function spans({ last }) {
  const own = !last || SPANS.some(([seconds]) => String(seconds) === String(last)) ? [] : [[last, span(last * 1e6)]];
  return [['', 'up to 15 min'], ...[...SPANS, ...own].sort((a, b) => a[0] - b[0])];
}

/** When something was first counted, as far as the picture says; null: nothing was. */
function firstCounted(heat) {
  const column = heat.column_totals.findIndex((total) => total > 0);
  return column < 0 ? null : heat.start_us + column * heat.step_us;
}

/** So many seconds show all that was counted; in steps, so that columns do not change their width all the time. */
function spanSince(first_us, now_us) {
  if (first_us === null) return SPAN_MOST_S;
  return Math.max(SPAN_LEAST_S, Math.min(SPAN_MOST_S, Math.ceil((now_us - first_us) / 60e6) * 60));
}

function tools(state, go, map, refresh) {
  const zoomed = Boolean(state.from || state.start || state.end);
  const live = h('button', { type: 'button', id: 'follow', 'aria-pressed': String(!state.from), title: 'Follow what happens now', onclick: () => go(state.from ? { from: null, to: null } : { from: map.heat?.start_us, to: map.heat ? map.heat.start_us + map.heat.columns * map.heat.step_us : null }) }, 'Live');
  return h('div', { class: 'tools', role: 'group', 'aria-label': 'What the heat map shows' },
    h('label', {}, 'Show', h('select', { id: 'metric', onchange: (event) => go({ metric: event.target.value }) }, METRICS.map((metric) => option(metric.name, metric.title, state.metric ?? 'ops')))),
    h('label', {}, 'of the last', h('select', { id: 'last', onchange: (event) => go({ last: event.target.value, from: null, to: null }) }, spans(state).map(([seconds, text]) => option(seconds, text, state.last ?? '')))),
    live,
    h('button', { type: 'button', id: 'back', disabled: !zoomed, onclick: () => zoomOut(state, go) }, 'Zoom out'),
    h('button', { type: 'button', id: 'whole', disabled: !zoomed, onclick: () => go(WHOLE) }, 'Whole table'),
    h('span', { class: 'gap' }),
    h('label', {}, 'Heights', h('select', { id: 'heights', onchange: (event) => keep(map, { by: event.target.value }) }, option('size', 'by size', kept.by), option('rows', 'all alike', kept.by))),
    h('label', {}, 'Brightness', h('input', { type: 'range', id: 'gain', min: '0.15', max: '1', step: '0.05', value: String(kept.gain), oninput: (event) => keep(map, { gain: Number(event.target.value) }) })),
    h('button', { type: 'button', onclick: refresh, title: 'Ask again now', 'aria-label': 'Refresh' }, '↻'));
}

function keep(map, set) {
  Object.assign(kept, set);
  map.set(set);
}

function pinList(map) {
  return map.pins.map((pin, i) => h('li', {},
    h('button', { type: 'button', class: 'off', 'aria-label': `Take pin ${i + 1} away`, onclick: () => map.unpin(i) }, '×'),
    h('b', {}, `${i + 1}. ${pin.words}`),
    h('span', { class: 'range' }, key(pin.start, 'first key'), ' … ', key(pin.end, 'last key')),
    h('dl', {}, h('dt', {}, pin.title), h('dd', {}, pin.words), h('dt', {}, 'time'), h('dd', {}, moment(pin.from_us)),
      pin.share !== null && [h('dt', {}, pin.shareOf), h('dd', {}, percent(pin.share))],
      h('dt', {}, 'here on average'), h('dd', {}, pin.mean))));
}

/** The picture in words and numbers: the ranges with most, and when each had most. */
function asTable(map) {
  const { heat, metric } = map;
  const rows = Array.from(heat.row_totals, (total, row) => ({ row, total })).filter(({ total }) => total > 0).sort((a, b) => b.total - a.total).slice(0, 25);
  return grid(`The ranges of keys with most: ${metric.title}`, [['From key', ''], ['To key', ''], ['On average', 'num'], ['Share', 'num'], ['At most', 'num'], ['at', 'num']],
    rows.map(({ row, total }) => {
      const cells = heat.cells[row];
      let most = 0;
      for (let i = 1; i < cells.length; i++) if (map.rateOf(row, i) > map.rateOf(row, most)) most = i;
      const { start, end } = map.rangeOf(row);
      return [keyOf(start, 'first key'), keyOf(end, 'last key'),
        say(metric, rate(heat, total, map.coveredUs())), heat.mean ? '' : percent(total / heat.total), say(metric, map.rateOf(row, most)), moment(map.startOf(most))];
    }));
}

function heatTab(main, state, go, signal) {
  const pins = h('ol', { class: 'pins', 'aria-label': 'What is pinned' });
  const words = h('div', {});
  const note = h('p', { class: 'note', id: 'note' });
  const scale = h('span', {});
  const trouble = h('div', { role: 'alert' });
  const map = new HeatMap({
    wanted: (part) => zoomIn(state, { from: part.from_us ?? state.from, to: part.to_us ?? state.to, start: part.start, end: part.end }, go),
    back: () => { if (state.from || state.start || state.end) zoomOut(state, go); },
    pinned: () => { kept.pins.set(state.name, map.pins); renew(pins, pinList(map)); },
  });
  map.set({ gain: kept.gain, by: kept.by, pins: kept.pins.get(state.name) ?? [] });
  pins.replaceChildren(...pinList(map));
  const details = h('details', { ontoggle: () => details.open && map.heat && words.replaceChildren(asTable(map)) }, h('summary', {}, 'The same as a table'), words);
  const begin = h('p', { class: 'note begin', hidden: true });
  const card = h('section', { class: 'card', 'aria-label': 'Heat map' }, begin, map.root);
  const legend = h('div', { class: 'legend' }, 'little', map.legend, 'much', scale, h('span', { class: 'gap' }), note);
  main.append(tools(state, go, map, () => load()), trouble, card, legend, pins, advice(state, signal), details, help());
  const showParts = (shown) => { for (const part of [card, legend, details]) part.hidden = !shown; };

  let timer = 0, first_us = null, skew_us = 0; // skew: of the master's clock against ours
  const asked = (last_s) => ask('heat', {
    table: state.name, metric: state.metric, last_s, from_us: state.from, to_us: state.to, start: state.start, end: state.end,
    rows: Math.max(60, Math.min(400, Math.floor((map.picture.clientHeight || 500) / 2))),
    columns: Math.max(30, Math.min(600, Math.floor((map.picture.clientWidth || 800) / 3))),
  }, signal);
  /** Where the address names no window: all that was counted, of at most 15 minutes. */
  async function known() {
    if (first_us !== null) return asked(spanSince(first_us, Date.now() * 1000 + skew_us));
    const heat = await asked(SPAN_MOST_S);
    first_us = firstCounted(heat);
    skew_us = heat.now_us - Date.now() * 1000;
    return spanSince(first_us, heat.now_us) < SPAN_MOST_S ? asked(spanSince(first_us, heat.now_us)) : heat;
  }
  async function load() {
    clearTimeout(timer);
    try {
      const heat = await (state.from ? asked(null) : state.last ? asked(state.last) : known());
      showParts(true);
      trouble.replaceChildren();
      map.show(heat);
      tellScale(heat);
      tellBegin(heat);
      if (details.open) renew(words, asTable(map));
    } catch (error) {
      if (error.name === 'AbortError') return;
      showParts(Boolean(map.heat));
      trouble.replaceChildren(map.heat && !(error instanceof ApiError) ? h('p', { class: 'trouble' }, 'The master does not answer; what is shown is from before.') : await noHeat(state, error, signal));
    }
    if (!signal.aborted && !state.from) timer = setTimeout(load, document.hidden ? 5 * REFRESH_MS : REFRESH_MS);
  }
  function tellScale(heat) {
    note.textContent = `${heat.rows} ranges of keys, columns of ${span(heat.step_us)}; known since ${heat.oldest_us ? moment(heat.oldest_us) : 'just now'}.`;
    scale.textContent = heat.total > 0 ? `hottest: ${map.facts(map.hottest()).words}` : 'nothing was counted in this time';
  }
  function tellBegin(heat) {
    const text = commonStart(heat);
    begin.hidden = text.length < 2;
    begin.replaceChildren('These keys begin with ', keyOf(text));
  }
  signal.addEventListener('abort', () => clearTimeout(timer));
  load();
}

async function noHeat(state, error, signal) {
  if (error.status !== 'NOT_FOUND') return h('p', { class: 'trouble' }, error instanceof ApiError ? error.message : 'The master does not answer.');
  const tables = await ask('cluster', {}, signal).then((cluster) => cluster.tables, () => null);
  return tables && !tables.some((table) => table.name === state.name || table.number === state.name)
    ? empty('There is no table ', h('b', {}, state.name), ' (dropped?). ', h('a', { href: '#/tables' }, 'To those that there are'))
    : empty('No load was seen on ', h('b', {}, state.name), ' so far. As soon as there is some, this fills within seconds.');
}

/** What is to be said of this table's keys; nothing where there is nothing. */
function advice(state, signal) {
  const words = h('div', {});
  const place = h('section', { class: 'card', 'aria-label': 'Advice', hidden: true }, h('header', {}, h('h2', {}, 'What its keys say')), words);
  repeat(signal, async () => {
    const said = await adviceOf(state.name, signal).catch((error) => { if (error.name === 'AbortError') throw error; return null; });
    place.hidden = said === null;
    if (said) renew(words, said);
  });
  return place;
}

const help = () => h('details', {}, h('summary', {}, 'How to read it'),
  h('p', { class: 'note' }, 'Time runs from left to right, row keys from top to bottom. A bright horizontal band is a hot range of keys; a diagonal is a writer whose keys only grow; a vertical band is a burst on the whole table; an even grain is good. Totals of ranges are at the right, of times below.'),
  h('p', { class: 'note' }, 'Drag over a part to zoom in; click to pin its figures. With the keyboard: arrows move (', h('kbd', {}, 'Shift'), ' further), ', h('kbd', {}, 'Home'), ' goes to the hottest, ', h('kbd', {}, 'Enter'), ' pins, ', h('kbd', {}, '+'), ' zooms in, ', h('kbd', {}, '-'), ' or ', h('kbd', {}, 'Esc'), ' out.'));

// --- tablets -----------------------------------------------------------------------------------------------------

/** Of this table's tablets alone: those of others may be a thousand that are busier.  Of a new table nothing is known. */
const loadOf = (table, signal) => ask('load', { table, count: 1000 }, signal).catch((error) => { if (error instanceof ApiError) return { tablets: [] }; throw error; });

async function tabletsTab(main, state, signal) {
  const place = h('section', { class: 'card', 'aria-label': 'Tablets' }, empty('Loading …'));
  main.append(place);
  try {
    const [page, seen, load] = await Promise.all([ask('tablets', { table: state.name, from: state.after, count: PAGE }, signal), look(signal), loadOf(state.name, signal)]);
    const address = new Map(seen.servers.map((server) => [server.number, server.address.replace('tcp://', '')]));
    const live = new Map(load.tablets.map((tablet) => [tablet.tablet, tablet]));
    const most = Math.max(1, ...page.tablets.map((tablet) => tablet.size_bytes));
    place.replaceChildren(
      grid(`Tablets of ${state.name}`, [['From key', ''], ['To key', ''], ['State', ''], ['Leads', ''], ['Copies', 'num'], ['Size', 'num'], ['Against the largest', ''], ['Reads/s', 'num'], ['Writes/s', 'num'], ['Processors', 'num']],
        page.tablets.map((tablet) => {
          const now = live.get(tablet.tablet);
          const sync = tablet.replicas.filter((replica) => replica.in_sync).length;
          return [keyOf(tablet.start, 'first key'), keyOf(tablet.end, 'last key'),
            h('span', { class: `chip ${tablet.state === 'serving' ? 'good' : ['unavailable', 'not_led'].includes(tablet.state) ? 'bad' : 'warn'}` }, tablet.state),
            address.get(tablet.server) ?? '—', `${sync} of ${tablet.replicas.filter((replica) => replica.member).length}`, bytes(tablet.size_bytes),
            h('div', { class: 'wide' }, bar([['s', tablet.size_bytes / most]], `${bytes(tablet.size_bytes)} of at most ${bytes(most)}`, true)),
            now ? count(now.reads) : '', now ? count(now.writes) : '', now ? processors(now.read_cpu + now.write_cpu) : ''];
        })),
      h('div', { class: 'tools' }, state.after && h('a', { href: link({ ...state, after: null }) }, 'From the first'), page.next && h('a', { href: link({ ...state, after: page.next }) }, `Next ${PAGE}`)));
  } catch (error) {
    if (error.name !== 'AbortError') place.replaceChildren(h('p', { class: 'trouble' }, error.message));
  }
}
