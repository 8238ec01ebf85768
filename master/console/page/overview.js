// The cluster at a glance, and its servers.

import { ask, look } from './api.js';
import { bar, empty, grid, h, renew, style } from './dom.js';
import { bytes, count, percent, processors, span } from './format.js';
import { palette } from './palette.js';
import { brighten, placeRows, rowAt, shade } from './scale.js';
import { repeat } from './repeat.js';
import { showStandby } from './standby.js';
import { link } from './table.js';

const THUMBS = 6;
const THUMBS_MOST = 24;
const WINDOW_S = 900;
const ASKED_MOST = 64; // tables that are asked what was done in that time: those with load now first

const sum = (items, of) => items.reduce((all, item) => all + of(item), 0);
const cpuOf = (load) => (load ? load.read_cpu + load.write_cpu : 0);
const shareOf = (server) => (server.load && server.load.capacity > 0 ? cpuOf(server.load) / server.load.capacity : 0);

function figure(title, value, more, kind = '') {
  return h('div', {}, h('dt', {}, title), h('dd', { class: kind }, value, more && h('small', {}, more)));
}

/** Most loaded against the mean, of living servers; null where there is no load to speak of. */
function imbalance(servers) {
  const shares = servers.filter((server) => server.alive && server.load).map(shareOf);
  const mean = sum(shares, (share) => share) / (shares.length || 1);
  return shares.length > 1 && mean > 0.01 ? Math.max(...shares) / mean : null;
}

function figures(seen) {
  const alive = seen.servers.filter((server) => server.alive);
  const reads = sum(alive, (server) => server.load?.reads ?? 0), writes = sum(alive, (server) => server.load?.writes ?? 0);
  const lost = sum(seen.tables, (table) => table.unavailable), notLed = sum(seen.tables, (table) => table.not_led);
  const uneven = imbalance(seen.servers);
  return h('dl', { class: 'figures' },
    figure('Servers', `${alive.length} of ${seen.servers.length}`, alive.length < seen.servers.length ? 'some do not answer' : 'all answer', alive.length < seen.servers.length ? 'bad' : ''),
    figure('Tables', count(seen.tables.length), `${count(seen.tablets)} tablets`),
    figure('Reads', count(reads), 'a second'), figure('Writes', count(writes), 'a second'),
    figure('Stored', bytes(sum(seen.servers, (server) => sum(server.stores, (store) => store.used_bytes))), 'on all servers'),
    figure('Uneven', uneven === null ? '—' : `× ${uneven.toFixed(2)}`, uneven === null ? 'no load to speak of' : 'busiest server against the mean', uneven > 1.5 ? 'warn' : ''),
    lost > 0 && figure('Unavailable', count(lost), 'tablets without a copy that answers', 'bad'),
    notLed > 0 && figure('Not led', count(notLed), 'tablets that nobody serves', 'bad'));
}

function loadBars(servers) {
  if (servers.length === 0) return empty('No tablet server has come so far.');
  return h('ul', { class: 'bars' }, servers.map((server) => {
    const share = shareOf(server), load = server.load;
    const words = load ? `${percent(share)} of its processors: reads ${percent(load.read_cpu / load.capacity)}, writes ${percent(load.write_cpu / load.capacity)}` : 'nothing heard';
    return h('li', {}, h('span', { class: 'name', title: server.address }, server.address.replace('tcp://', ''), ' ', !server.alive && h('span', { class: 'chip bad' }, 'gone'), server.draining && h('span', { class: 'chip warn' }, 'draining')),
      bar(load && load.capacity > 0 ? [['r', load.read_cpu / load.capacity], ['w', load.write_cpu / load.capacity]] : [], words), h('span', { class: 'num' }, percent(share)));
  }));
}

const legend = () => h('span', {}, h('span', { class: 'tick' }, h('i', { class: 'r' }), 'reads'), h('span', { class: 'tick' }, h('i', { class: 'w' }), 'writes'));

