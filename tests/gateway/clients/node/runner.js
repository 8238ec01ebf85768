'use strict';
// Takes @google-cloud/bigtable through the steps that come in, one a line; README.md of tests/gateway
// says what a step is.  Usage: runner.js PROJECT INSTANCE, with BIGTABLE_EMULATOR_HOST set.
const readline = require('readline');
const {Bigtable} = require('@google-cloud/bigtable');
const admin = require('./admin');
const {Lacks, bytesOf, shown} = require('./common');
const {filtersOf} = require('./filters');

const CODES = [
  'OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND',
  'ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED',
  'OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED',
];
const RAW = {client: 'BigtableClient'};

// --- clients, by project and instance --------------------------------------------------------------

const clients = new Map();

function clientFor(place, appProfileId) {
  const key = `${place} ${appProfileId || ''}`;
  if (!clients.has(key)) {
    const [projectId, instanceId] = place.split('/');
    const bigtable = new Bigtable({projectId, appProfileId, metricsEnabled: false});
    clients.set(key, {bigtable, instance: bigtable.instance(instanceId)});
  }
  return clients.get(key);
}

// --- mutations --------------------------------------------------------------------------------------

function number(value) {
  return typeof value === 'number' && !Number.isSafeInteger(value) ? String(value) : value;
}

// As the API has it, for what insert() and delete() of the client cannot say.
const RAW_MUTATIONS = {
  set: m => ({setCell: {
    familyName: m.family, columnQualifier: bytesOf(m.qualifier), timestampMicros: number(m.timestamp),
    value: bytesOf(m.value),
  }}),
  add: m => ({addToCell: {
    familyName: m.family, columnQualifier: {rawValue: bytesOf(m.qualifier)},
    timestamp: {rawTimestampMicros: m.timestamp},
    input: m.bytes === undefined ? {intValue: m.input} : {bytesValue: bytesOf(m.bytes)},
  }}),
  merge: m => ({mergeToCell: {
    familyName: m.family, columnQualifier: {rawValue: bytesOf(m.qualifier)},
    timestamp: {rawTimestampMicros: m.timestamp}, input: {bytesValue: bytesOf(m.state)},
  }}),
  deleteColumn: m => ({deleteFromColumn: {
    familyName: m.family, columnQualifier: bytesOf(m.qualifier),
    timeRange: {startTimestampMicros: m.start || 0, endTimestampMicros: m.end || 0},
  }}),
  deleteFamily: m => ({deleteFromFamily: {familyName: m.family}}),
  deleteRow: () => ({deleteFromRow: {}}),
};

function rawMutation(mutation) {
  const [kind] = Object.keys(mutation);
  return RAW_MUTATIONS[kind](mutation[kind]);
}

// The entry as insert() takes it, if all of it are cells that it can say; else null.
function insertion(entry) {
  const data = {};
  for (const {set} of entry.mutations) {
    const qualifier = set && bytesOf(set.qualifier);
    const isText = set && qualifier.length > 0 && /^[\x20-\x7e]+$/.test(qualifier.toString('latin1'));
    const family = set && (data[set.family] = data[set.family] || {});
    if (!isText || set.timestamp <= 0 || family[qualifier.toString()]) {
      return null;
    }
    family[qualifier.toString()] = {value: bytesOf(set.value), timestamp: set.timestamp};
  }
  return entry.mutations.length ? {key: bytesOf(entry.row), data} : null;
}

function mutate(table, entries, gaxOptions) {
  const insertions = entries.map(insertion);
  if (insertions.every(made => made !== null)) {
    return table.insert(insertions, gaxOptions);
  }
  const raw = entries.map(entry => ({
    rowKey: bytesOf(entry.row), mutations: entry.mutations.map(rawMutation)}));
  return table.mutate(raw, {rawMutation: true, gaxOptions});
}

