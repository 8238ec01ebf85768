// As long as a view is there, it is made anew; what goes wrong meanwhile is said above it.

import { ApiError, NoAnswer } from './api.js';
import { h } from './dom.js';
import { moment } from './format.js';

const REFRESH_MS = 2000;

function wordsOf(error, drawn_ms) {
  if (!(error instanceof ApiError || error instanceof NoAnswer)) return `This page has a fault: ${error.message}`;
  return `${error.message}${drawn_ms ? ` What is shown is of ${moment(drawn_ms * 1000)}.` : ''}`;
}

/** Ask, draw, wait, as long as the view is there. */
export function repeat(signal, draw) {
  const trouble = document.getElementById('trouble');
  let timer = 0, drawn_ms = 0;
  const tell = (words) => { // what is said already is not said again
    if (trouble.textContent !== words) trouble.replaceChildren(...(words ? [h('p', { class: 'trouble' }, words)] : []));
  };
  const run = async () => {
    try {
      await draw();
      drawn_ms = Date.now();
      if (!signal.aborted) tell('');
    } catch (error) {
      if (signal.aborted || error.name === 'AbortError') return;
      tell(wordsOf(error, drawn_ms));
    }
    if (!signal.aborted) timer = setTimeout(run, document.hidden ? 5 * REFRESH_MS : REFRESH_MS);
  };
  signal.addEventListener('abort', () => { clearTimeout(timer); tell(''); });
  run();
}