function tableRows(tables) {
  return grid('Tables', [['Table', ''], ['Tablets', 'num'], ['Copies', 'num'], ['Busy', 'num'], ['Reads/s', 'num'], ['Writes/s', 'num'], ['Processors', 'num'], ['State', '']],
    tables.map((table) => [h('a', { href: link({ name: table.name }) }, table.name), count(table.tablets), String(table.replicas), count(table.load.busy), count(table.load.reads), count(table.load.writes), processors(table.load.cpu),
      table.unavailable > 0 ? h('span', { class: 'chip bad' }, `${table.unavailable} unavailable`) : table.not_led > 0 ? h('span', { class: 'chip bad' }, `${table.not_led} not led`) : table.serving === table.tablets ? h('span', { class: 'chip good' }, 'serving') : h('span', { class: 'chip warn' }, 'changing')]));
}

// --- small pictures of the busiest tables ----------------------------------------------------------------------

/** What one row of all would be as bright as: pictures of as many rows as they like have one scale then. */
const topOf = (heat, bright) => bright.top * heat.rows;

function paint(canvas, heat, bright, top) {
  const edges = placeRows(heat, 'size'), colours = palette();
  canvas.width = heat.columns; canvas.height = 96;
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let y = 0; y < canvas.height; y++) {
    const first = rowAt(edges, y / canvas.height), last = rowAt(edges, (y + 0.99) / canvas.height);
    for (let x = 0; x < heat.columns; x++) {
      let most = 0;
      for (let row = first; row <= last; row++) most = Math.max(most, bright.all[row * heat.columns + x]);
      pixels[y * canvas.width + x] = colours[shade(most * heat.rows, top, 0.65)];
    }
  }
  context.putImageData(image, 0, 0);
}

/** A heat map of the time that small pictures show; null: nothing is known of the table.  By its name: another one's may
 *  be its number. */
async function heatOf(table, rows, columns, signal) {
  return ask('heat', { table: table.name, last_s: WINDOW_S, rows, columns }, signal).catch((error) => { if (error.name === 'AbortError') throw error; return null; });
}

/** Those with most operations in that time. */
async function busiest(tables, most, signal) {
  const asked = [...tables].sort((a, b) => b.load.cpu - a.load.cpu).slice(0, ASKED_MOST);
  const known = [];
  for (const table of asked) {
    const heat = await heatOf(table, 1, 1, signal);
    if (heat) known.push({ table, total: heat.total });
  }
  return known.sort((a, b) => b.total - a.total).slice(0, most).map(({ table }) => table);
}

/** Pictures stay when the rest is made anew: only what they show changes. */
export class Thumbs {
  constructor() { this.root = h('div', { class: 'thumbs' }); this.made = new Map(); }

  thumbOf(table) {
    if (!this.made.has(table.number)) {
      const canvas = h('canvas', { role: 'img', 'aria-label': `Heat map of ${table.name}, 15 minutes` });
      const words = h('span', { class: 'soft' });
      this.made.set(table.number, { canvas, words, root: h('a', { class: 'thumb', href: link({ name: table.name }) }, canvas, h('span', {}, h('b', {}, table.name), words)) });
    }
    return this.made.get(table.number);
  }

  async show(tables, signal, most) {
    const shown = [];
    for (const table of await busiest(tables, most, signal)) {
      const heat = await heatOf(table, 96, 90, signal);
      if (heat) shown.push({ thumb: this.thumbOf(table), heat, bright: brighten(heat, 'size') });
    }
    const top = Math.max(...shown.map(({ heat, bright }) => (heat.total > 0 ? topOf(heat, bright) : 0))) || 1;
    for (const { thumb, heat, bright } of shown) {
      thumb.words.textContent = `${count(heat.total)} operations`;
      paint(thumb.canvas, heat, bright, top);
    }
    const roots = shown.map(({ thumb }) => thumb.root);
    const same = roots.length > 0 && roots.length === this.root.children.length && roots.every((root, i) => this.root.children[i] === root);
    if (!same) this.root.replaceChildren(...(roots.length ? roots : [empty('No table has had any load so far. The quickest way to see something: ', h('code', {}, 'edubba-load ycsb-a --duration 60'))]));
  }
}

// --- views ---------------------------------------------------------------------------------------------------------

/** What the master says that a person has to do. */
function alarms(seen) {
  return (seen.alarms ?? []).map((alarm) => h('p', { class: 'trouble' }, h('b', {}, `${alarm.message}.`), ' ', alarm.action));
}

