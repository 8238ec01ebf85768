// How numbers, times and keys are written for people.

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** 1234567 -> "1.23 M" */
export function count(value) {
  if (!(value >= 0.005)) return '0';
  const steps = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e4, 'k']];
  for (const [size, name] of steps) {
    if (value >= size) return `${digits(value / (size === 1e4 ? 1e3 : size))} ${name}`;
  }
  return value < 10 && value % 1 ? value.toPrecision(2) : number.format(Math.round(value));
}

function digits(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

export function bytes(value) {
  if (!(value > 0)) return '0 B';
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let step = 0;
  while (value >= 1024 && step + 1 < names.length) { value /= 1024; step += 1; }
  return `${step === 0 ? Math.round(value) : digits(value)} ${names[step]}`;
}

export function nanoseconds(value) {
  if (!(value > 0)) return '0';
  const steps = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  for (const [size, name] of steps) if (value >= size) return `${digits(value / size)} ${name}`;
  return '< 1 ns';
}

export const percent = (share) => `${share >= 0.0995 || share === 0 ? Math.round(share * 100) : (share * 100).toFixed(1)} %`;

/** CPU time a second: so many processors. */
export const processors = (value) => (value >= 0.005 ? value.toFixed(2) : '0');

const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const exact = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

export function time(us, step_us) {
  const date = new Date(us / 1000);
  if (step_us >= 86400e6) return day.format(date);
  return step_us < 60e6 ? exact.format(date) : clock.format(date);
}

export const moment = (us) => `${day.format(new Date(us / 1000))} ${exact.format(new Date(us / 1000))}`;

/** 300000 -> "0.3 s", 90e6 -> "90 s" */
export function span(us) {
  const s = us < 9.95e6 ? Math.round(us / 1e5) / 10 : Math.round(us / 1e6);
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}

/** A key as text whose order is that of its bytes: \xNN is one letter, and so are two backslashes. */
export const inOrder = (text) => text.replace(/\\(?:\\|x([0-9a-f]{2}))/gi, (_, digits) => (digits ? String.fromCharCode(parseInt(digits, 16)) : '\\'));

/** A key in short: of a long one what it begins and ends with; \xNN is one letter, and so are two backslashes. */
function inShort(text) {
  const letters = text.match(/\\(?:\\|x[0-9a-f]{2})|[^\\]/gi) ?? [];
  return letters.length <= 96 ? text : `${letters.slice(0, 64).join('')}…${letters.slice(-24).join('')}`;
}

/** A key, or what an empty one stands for. */
export const key = (text, open) => (text === '' ? open : inShort(text));

/** Metrics that the heat map knows; how to say what a cell has. */
export const METRICS = [
  ['ops', 'Operations', 'ops/s', count], ['reads', 'Reads', 'reads/s', count], ['writes', 'Writes', 'writes/s', count],
  ['rows_read', 'Rows read', 'rows/s', count], ['bytes', 'Bytes', '/s', bytes], ['bytes_read', 'Bytes read', '/s', bytes],
  ['bytes_written', 'Bytes written', '/s', bytes], ['cpu', 'CPU time', 'of a processor', percent],
  ['cpu_read', 'CPU time of reads', 'of a processor', percent], ['cpu_write', 'CPU time of writes', 'of a processor', percent],
  ['cost', 'CPU time per operation', 'an operation', nanoseconds], ['latency', 'Latency', 'an operation', nanoseconds],
  ['latency_read', 'Latency of reads', 'a read', nanoseconds], ['latency_write', 'Latency of writes', 'a write', nanoseconds],
  ['wait', 'Waiting in the server', 'an operation', nanoseconds], ['size', 'Size', '', bytes],
].map(([name, title, unit, format]) => ({ name, title, unit, format }));

/** What a sum over so many us is as a rate of the metric's unit; means stay as they are. */
export function rate(heat, value, us) {
  if (heat.mean) return value;
  if (!(us > 0)) return 0;
  return heat.unit === 'ns' ? value / (us * 1000) : value / (us / 1e6);
}

export function say(metric, value) {
  const unit = metric.unit.startsWith('/') || metric.unit === '' ? metric.unit : ` ${metric.unit}`;
  return metric.format(value) + unit;
}
