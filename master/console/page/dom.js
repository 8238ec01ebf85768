// Elements without a framework: what comes from the cluster is always text, never markup.

import { key } from './format.js';

/** h('a', {href: '#/', class: 'x', onclick: f}, 'text', child, [children]) */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Set sizes through the object model: the page's policy allows no styles in markup. */
export function style(element, values) {
  for (const [name, value] of Object.entries(values)) element.style.setProperty(name, value);
  return element;
}

/** A bar of parts [class, share]; the words say what it shows. */
export function bar(parts, words, thin = false) {
  const made = h('div', { class: thin ? 'bar thin' : 'bar', role: 'img', 'aria-label': words, title: words });
  for (const [kind, share] of parts) {
    made.append(style(h('i', { class: kind }), { width: `${Math.max(0, Math.min(1, share)) * 100}%` }));
  }
  return made;
}

export const announce = (text) => { document.getElementById('live').textContent = text; };

/** What tells an element from those like it after a place was made anew: a link's address, another's words. */
const nameOf = (element) => element.getAttribute('href') ?? element.getAttribute('aria-label') ?? element.textContent;

/** Make a place anew: what had the focus has it again, and what was scrolled stays so. */
export function renew(place, ...made) {
  const focusable = () => [...place.querySelectorAll('a, button, .scroll')];
  const regions = () => [...place.querySelectorAll('.scroll')];
  const had = place.contains(document.activeElement) ? document.activeElement : null;
  const alike = had ? focusable().filter((element) => nameOf(element) === nameOf(had)).indexOf(had) : -1;
  const places = regions().map((region) => region.scrollLeft);
  place.replaceChildren(...made.flat(3));
  regions().forEach((region, i) => { region.scrollLeft = places[i] ?? 0; });
  if (alike < 0) return;
  const now = focusable().filter((element) => nameOf(element) === nameOf(had));
  (now[alike] ?? now.at(-1))?.focus({ preventScroll: true });
}

export const empty = (...text) => h('p', { class: 'empty' }, ...text);

/** A key; of a long one its title has all of it. */
export function keyOf(text, open = '') {
  const shown = key(text, open);
  return h('span', { class: 'key', title: text === '' || shown === text ? null : text }, shown);
}

/** A range of keys, likewise. */
export function rangeOf({ start, end }) {
  const shown = `${key(start, 'first key')} … ${key(end, 'last key')}`;
  const whole = `${start || 'first key'} … ${end || 'last key'}`;
  return h('span', { class: 'key', title: shown === whole ? null : whole }, shown);
}

/** A table of columns [title, class] and rows of cells. */
export function grid(caption, columns, rows) {
  return h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': caption },
    h('table', {}, h('caption', { class: 'unseen' }, caption),
      h('thead', {}, h('tr', {}, columns.map(([title, kind]) => h('th', { scope: 'col', class: kind }, title)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, i) => h('td', { class: columns[i][1] }, cell)))))));
}
