// Which view is shown is what the address says behind the #; the rest of this page is links.

import { h } from './dom.js';
import { diagnosticsPage } from './diagnostics.js';
import { eventsPage } from './events.js';
import { overviewPage, serversPage, tablesPage } from './overview.js';
import { setGround } from './palette.js';
import { link, tablePage } from './table.js';

const main = document.getElementById('main');
let leaving = new AbortController();

/** #/table/NAME/tablets?metric=ops&... */
function read() {
  const [path, parameters] = location.hash.replace(/^#/, '').split('?');
  const parts = path.split('/').filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } });
  return { parts, parameters: Object.fromEntries(new URLSearchParams(parameters ?? '')) };
}

function show(view, title) {
  document.title = `${title} · Edubba`;
  for (const a of document.querySelectorAll('header nav a')) {
    if (a.dataset.view !== view) { a.removeAttribute('aria-current'); continue; }
    a.setAttribute('aria-current', 'page');
    a.scrollIntoView({ block: 'nearest', inline: 'nearest' }); // of a narrow bar
  }
}

function route() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const { parts: [view = '', name, tab], parameters } = read();
  if (view === 'table' && name) {
    const state = { ...parameters, name, tab: tab === 'tablets' ? 'tablets' : 'heat' };
    const go = (changes) => { location.hash = link({ ...state, ...changes }); };
    show('tables', name);
    tablePage(main, state, go, signal);
  } else if (view === 'tables') { show('tables', 'Heat maps'); tablesPage(main, signal);
  } else if (view === 'servers') { show('servers', 'Servers'); serversPage(main, signal);
  } else if (view === 'events') { show('events', 'Events'); eventsPage(main, signal);
  } else if (view === 'diagnostics') { show('diagnostics', 'Diagnostics'); diagnosticsPage(main, signal);
  } else if (view === '') { show('overview', 'Cluster'); overviewPage(main, signal);
  } else main.replaceChildren(h('p', { class: 'empty' }, 'There is nothing here. ', h('a', { href: '#/' }, 'To the overview')));
}

// --- colours ------------------------------------------------------------------------------------------------------

const THEMES = [['', '◐', 'as the system has them'], ['light', '☀', 'light'], ['dark', '☾', 'dark']];
const button = document.getElementById('theme');

function setTheme(theme) {
  const [, sign, words] = THEMES.find(([name]) => name === theme) ?? THEMES[0];
  if (theme) document.documentElement.dataset.theme = theme; else delete document.documentElement.dataset.theme;
  button.textContent = sign;
  button.setAttribute('aria-label', `Colours: ${words}`);
  button.title = `Colours: ${words}`;
  setGround();
}

button.addEventListener('click', () => {
  const at = THEMES.findIndex(([name]) => name === (document.documentElement.dataset.theme ?? ''));
  const [next] = THEMES[(at + 1) % THEMES.length];
  try { localStorage.setItem('theme', next); } catch { /* then it is forgotten */ }
  setTheme(next);
  route();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { setGround(); route(); });
let kept = '';
try { kept = localStorage.getItem('theme') ?? ''; } catch { /* not ours to keep */ }
setTheme(kept);
addEventListener('hashchange', route);
route();
