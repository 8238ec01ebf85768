// What the master has decided about load, and what came of it.

import { ask, look } from './api.js';
import { empty, grid, h, rangeOf, renew } from './dom.js';
import { moment, span } from './format.js';
import { repeat } from './repeat.js';
import { showStandby } from './standby.js';
import { link } from './table.js';

const SHOWN = 300;
const OUTCOMES = { done: 'good', given_up: 'bad', under_way: 'warn', refused: '' };
const KINDS = { split: 'Split', merge: 'Merge', lead: 'New leader', move: 'Move', refuse: 'Refused' };

export function eventsPage(main, signal) {
  const place = h('div', {}), stand = h('div', {}), card = h('section', { class: 'card', 'aria-label': 'Events' }, place);
  const events = new Map(); // by number: an outcome takes the place of what is under way
  let after = 0;
  main.replaceChildren(h('div', { class: 'head' }, h('h1', {}, 'Events'), h('span', { class: 'soft' }, 'what was decided about load, with the numbers that led to it')), stand, card);
  repeat(signal, async () => {
    const seen = await look(signal);
    if (showStandby(seen, stand, [card])) return;
    for (let page = { next: 1 }; page.next > 0;) {
      page = await ask('events', { after, count: 1000 }, signal);
      for (const event of page.events) { events.set(event.number, event); after = event.change; }
    }
    const address = new Map(seen.servers.map((server) => [server.number, server.address.replace('tcp://', '')]));
    const newest = [...events.values()].sort((a, b) => b.time_us - a.time_us || Number(b.number) - Number(a.number)).slice(0, SHOWN);
    events.clear(); // a page may stay open for months
    for (const event of newest) events.set(event.number, event);
    renew(place, newest.length === 0 ? empty('Nothing was decided about load so far.') : grid('Events', [['Time', 'line'], ['What', 'line'], ['Outcome', 'line'], ['Table', ''], ['Keys', 'keys'], ['Why', 'words']], newest.map((event) => [
      moment(event.time_us), KINDS[event.kind] ?? event.kind,
      [h('span', { class: `chip ${OUTCOMES[event.outcome] ?? ''}` }, event.outcome.replace('_', ' ')), event.ended_us > event.time_us && h('span', { class: 'soft' }, ` ${span(event.ended_us - event.time_us)}`)],
      h('a', { href: link({ name: event.name || event.table, start: event.start, end: event.end }) }, event.name || event.table),
      rangeOf(event),
      [h('span', {}, event.text), event.why && h('span', { class: 'soft' }, ` ${event.why}`), event.to !== '0' && h('span', { class: 'soft' }, ` ${address.get(event.from) ?? ''} → ${address.get(event.to) ?? event.to}`)],
    ])));
  });
}