async function mutateRow(client, step) {
  // The client has no MutateRow of its own: it sends a batch of one, and its error is the entry's.
  try {
    await mutate(client.instance.table(step.table), [step], options(step));
  } catch (error) {
    throw error.name === 'PartialFailureError' ? error.errors[0] : error;
  }
  return {};
}

async function mutateRows(client, step) {
  try {
    await mutate(client.instance.table(step.table), step.entries, options(step));
  } catch (error) {
    if (error.name !== 'PartialFailureError') {
      throw error;
    }
    // Errors carry their entries, in their order; entries of one key are told apart by that order.
    const keys = step.entries.map(entry => bytesOf(entry.row).toString('hex'));
    const failures = error.errors.map(each => {
      const key = keyOf(each.entry);
      return {index: keys.indexOf(key), code: CODES[each.code], text: each.message};
    });
    return {failures: failures.sort((a, b) => a.index - b.index)};
  }
  return {failures: []};
}

function keyOf(entry) {
  const key = entry && (entry.rowKey || entry.key);
  return Buffer.isBuffer(key) ? key.toString('hex') : Buffer.from(key || '').toString('hex');
}

// --- reading ----------------------------------------------------------------------------------------

function shownValue(value) {
  if (typeof value === 'number') { // the client takes 8 bytes for a number where it is a safe one
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64BE(BigInt(value));
    return shown(bytes);
  }
  return shown(Buffer.from(value));
}

// Qualifiers are keys of an object here, so they are text: bytes that are none are lost.
function shownQualifier(text) {
  if (text.includes('\ufffd')) {
    throw new Lacks('qualifiers that are no text, in what is read');
  }
  return shown(Buffer.from(text));
}

function shownRow(key, data) {
  const cells = [];
  for (const [family, columns] of Object.entries(data || {})) {
    for (const [qualifier, versions] of Object.entries(columns)) {
      for (const cell of versions) {
        const made = [family, shownQualifier(qualifier), Number(cell.timestamp), shownValue(cell.value)];
        if (cell.labels && cell.labels.length) {
          made.push([...cell.labels]);
        }
        cells.push(made);
      }
    }
  }
  return {row: shown(Buffer.from(key)), cells};
}

function options(step) {
  return step.deadlineMs ? {timeout: step.deadlineMs} : {};
}

function rangeOf(range) {
  const made = {};
  if (range.start !== undefined) {
    made.start = {value: bytesOf(range.start), inclusive: !range.startOpen};
  }
  if (range.end !== undefined) {
    made.end = {value: bytesOf(range.end), inclusive: Boolean(range.endClosed)};
  }
  return made;
}

// A prefix is text for this client.
function prefixOf(given) {
  const text = bytesOf(given).toString('utf8');
  if (!Buffer.from(text).equals(bytesOf(given))) {
    throw new Lacks('prefixes that are no text');
  }
  return text;
}

function queryOf(step) {
  if (step.reversed) {
    throw new Lacks('reversed scans');
  }
  if (step.stats) {
    throw new Lacks('statistics of a read');
  }
  const query = {decode: false, gaxOptions: options(step)};
  if (step.keys) {
    query.keys = step.keys.map(bytesOf);
  }
  if (step.ranges) {
    query.ranges = step.ranges.map(rangeOf);
  }
  if (step.prefixes) {
    query.prefixes = step.prefixes.map(prefixOf);
  }
  if (step.filter) {
    query.filter = filtersOf(step.filter);
  }
  if (step.limit) {
    query.limit = step.limit;
  }
  return query;
}

async function readRows(client, step) {
  const [rows] = await client.instance.table(step.table).getRows(queryOf(step));
  return {rows: rows.map(row => shownRow(row.id, row.data))};
}

async function readRow(client, step) {
  const {rows} = await readRows(client, {...step, keys: [step.row]});
  return {row: rows.length ? rows[0] : null};
}

