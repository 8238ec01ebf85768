// A master that does not lead: it knows neither tables nor servers, nor what was decided.

import { h } from './dom.js';

function words(seen) {
  if (seen.role === 'in_doubt') return 'This master led, and cannot prove just now that it still does: it does nothing until etcd answers it.';
  return seen.active ? `This master stands by, and knows no tables and servers; the active one is ${seen.active}.` : 'This master stands by, and knows no tables and servers; the active one is not known yet.';
}

/** Says so in `place`.  True: it stands by, and `parts`, which would show nothing or what is not so, are hidden. */
export function showStandby(seen, place, parts) {
  const stands = seen.role === 'standby';
  for (const part of parts) part.hidden = stands;
  const said = seen.role === 'active' ? '' : words(seen);
  if (place.textContent !== said) place.replaceChildren(...(said ? [h('p', { class: 'trouble' }, said)] : []));
  return stands;
}