export function overviewPage(main, signal) {
  const alarm = h('div', {}), stand = h('div', {}), top = h('div', {}), left = h('div', {}), below = h('div', {}), thumbs = new Thumbs();
  const parts = [top,
    h('section', { class: 'card', 'aria-label': 'Busiest tables' }, h('header', {}, h('h2', {}, 'Busiest tables'), h('span', { class: 'soft' }, 'of the last 15 minutes: time to the right, row keys down, one scale for all')), thumbs.root),
    h('section', { class: 'card', 'aria-label': 'Load of servers' }, h('header', {}, h('h2', {}, 'Load of servers'), legend()), left),
    h('section', { class: 'card', 'aria-label': 'Tables' }, h('header', {}, h('h2', {}, 'Tables')), below)];
  main.replaceChildren(h('div', { class: 'head' }, h('h1', {}, 'Cluster'), h('span', { class: 'soft', id: 'which' })), alarm, stand, ...parts);
  repeat(signal, async () => {
    const seen = await look(signal);
    const stands = showStandby(seen, stand, parts);
    document.getElementById('which').textContent = stands ? '' : `number ${seen.cluster}`;
    alarm.replaceChildren(...alarms(seen));
    if (stands) return;
    top.replaceChildren(figures(seen));
    left.replaceChildren(loadBars(seen.servers));
    renew(below, seen.tables.length ? tableRows(seen.tables) : empty('There are no tables yet: ', h('code', {}, 'ebt createtable USERS families=profile')));
    await thumbs.show(seen.tables, signal, THUMBS);
  });
}

export function tablesPage(main, signal) {
  const thumbs = new Thumbs(), below = h('div', {}), stand = h('div', {});
  const parts = [thumbs.root, h('section', { class: 'card', 'aria-label': 'Tables' }, below)];
  main.replaceChildren(h('div', { class: 'head' }, h('h1', {}, 'Heat maps'), h('span', { class: 'soft' }, 'where in each table the load is')), stand, ...parts);
  repeat(signal, async () => {
    const seen = await look(signal);
    if (showStandby(seen, stand, parts)) return;
    renew(below, seen.tables.length ? tableRows(seen.tables) : empty('There are no tables yet.'));
    await thumbs.show(seen.tables, signal, THUMBS_MOST);
  });
}

export function serversPage(main, signal) {
  const place = h('div', {}), stand = h('div', {}), card = h('section', { class: 'card', 'aria-label': 'Servers' }, h('header', {}, legend()), place);
  main.replaceChildren(h('div', { class: 'head' }, h('h1', {}, 'Servers')), stand, card);
  repeat(signal, async () => {
    const seen = await look(signal);
    if (showStandby(seen, stand, [card])) return;
    renew(place, seen.servers.length === 0 ? empty('No tablet server has come so far.') : grid('Servers', [['Address', ''], ['State', ''], ['Zone', ''], ['Leads', 'num'], ['Tablets', 'num'], ['Load', ''], ['Of its processors', 'num'], ['Reads/s', 'num'], ['Writes/s', 'num'], ['Stored', 'num'], ['Free', 'num'], ['Heard', 'num']],
      seen.servers.map((server) => {
        const load = server.load;
        return [server.address.replace('tcp://', ''),
          h('span', { class: `chip ${!server.alive ? 'bad' : server.draining ? 'warn' : 'good'}` }, !server.alive ? 'gone' : server.draining ? 'draining' : 'alive'), server.zone,
          count(server.leading), count(server.tablets), style(bar(load && load.capacity > 0 ? [['r', load.read_cpu / load.capacity], ['w', load.write_cpu / load.capacity]] : [], percent(shareOf(server))), { 'min-width': '6rem' }),
          percent(shareOf(server)), load ? count(load.reads) : '—', load ? count(load.writes) : '—', bytes(sum(server.stores, (store) => store.used_bytes)), server.stores.length ? bytes(Math.min(...server.stores.map((store) => store.free_bytes))) : '—',
          server.last_heard_us ? `${span(Math.max(0, seen.now_us - server.last_heard_us))} ago` : 'never'];
      })));
  });
}
