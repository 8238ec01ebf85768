// What a heat map's numbers become on the picture: heights of rows, brightness of cells.

/** How much there is of each row, 1 on the average: by what is stored there, where that is known.  A row of next to
 *  nothing counts as a bit, else a single key that is read would outshine everything. */
export function thickness(heat, by) {
  const total = heat.sizes.reduce((sum, size) => sum + size, 0);
  if (by !== 'size' || total === 0) return null;
  return heat.sizes.map((size) => 0.03 + 0.97 * (size / total) * heat.rows);
}

/** Where each row begins, 0 to 1, and where the last one ends.  by 'size': mostly as large as what is stored there,
 *  but none so thin that it cannot be seen; by 'rows': all alike. */
export function placeRows(heat, by) {
  const total = heat.sizes.reduce((sum, size) => sum + size, 0);
  const least = 0.15 / heat.rows;
  const edges = new Float64Array(heat.rows + 1);
  for (let i = 0; i < heat.rows; i++) {
    const share = by === 'size' && total > 0 ? least + 0.85 * (heat.sizes[i] / total) : 1 / heat.rows;
    edges[i + 1] = edges[i] + share;
  }
  const end = edges[heat.rows];
  return edges.map((edge) => edge / end);
}

/** Brightness of a cell, before it is scaled: a rate, and per thickness, so that a thin row with as much load as a
 *  thick one is brighter.  Means are what they are. */
function density(heat, thick, row, column, value) {
  if (heat.mean && heat.metric !== 'size') return value;
  const height = thick === null ? 1 : thick[row];
  const covered = heat.mean ? 1 : heat.covered_us[column] / 1e6;
  return covered > 0 ? value / covered / height : 0;
}

/** All brightnesses, row by row, and the one that the brightest colour is for: not the highest one, which may be a
 *  single cell, but what one in a thousand is above. */
export function brighten(heat, by) {
  const thick = thickness(heat, by);
  const all = new Float32Array(heat.rows * heat.columns);
  const some = [];
  let max = 0;
  for (let row = 0; row < heat.rows; row++) {
    const cells = heat.cells[row];
    for (let column = 0; column < cells.length; column++) {
      if (cells[column] > 0) {
        const bright = density(heat, thick, row, column, cells[column]);
        all[row * heat.columns + column] = bright;
        max = Math.max(max, bright);
        some.push(bright);
      }
    }
  }
  some.sort((a, b) => a - b);
  const top = some.length > 200 ? some[Math.floor(some.length * 0.999)] : max;
  return { all, thick, top: top || max || 1 };
}

/** Index of a colour; gain 0 to 1: how much of what is weak is shown. */
export function shade(bright, top, gain) {
  if (!(bright > 0)) return 0;
  const power = 1.15 - gain;
  return Math.min(255, 12 + Math.round(243 * Math.pow(Math.min(1, bright / top), power)));
}

/** The row at a height from 0 to 1. */
export function rowAt(edges, at) {
  let low = 0, high = edges.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (edges[middle] <= at) low = middle; else high = middle;
  }
  return low;
}

/** Prefixes that rows have in common, as bands: of a depth that makes 2 to `most` of them; null: none does.
 *  @returns {{length: number, bands: {prefix: string, first: number, last: number}[]} | null} */
export function prefixBands(heat, most, beyond = 0) {
  const { keys } = heat;
  let found = null;
  const longest = Math.min(64, Math.max(0, ...keys.map((key) => key.length)));
  for (let length = beyond + 1; length <= longest; length++) {
    const bands = cut(heat, length);
    if (bands.length > most) break;
    if (bands.length > 1) found = { length, bands };
  }
  return found;
}

function cut({ keys, sizes }, length) {
  // The first row may begin before the first key that there is: then it is little, and goes with the next one.
  const joins = keys[0] === '' && keys.length > 1 && sizes[0] <= sizes[1];
  const bands = [];
  keys.forEach((key, row) => {
    const prefix = (row === 0 && joins ? keys[1] : key).slice(0, length);
    const last = bands[bands.length - 1];
    if (last && last.prefix === prefix) last.last = row; else bands.push({ prefix, first: row, last: row });
  });
  return bands;
}

/** A prefix as it is shown where there is room for so many letters: without what all have in common. */
export function shorten(prefix, common, letters) {
  if (prefix.length + 1 <= letters || common < 2) return `${prefix}…`;
  return `…${prefix.slice(Math.min(common, prefix.length - 1))}…`;
}

export function commonLength(keys) {
  const [first = '', last = ''] = [keys.find((key) => key !== ''), keys[keys.length - 1]];
  let length = 0;
  while (length < first.length && first[length] === last[length]) length += 1;
  return length;
}

/** What all keys begin with, as text: no byte that is written as \xNN is cut.  A first row without a start may hold
 *  any keys, unless it is little: then there are hardly any before the next one. */
export function commonStart({ keys, sizes }) {
  const named = keys.filter((key) => key !== '');
  const little = 2 * sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
  if (named.length < 2 || (keys[0] === '' && sizes[0] > little)) return '';
  return named[0].slice(0, commonLength(keys)).match(/^(?:\\\\|\\x[0-9a-f]{2}|[^\\])*/i)[0];
}