// Some rows, then the stream is ended: the client cancels the call.
function readSome(client, step) {
  return new Promise((resolve, reject) => {
    let count = 0;
    const stream = client.instance.table(step.table).createReadStream({decode: false});
    stream.on('error', reject);
    stream.on('data', () => {
      count += 1;
      if (count === step.count) {
        stream.end();
        resolve({count});
      }
    });
    stream.on('end', () => resolve({count}));
  });
}

async function sampleRowKeys(client, step) {
  const [samples] = await client.instance.table(step.table).sampleRowKeys();
  const offsets = samples.map(sample => Number(sample.offset));
  return {
    keys: samples.map(sample => Buffer.from(sample.key)).filter(key => key.length).map(shown),
    ascending: offsets.every((offset, i) => i === 0 || offset >= offsets[i - 1]),
  };
}

// --- conditions, rules ------------------------------------------------------------------------------

function request(client, method, reqOpts) {
  return new Promise((resolve, reject) => {
    client.bigtable.request({...RAW, method, reqOpts, gaxOpts: {}},
      (error, response) => (error ? reject(error) : resolve(response)));
  });
}

// row.filter() of the client speaks only of insertions and deletions, so the generated call is made.
async function checkAndMutate(client, step) {
  const {Filter} = require('@google-cloud/bigtable/build/src/filter');
  const response = await request(client, 'checkAndMutateRow', {
    tableName: client.instance.table(step.table).name, rowKey: bytesOf(step.row),
    appProfileId: client.bigtable.appProfileId,
    predicateFilter: step.predicate ? Filter.parse(filtersOf(step.predicate)) : null,
    trueMutations: (step.then || []).map(rawMutation),
    falseMutations: (step.otherwise || []).map(rawMutation),
  });
  return {matched: response.predicateMatched};
}

function columnOf(rule) {
  return `${rule.family}:${bytesOf(rule.qualifier).toString()}`;
}

async function readModifyWrite(client, step) {
  const row = client.instance.table(step.table).row(bytesOf(step.row));
  const [response] = await row.createRules(step.rules.map(rule =>
    rule.append === undefined
      ? {column: columnOf(rule), increment: rule.increment}
      : {column: columnOf(rule), append: bytesOf(rule.append)}));
  const cells = [];
  for (const family of response.row.families) {
    for (const column of family.columns) {
      for (const cell of column.cells) {
        cells.push([family.name, shown(Buffer.from(column.qualifier)), Number(cell.timestampMicros),
          shown(Buffer.from(cell.value))]);
      }
    }
  }
  return {row: {row: shown(Buffer.from(response.row.key)), cells}};
}

async function ping(client) {
  await request(client, 'pingAndWarm', {name: client.instance.name});
  return {};
}

// --- steps ------------------------------------------------------------------------------------------

function sketches() {
  throw new Lacks('a library of sketches');
}

const ACTIONS = {
  ...admin, mutateRow, mutateRows, readRows, readRow, readSome, sampleRowKeys, checkAndMutate,
  readModifyWrite, ping,
  hllCount: sketches, hllMerge: sketches,
};

async function outcomeOf(step, place) {
  try {
    if (!ACTIONS[step.do]) {
      throw new Lacks(step.do);
    }
    return {result: await ACTIONS[step.do](clientFor(step.in || place, step.through), step)};
  } catch (error) {
    if (error instanceof Lacks) {
      return {lacks: error.message};
    }
    if (Number.isInteger(error.code) && CODES[error.code]) {
      // Of a call, details is what the server said; of an entry, it is a list of messages.
      const text = typeof error.details === 'string' ? error.details : error.message;
      return {error: {code: CODES[error.code], text: text || ''}};
    }
    return {refused: String((error && error.stack) || error).slice(0, 600)};
  }
}

async function main() {
  const place = `${process.argv[2]}/${process.argv[3]}`;
  for await (const line of readline.createInterface({input: process.stdin, crlfDelay: Infinity})) {
    const step = JSON.parse(line);
    const outcome = await outcomeOf(step, place);
    process.stdout.write(`${JSON.stringify({step: step.step, ...outcome})}\n`);
  }
  process.exit(0);
}

main();
