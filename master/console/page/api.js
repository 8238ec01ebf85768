// The API of the master (docs/console.md), and a heart that beats as long as it answers.

export class ApiError extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

const pulse = () => document.getElementById('pulse');

function beat(state, text) {
  const shown = pulse();
  if (shown.dataset.state !== state) {
    shown.dataset.state = state;
    shown.lastElementChild.textContent = text;
  }
}

/** GET /api/v1/PATH with parameters; those that are null or '' are left away. */
export async function ask(path, parameters = {}, signal = undefined) {
  const url = new URL(`/api/v1/${path}`, location.origin);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '') url.searchParams.set(name, value);
  }
  let answer;
  try {
    answer = await fetch(url, { signal, cache: 'no-store' });
  } catch (error) {
    if (error.name !== 'AbortError') beat('lost', 'no answer');
    throw error;
  }
  const body = await answer.json().catch(() => ({}));
  beat('live', 'live');
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
    standby: cluster.role !== 'active',
    servers: (cluster.servers ?? []).map((server) => ({ ...server, load: live.get(server.number) ?? null })),
    tables: (cluster.tables ?? []).map((table) => ({ ...table, load: sums.get(table.number) ?? none })),
    hot: load.tablets,
  };
}
