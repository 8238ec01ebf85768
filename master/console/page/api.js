// The API of the master (docs/console.md), and a heart that beats as long as it answers.

export class ApiError extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

/** The master did not answer, or not in time. */
export class NoAnswer extends Error {}

const PATIENCE_MS = 15000;

const pulse = () => document.getElementById('pulse');

function beat(state, text) {
  const shown = pulse();
  if (shown.dataset.state !== state) {
    shown.dataset.state = state;
    shown.lastElementChild.textContent = text;
  }
}

function parse(text) {
  try { return JSON.parse(text); } catch { return {}; }
}

/** GET /api/v1/PATH with parameters; those that are null or '' are left away. */
export async function ask(path, parameters = {}, signal = undefined) {
  const url = new URL(`/api/v1/${path}`, location.origin);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '') url.searchParams.set(name, value);
  }
  const enough = AbortSignal.timeout(PATIENCE_MS);
  let answer, text;
  try {
    answer = await fetch(url, { signal: signal ? AbortSignal.any([signal, enough]) : enough, cache: 'no-store' });
    text = await answer.text();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    beat('lost', 'no answer');
    throw new NoAnswer('The master does not answer.');
  }
  beat('live', 'live');
  const body = parse(text);
  if (!answer.ok) throw new ApiError(body.error?.status ?? answer.status, body.error?.text ?? answer.statusText);
  return body;
}

/** Cluster and load at once, joined: servers have their load, tables the sum of their tablets'. */
export async function look(signal) {
  const [cluster, load] = await Promise.all([ask('cluster', {}, signal), ask('load', { count: 1000 }, signal)]);
  const live = new Map(load.servers.map((server) => [server.number, server]));
  const sums = new Map();
  for (const tablet of load.tablets) {
    const sum = sums.get(tablet.table) ?? { reads: 0, writes: 0, cpu: 0, busy: 0 };
    sum.reads += tablet.reads; sum.writes += tablet.writes; sum.cpu += tablet.read_cpu + tablet.write_cpu;
    sum.busy += 1;
    sums.set(tablet.table, sum);
  }
  const none = { reads: 0, writes: 0, cpu: 0, busy: 0 };
  return {
    ...cluster,
    now_us: load.now_us, // the master's clock
    servers: (cluster.servers ?? []).map((server) => ({ ...server, load: live.get(server.number) ?? null })),
    tables: (cluster.tables ?? []).map((table) => ({ ...table, load: sums.get(table.number) ?? none })),
    hot: load.tablets,
  };
}
