// The picture of a heat map: canvas, totals, bands of prefixes, time axis, tooltip, pins, zoom.  It draws what it is
// given and tells of what is wanted; where numbers come from is not its business.

import { announce, h, style } from './dom.js';
import { METRICS, inOrder, key, moment, percent, rate, say, span, time } from './format.js';
import { BANDS_DARK, BANDS_LIGHT, isDark, palette } from './palette.js';
import { brighten, commonLength, placeRows, prefixBands, rowAt, shade, shorten } from './scale.js';

const DRAG_PX = 6;

export class HeatMap {
  /** wanted({from_us, to_us, start, end}): a part of the picture is to be looked at; back(): what was before. */
  constructor({ wanted, back, pinned }) {
    this.wanted = wanted; this.back = back; this.pinned = pinned;
    this.heat = null; this.gain = 0.65; this.by = 'size'; this.pins = []; this.cursor = null; this.drag = null;
    this.canvas = h('canvas', { 'aria-hidden': 'true' });
    this.picture = h('div', { class: 'picture', tabindex: '0', role: 'application', 'aria-roledescription': 'heat map', 'aria-label': 'Heat map' }, this.canvas);
    this.bands = h('div', { class: 'bands', role: 'group', 'aria-label': 'Key prefixes: choose one to look at it alone' });
    this.rowsTotal = h('canvas', { class: 'rows-total', 'aria-hidden': 'true' });
    this.columnsTotal = h('canvas', { class: 'columns-total', 'aria-hidden': 'true' });
    this.corner = h('div', { class: 'corner' });
    this.times = h('div', { class: 'times', 'aria-hidden': 'true' });
    this.tip = h('div', { class: 'tip', hidden: true, role: 'tooltip' });
    this.overlay = h('div', {});
    this.picture.append(this.overlay);
    this.legend = h('canvas', { width: 256, height: 1, 'aria-hidden': 'true' });
    this.root = h('div', { class: 'heat' }, this.bands, this.picture, this.rowsTotal, this.columnsTotal, this.corner, this.times, this.tip);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.picture);
  }

  show(heat) {
    this.heat = heat;
    this.metric = METRICS.find((metric) => metric.name === heat.metric);
    this.edges = placeRows(heat, this.by);
    this.bright = brighten(heat, this.by);
    if (this.cursor) this.cursor = this.inside(this.cursor);
    this.describe();
    this.draw();
  }

  set(options) {
    Object.assign(this, options);
    if (this.heat) this.show(this.heat);
  }

  // --- numbers ---------------------------------------------------------------------------------------------

  startOf(column) { return this.heat.start_us + column * this.heat.step_us; }
  rangeOf(row) { return { start: this.heat.keys[row], end: row + 1 < this.heat.rows ? this.heat.keys[row + 1] : this.heat.end }; }
  valueOf(row, column) { return this.heat.cells[row][column] ?? 0; }
  rateOf(row, column) { return rate(this.heat, this.valueOf(row, column), this.heat.covered_us[column]); }
  coveredUs() { return this.heat.covered_us.reduce((sum, us) => sum + us, 0); }

  hottest() {
    let row = 0;
    for (let i = 1; i < this.heat.rows; i++) if (this.heat.row_totals[i] > this.heat.row_totals[row]) row = i;
    const cells = this.heat.cells[row];
    let column = 0;
    for (let i = 1; i < cells.length; i++) if (cells[i] > cells[column]) column = i;
    return { row, column };
  }

  facts({ row, column }) {
    const { start, end } = this.rangeOf(row);
    const all = this.heat.column_totals[column];
    return {
      start, end, row, column,
      value: this.rateOf(row, column),
      words: say(this.metric, this.rateOf(row, column)),
      share: !this.heat.mean && all > 0 ? this.valueOf(row, column) / all : null,
      shareOf: this.heat.keys[0] === '' && this.heat.end === '' ? 'of the table then' : 'of these keys then',
      from_us: this.startOf(column), to_us: this.startOf(column + 1),
      mean: say(this.metric, rate(this.heat, this.heat.row_totals[row], this.coveredUs())),
    };
  }

  describe() {
    const { heat } = this;
    const words = heat.total > 0 ? (() => {
      const fact = this.facts(this.hottest());
      return `Hottest: ${key(fact.start, 'the first key')} to ${key(fact.end, 'the last key')}, ${fact.words} at ${time(fact.from_us, heat.step_us)}.`;
    })() : 'Nothing was counted.';
    this.picture.setAttribute('aria-label', `${this.metric.title} of ${heat.name}: ${heat.rows} ranges of keys by ${heat.columns} steps of ${span(heat.step_us)}, from ${moment(heat.start_us)}. ${words} Arrow keys move, Enter pins, plus and minus zoom.`);
  }

  // --- drawing -----------------------------------------------------------------------------------------------

  draw() {
    if (!this.heat || !this.picture.isConnected) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    this.colours = palette();
    this.drawPicture(ratio);
    this.drawRowTotals(ratio);
    this.drawColumnTotals(ratio);
    this.drawBands();
    this.drawTimes();
    this.drawLegend();
    this.drawOverlay();
  }

  size(canvas, ratio) {
    const box = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.round(box.width * ratio));
    canvas.height = Math.max(1, Math.round(box.height * ratio));
    return canvas.getContext('2d');
  }

  drawPicture(ratio) {
    const { heat, canvas, edges, bright, colours, gain } = this;
    const context = this.size(canvas, ratio);
    const { width, height } = canvas;
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const line = new Uint32Array(width);
    let lastRow = -1, lastOf = -1;
    for (let y = 0; y < height; y++) {
      const row = rowAt(edges, y / height);
      const end = Math.max(row, rowAt(edges, (y + 0.999) / height));
      if (row !== lastRow || end !== lastOf) {
        for (let x = 0; x < width; x++) {
          const column = Math.min(heat.columns - 1, Math.floor((x / width) * heat.columns));
          let most = 0; // of several rows in one line the brightest: nothing hot is lost
          for (let r = row; r <= end; r++) most = Math.max(most, bright.all[r * heat.columns + column]);
          line[x] = colours[shade(most, bright.top, gain)];
        }
        lastRow = row; lastOf = end;
      }
      pixels.set(line, y * width);
    }
    context.putImageData(image, 0, 0);
  }

  drawRowTotals(ratio) {
    const { heat, edges } = this;
    const context = this.size(this.rowsTotal, ratio);
    const { width, height } = this.rowsTotal;
    const values = Array.from(heat.row_totals, (total, row) => total / ((heat.mean && heat.metric !== 'size') || !this.bright.thick ? 1 : this.bright.thick[row]));
    const most = Math.max(...values, 0) || 1;
    context.fillStyle = getComputedStyle(this.root).getPropertyValue('--clay');
    for (let row = 0; row < heat.rows; row++) {
      const top = edges[row] * height;
      context.fillRect(0, top, (values[row] / most) * width, Math.max(0.7, edges[row + 1] * height - top));
    }
  }

  drawColumnTotals(ratio) {
    const { heat } = this;
    const context = this.size(this.columnsTotal, ratio);
    const { width, height } = this.columnsTotal;
    const values = Array.from(heat.column_totals, (total, column) => rate(heat, total, heat.covered_us[column]));
    const most = Math.max(...values, 0) || 1;
    context.fillStyle = getComputedStyle(this.root).getPropertyValue('--clay');
    for (let column = 0; column < heat.columns; column++) {
      const high = (values[column] / most) * height;
      const left = (column / heat.columns) * width;
      context.fillRect(left, height - high, Math.max(0.7, ((column + 1) / heat.columns) * width - left - (heat.columns < width / 4 ? 0.6 : 0)), high);
    }
    const all = rate(heat, heat.total, this.coveredUs());
    this.corner.replaceChildren(h('b', {}, this.metric.format(all)), `${this.metric.unit || 'stored'}`, h('br'), `most ${this.metric.format(most)}`);
  }

  drawBands() {
    const { heat, edges } = this;
    const height = this.picture.clientHeight;
    const colours = isDark() ? BANDS_DARK : BANDS_LIGHT;
    const outer = prefixBands(heat, 12);
    const inner = outer && prefixBands(heat, 48, outer.length);
    const common = commonLength(heat.keys);
    const levels = [outer, inner].filter(Boolean);
    const made = [];
    const half = levels.length > 1 ? 50 : 100;
    levels.forEach((level, depth) => level.bands.forEach((band) => {
      const top = edges[band.first] * height, tall = (edges[band.last + 1] - edges[band.first]) * height;
      if (tall < (depth === 0 ? 3 : 11)) return;
      const whose = depth === 0 ? level.bands.indexOf(band) : outer.bands.findIndex((o) => o.first <= band.first && band.first <= o.last);
      const letters = Math.floor((this.bands.clientWidth * half) / 100 / 6.8) - 1;
      const shown = band.prefix === '' ? 'first key…' : shorten(band.prefix, common, letters);
      const button = h('button', { type: 'button', title: `Look at ${band.prefix}… alone`, onclick: () => this.zoomRows(band.first, band.last) }, tall < 11 ? '' : shown);
      if (tall < 11) button.setAttribute('aria-label', band.prefix);
      style(button, { top: `${top}px`, height: `${tall}px`, left: `${depth * 50}%`, width: `${half}%`, '--band': colours[whose % colours.length], 'line-height': `${Math.min(tall, 18)}px` });
      made.push(button);
    }));
    if (levels.length === 0) made.push(h('p', { class: 'note' }, 'no prefixes'));
    style(this.bands, { height: `${height}px` });
    // Keep the focus where it is: bands are made anew with every picture.
    const at = [...this.bands.children].indexOf(document.activeElement);
    this.bands.replaceChildren(...made);
    if (at >= 0 && made[at]) made[at].focus();
  }

  drawTimes() {
    const { heat } = this;
    const width = this.times.clientWidth;
    const steps = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800].map((s) => s * 1e6);
    const whole = heat.columns * heat.step_us;
    const step = steps.find((us) => (us / whole) * width >= 74) ?? steps[steps.length - 1];
    const offset = new Date().getTimezoneOffset() * 60e6;
    const first = Math.ceil((heat.start_us - offset) / step) * step + offset;
    const made = [];
    for (let at = first; at <= heat.start_us + whole; at += step) {
      const left = ((at - heat.start_us) / whole) * width;
      if (left > 22 && left < width - 22) made.push(style(h('span', {}, time(at, step)), { left: `${left}px` }));
    }
    this.times.replaceChildren(...made);
  }

  drawLegend() {
    const context = this.legend.getContext('2d');
    const image = context.createImageData(256, 1);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < 256; i++) pixels[i] = this.colours[shade((i / 255) * this.bright.top, this.bright.top, this.gain)];
    context.putImageData(image, 0, 0);
  }

  /** In the picture, in CSS pixels. */
  boxOf(first, last, from, to) {
    const { clientWidth: width, clientHeight: height } = this.picture;
    const { columns } = this.heat;
    return { left: (from / columns) * width, width: ((to + 1 - from) / columns) * width, top: this.edges[first] * height, height: (this.edges[last + 1] - this.edges[first]) * height };
  }

  drawOverlay() {
    if (!this.heat) return; // what was pinned is there before the first answer
    const made = [];
    const px = (box) => Object.fromEntries(Object.entries(box).map(([name, value]) => [name, `${value}px`]));
    if (this.drag?.moved) {
      const { x0, y0, x1, y1 } = this.drag;
      made.push(style(h('div', { class: 'rubber' }), px({ left: Math.min(x0, x1), top: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0) })));
    } else if (this.cursor) {
      const { row, column } = this.cursor;
      const box = this.boxOf(row, row, column, column);
      const { clientWidth: width, clientHeight: height } = this.picture;
      made.push(style(h('div', { class: 'cross' }), px({ left: 0, width, top: box.top + box.height / 2, height: 1 })));
      made.push(style(h('div', { class: 'cross' }), px({ left: box.left + box.width / 2, width: 1, top: 0, height })));
      made.push(style(h('div', { class: 'spot' }), px(box)));
    }
    this.pins.forEach((pin, i) => {
      const at = this.placeOf(pin);
      if (at) made.push(style(h('div', { class: 'pin' }, String(i + 1)), px({ left: at.x, top: at.y })));
    });
    this.overlay.replaceChildren(...made);
    this.drawTip();
  }

  /** Where what was pinned is in this picture; null = outside. */
  placeOf(pin) {
    const middle = (pin.from_us + pin.to_us) / 2;
    const column = (middle - this.heat.start_us) / this.heat.step_us;
    const row = this.heat.keys.findLastIndex((start) => inOrder(start) <= inOrder(pin.start));
    if (column < 0 || column > this.heat.columns || row < 0 || (this.heat.end !== '' && inOrder(pin.start) >= inOrder(this.heat.end))) return null;
    return { x: (column / this.heat.columns) * this.picture.clientWidth, y: ((this.edges[row] + this.edges[row + 1]) / 2) * this.picture.clientHeight };
  }

  drawTip() {
    this.tip.hidden = !this.cursor || Boolean(this.drag?.moved);
    if (this.tip.hidden) return;
    const fact = this.facts(this.cursor);
    this.tip.replaceChildren(...this.tell(fact));
    const box = this.boxOf(fact.row, fact.row, fact.column, fact.column);
    const side = this.picture.offsetLeft;
    const right = box.left + box.width / 2 > this.picture.clientWidth / 2;
    const x = side + box.left + (right ? -14 - this.tip.offsetWidth : box.width + 14);
    const y = Math.max(0, Math.min(this.picture.clientHeight - this.tip.offsetHeight, box.top - 12));
    style(this.tip, { left: `${Math.max(0, Math.min(this.root.clientWidth - this.tip.offsetWidth, x))}px`, top: `${y}px` });
  }

  tell(fact) {
    return [
      h('strong', {}, fact.words),
      h('span', { class: 'range' }, key(fact.start, 'first key'), ' … ', key(fact.end, 'last key')),
      h('dl', {},
        h('dt', {}, 'time'), h('dd', {}, `${moment(fact.from_us)}, ${span(fact.to_us - fact.from_us)}`),
        fact.share !== null && [h('dt', {}, fact.shareOf), h('dd', {}, percent(fact.share))],
        h('dt', {}, 'here on average'), h('dd', {}, fact.mean)),
    ];
  }

  // --- looking closer ------------------------------------------------------------------------------------------

  inside({ row, column }) {
    return { row: Math.max(0, Math.min(this.heat.rows - 1, row)), column: Math.max(0, Math.min(this.heat.columns - 1, column)) };
  }

  cellAt(x, y) {
    const { clientWidth: width, clientHeight: height } = this.picture;
    return this.inside({ row: rowAt(this.edges, y / height), column: Math.floor((x / width) * this.heat.columns) });
  }

  zoom(first, last, from, to) {
    const start = this.heat.keys[first];
    const end = this.rangeOf(last).end;
    this.wanted({ from_us: this.startOf(from), to_us: this.startOf(to + 1), start, end });
    announce(`Zoomed to ${key(start, 'the first key')} to ${key(end, 'the last key')}, ${time(this.startOf(from), 0)} to ${time(this.startOf(to + 1), 0)}.`);
  }

  zoomRows(first, last) {
    this.wanted({ start: this.heat.keys[first], end: this.rangeOf(last).end });
    announce(`Zoomed to ${key(this.heat.keys[first], 'the first key')} to ${key(this.rangeOf(last).end, 'the last key')}.`);
  }

  zoomAt({ row, column }) {
    const half = Math.max(1, Math.floor(this.heat.columns / 4));
    const from = Math.max(0, Math.min(this.heat.columns - 1 - 2 * half, column - half));
    const y = (this.edges[row] + this.edges[row + 1]) / 2;
    const top = Math.max(0, Math.min(0.5, y - 0.25));
    this.zoom(rowAt(this.edges, top), Math.max(rowAt(this.edges, top), rowAt(this.edges, top + 0.4999)), from, Math.min(this.heat.columns - 1, from + 2 * half));
  }

  pin(cell) {
    const fact = this.facts(cell);
    this.pins = [...this.pins, { ...fact, title: this.metric.title }].slice(-9);
    this.pinned(this.pins);
    announce(`Pinned: ${fact.words}, ${key(fact.start, 'the first key')} to ${key(fact.end, 'the last key')}.`);
    this.drawOverlay();
  }

  unpin(index) {
    this.pins = this.pins.filter((_, i) => i !== index);
    this.pinned(this.pins);
    this.drawOverlay();
  }

  move(rows, columns) {
    this.cursor = this.inside(this.cursor ? { row: this.cursor.row + rows, column: this.cursor.column + columns } : this.hottest());
    this.drawOverlay();
    const fact = this.facts(this.cursor);
    announce(`${fact.words}. ${key(fact.start, 'First key')} to ${key(fact.end, 'last key')}, ${time(fact.from_us, this.heat.step_us)}.`);
  }

  // --- hands -----------------------------------------------------------------------------------------------

  listen() {
    const { picture } = this;
    const at = (event) => {
      const box = picture.getBoundingClientRect();
      return { x: Math.max(0, Math.min(box.width - 1, event.clientX - box.left)), y: Math.max(0, Math.min(box.height - 1, event.clientY - box.top)) };
    };
    picture.addEventListener('pointerdown', (event) => {
      if (!this.heat || event.button !== 0) return;
      const { x, y } = at(event);
      this.drag = { x0: x, y0: y, x1: x, y1: y, moved: false };
      if (event.pointerType === 'mouse') picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener('pointermove', (event) => {
      if (!this.heat) return;
      const { x, y } = at(event);
      if (this.drag) {
        Object.assign(this.drag, { x1: x, y1: y });
        this.drag.moved ||= Math.hypot(x - this.drag.x0, y - this.drag.y0) > DRAG_PX;
      }
      this.cursor = this.cellAt(x, y);
      this.drawOverlay();
    });
    picture.addEventListener('pointerup', (event) => {
      if (!this.drag) return;
      const { x0, y0, x1, y1, moved } = this.drag;
      this.drag = null;
      if (moved) {
        const a = this.cellAt(Math.min(x0, x1), Math.min(y0, y1)), b = this.cellAt(Math.max(x0, x1), Math.max(y0, y1));
        this.zoom(a.row, b.row, a.column, b.column);
      } else {
        this.cursor = this.cellAt(x1, y1);
        this.pin(this.cursor);
      }
      this.drawOverlay();
    });
    picture.addEventListener('pointercancel', () => { this.drag = null; this.drawOverlay(); });
    picture.addEventListener('pointerleave', () => { if (!this.drag) { this.cursor = null; this.drawOverlay(); } });
    // Each click of two has pinned something by then: that is taken back.
    picture.addEventListener('mousedown', (event) => { if (event.detail === 1) this.unclicked = this.pins; });
    picture.addEventListener('dblclick', () => {
      this.pins = this.unclicked ?? this.pins;
      this.pinned(this.pins);
      this.drawOverlay();
      this.back();
    });
    picture.addEventListener('blur', () => { this.cursor = null; this.drawOverlay(); });
    picture.addEventListener('keydown', (event) => this.onKey(event));
  }

  onKey(event) {
    if (!this.heat || event.ctrlKey || event.metaKey || event.altKey) return;
    const far = event.shiftKey ? 10 : 1;
    const acts = {
      ArrowUp: () => this.move(-far, 0), ArrowDown: () => this.move(far, 0),
      ArrowLeft: () => this.move(0, -far), ArrowRight: () => this.move(0, far),
      Home: () => { this.cursor = this.hottest(); this.move(0, 0); },
      Enter: () => this.pin(this.cursor ?? this.hottest()), ' ': () => this.pin(this.cursor ?? this.hottest()),
      '+': () => this.zoomAt(this.cursor ?? this.hottest()), '=': () => this.zoomAt(this.cursor ?? this.hottest()),
      '-': () => this.back(), Backspace: () => this.back(), Escape: () => this.back(),
    };
    if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
  }
}
