// What takes most right now, and what took most of late.

import { ask, look } from './api.js';
import { bar, empty, grid, h } from './dom.js';
import { count, key, moment, percent } from './format.js';
import { repeat } from './overview.js';
import { link } from './table.js';

const rangeOf = (tablet) => h('span', { class: 'key' }, key(tablet.start, 'first key'), ' … ', key(tablet.end, 'last key'));

export function diagnosticsPage(main, signal) {
  const now = h('div', {}), before = h('div', {});
  main.replaceChildren(h('div', { class: 'head' }, h('h1', {}, 'Diagnostics')),
    h('section', { class: 'card', 'aria-label': 'Busy tablets' }, h('header', {}, h('h2', {}, 'Busy tablets'), h('span', { class: 'soft' }, 'right now')), now),
    h('section', { class: 'card', 'aria-label': 'Hot tablets' }, h('header', {}, h('h2', {}, 'Hot tablets'), h('span', { class: 'soft' }, 'minutes of the last hour in which one took 1 % of its server or more')), before));
  repeat(signal, async () => {
    const [seen, hot] = await Promise.all([look(signal), ask('hot_tablets', { count: 1000 }, signal)]);
    const capacity = new Map(seen.servers.map((server) => [server.number, server.load?.capacity ?? 0]));
    now.replaceChildren(seen.hot.length === 0 ? empty('No tablet has anything to do.') : grid('Busy tablets', [['Table', ''], ['Keys', ''], ['Of its server', 'num'], ['', ''], ['Reads/s', 'num'], ['Writes/s', 'num']],
      seen.hot.slice(0, 20).map((tablet) => {
        const all = capacity.get(tablet.server) || 1;
        return [h('a', { href: link({ name: tablet.name || tablet.table, start: tablet.start, end: tablet.end }) }, tablet.name || tablet.table), rangeOf(tablet), percent((tablet.read_cpu + tablet.write_cpu) / all),
          bar([['r', tablet.read_cpu / all], ['w', tablet.write_cpu / all]], 'share of its server', true), count(tablet.reads), count(tablet.writes)];
      })));
    const minutes = hot.tablets.map((tablet) => ({ ...tablet, share: (tablet.read_cpu_ns + tablet.write_cpu_ns) / (tablet.capacity_ns || 1) })).sort((a, b) => b.share - a.share).slice(0, 25);
    before.replaceChildren(minutes.length === 0 ? empty('None was.') : grid('Hot tablets', [['Minute', ''], ['Table', ''], ['Keys', ''], ['Of its server', 'num'], ['Reads/s', 'num'], ['Writes/s', 'num']],
      minutes.map((tablet) => {
        const seconds = Math.max(1, (tablet.end_us - tablet.start_us) / 1e6);
        return [moment(tablet.start_us), h('a', { href: link({ name: tablet.name || tablet.table, start: tablet.start, end: tablet.end }) }, tablet.name || tablet.table), rangeOf(tablet), percent(tablet.share), count(tablet.reads / seconds), count(tablet.writes / seconds)];
      })));
  });
}
