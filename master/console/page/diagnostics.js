// What is wrong with row keys, in words; what takes most right now, and what took most of late.

import { ask, look } from './api.js';
import { bar, empty, grid, h, keyOf, rangeOf, renew } from './dom.js';
import { count, moment, percent } from './format.js';
import { repeat } from './repeat.js';
import { showStandby } from './standby.js';
import { link } from './table.js';

const TABLES_MOST = 64; // are asked, those with load now first
const PAGES_EVERY_MS = 30000; // minutes that were hot, where they are more than a page
const KINDS = {
  balanced: ['good', 'Balanced'], too_few: ['', 'Too little was seen'], popular_key: ['bad', 'One row takes much of the load'],
  monotonic: ['bad', 'Keys only grow'], narrow_range: ['warn', 'Few ranges take most'], high_pressure: ['warn', 'High pressure'],
  large_rows: ['warn', 'Large rows'], other: ['', 'Something else'],
};

/** One finding: what it is, where, and what would cure it. */
export function finding(table, found) {
  const [kind, title] = KINDS[found.kind] ?? KINDS.other;
  const where = found.kind === 'popular_key' ? keyOf(found.key) : found.start || found.end ? rangeOf(found) : null;
  return h('div', { class: `finding ${kind}` },
    h('b', {}, title), ' ', found.share_permille > 0 && found.kind !== 'balanced' && h('span', { class: `chip ${kind}` }, percent(found.share_permille / 1000)),
    h('p', {}, found.text),
    where && h('p', { class: 'soft' }, where, ' ', h('a', { href: link({ name: table, start: found.start, end: found.end }) }, 'on the heat map')),
    found.cure && h('p', { class: 'cure' }, found.pattern && h('b', {}, `${found.pattern}: `), found.cure));
}

/** Where anything better is there, that too little was seen goes without saying. */
const told = (advice) => {
  const better = advice.findings.filter((found) => found.kind !== 'too_few');
  return { better: better.length > 0, findings: better.length > 0 ? better : advice.findings };
};

function wordsOf(table, advice) {
  return h('div', {}, told(advice).findings.map((found) => finding(table, found)),
    h('p', { class: 'note' }, `From ${count(advice.observations)} sampled operations of about the last ten seconds; ${count(advice.operations_per_second)} rows touched a second; tablets that are busy: ${advice.busy} of ${advice.tablets}.`));
}

/** Of one table: all that is to be said; null where too little was seen. */
export async function adviceOf(table, signal) {
  const advice = await ask('advice', { table }, signal);
  return told(advice).better ? wordsOf(table, advice) : null;
}

/** Of every table of which something was seen of late; those of which too little was only if there are no others. */
async function advise(seen, signal) {
  const known = [];
  for (const table of [...seen.tables].sort((a, b) => b.load.cpu - a.load.cpu).slice(0, TABLES_MOST)) {
    const advice = await ask('advice', { table: table.name }, signal).catch((error) => { if (error.name === 'AbortError') throw error; return null; });
    if (advice?.observations > 0) known.push({ table, advice });
  }
  const better = known.filter(({ advice }) => told(advice).better);
  const shown = better.length ? better : known;
  if (shown.length === 0) return [h('section', { class: 'card' }, empty('No table had anything to do of late: there is nothing to be said.'))];
  return shown.map(({ table, advice }) => h('section', { class: 'card', 'aria-label': `Advice on ${table.name}` },
    h('header', {}, h('h2', {}, h('a', { href: link({ name: table.name }) }, table.name)), h('span', { class: 'soft' }, `${count(table.load.reads + table.load.writes)} ops/s now`)), wordsOf(table.name, advice)));
}

function busyNow(seen) {
  if (seen.hot.length === 0) return empty('No tablet has anything to do.');
  const capacity = new Map(seen.servers.map((server) => [server.number, server.load?.capacity ?? 0]));
  return grid('Busy tablets', [['Table', ''], ['Keys', ''], ['Of its server', 'num'], ['Reads and writes', ''], ['Reads/s', 'num'], ['Writes/s', 'num'], ['Most frequent row', '']],
    seen.hot.slice(0, 20).map((tablet) => {
      const all = capacity.get(tablet.server) || 1;
      const [first] = tablet.keys;
      return [h('a', { href: link({ name: tablet.name || tablet.table, start: tablet.start, end: tablet.end }) }, tablet.name || tablet.table), rangeOf(tablet), percent((tablet.read_cpu + tablet.write_cpu) / all),
        bar([['r', tablet.read_cpu / all], ['w', tablet.write_cpu / all]], 'share of its server', true), count(tablet.reads), count(tablet.writes),
        first ? [keyOf(first.key), ` ${percent(first.share)}`] : ''];
    }));
}

function hotBefore(hot) {
  const minutes = hot.tablets.map((tablet) => ({ ...tablet, share: (tablet.read_cpu_ns + tablet.write_cpu_ns) / (tablet.capacity_ns || 1) })).sort((a, b) => b.share - a.share).slice(0, 25);
  if (minutes.length === 0) return empty('None was.');
  return grid('Hot tablets', [['Minute', ''], ['Table', ''], ['Keys', ''], ['Of its server', 'num'], ['Reads/s', 'num'], ['Writes/s', 'num']],
    minutes.map((tablet) => {
      const seconds = Math.max(1, (tablet.end_us - tablet.start_us) / 1e6);
      return [moment(tablet.start_us), h('a', { href: link({ name: tablet.name || tablet.table, start: tablet.start, end: tablet.end }) }, tablet.name || tablet.table), rangeOf(tablet), percent(tablet.share), count(tablet.reads / seconds), count(tablet.writes / seconds)];
    }));
}

/** All minutes of the last hour; those that are over have a page each thousand, the newest last. */
async function askHot(signal) {
  const hot = { tablets: [], pages: 0 };
  for (let next = null; next !== 0; hot.pages += 1) {
    const page = await ask('hot_tablets', { count: 1000, after: next }, signal);
    hot.tablets.push(...page.tablets);
    next = page.next;
  }
  return hot;
}

export function diagnosticsPage(main, signal) {
  const words = h('div', { class: 'two' }), now = h('div', {}), before = h('div', {}), stand = h('div', {});
  const parts = [words,
    h('section', { class: 'card', 'aria-label': 'Busy tablets' }, h('header', {}, h('h2', {}, 'Busy tablets'), h('span', { class: 'soft' }, 'right now')), now),
    h('section', { class: 'card', 'aria-label': 'Hot tablets' }, h('header', {}, h('h2', {}, 'Hot tablets'), h('span', { class: 'soft' }, 'minutes of the last hour in which one took 1 % of its server or more')), before)];
  main.replaceChildren(h('div', { class: 'head' }, h('h1', {}, 'Diagnostics'), h('span', { class: 'soft' }, 'what sampled operations say of row keys, and what would cure it')), stand, ...parts);
  let hot = null, asked_ms = 0;
  repeat(signal, async () => {
    const seen = await look(signal);
    if (showStandby(seen, stand, parts)) return;
    renew(now, busyNow(seen));
    if (!(hot?.pages > 1) || Date.now() - asked_ms >= PAGES_EVERY_MS) {
      hot = await askHot(signal);
      asked_ms = Date.now();
      renew(before, hotBefore(hot));
    }
    renew(words, await advise(seen, signal));
  });
}
