'use strict';
// A filter of the scenario as @google-cloud/bigtable writes it: a list of objects with one key each.
const {Lacks, bytesOf} = require('./common');

function bound(bytes, isInclusive) {
  return bytes === undefined ? undefined : {value: bytesOf(bytes), inclusive: isInclusive};
}

function bounds(range) {
  return {
    start: bound(range.start, !range.startOpen),
    end: bound(range.end, Boolean(range.endClosed)),
  };
}

// The client takes patterns as text or RegExp: a Buffer would be escaped, and matched as it is.
function pattern(bytes) {
  const data = bytesOf(bytes);
  const text = data.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(data)) {
    throw new Lacks('patterns of bytes that are no text');
  }
  return text;
}

// Dates are all that the client takes, and the end's absence is that of the field.
function time(range) {
  const of = micros => (micros === undefined ? undefined : new Date(micros / 1000));
  return {start: of(range.start), end: of(range.end)};
}

function conditionOf(condition) {
  const branch = filter => (filter === undefined ? [] : filtersOf(filter));
  return {test: filtersOf(condition.if), pass: branch(condition.then), fail: branch(condition.else)};
}

const MAKERS = {
  chain: filters => filters.flatMap(filtersOf),
  interleave: filters => [{interleave: filters.map(filtersOf)}],
  condition: condition => [{condition: conditionOf(condition)}],
  rowKeyRegex: bytes => [{row: {key: pattern(bytes)}}],
  familyRegex: text => [{family: text}],
  qualifierRegex: bytes => [{column: {name: pattern(bytes)}}],
  valueRegex: bytes => [{value: {value: pattern(bytes)}}],
  columnRange: range => [{column: {family: range.family, ...bounds(range)}}],
  valueRange: range => [{value: bounds(range)}],
  timestampRange: range => [{time: time(range)}],
  cellsPerRowOffset: count => [{row: {cellOffset: count}}],
  cellsPerRowLimit: count => [{row: {cellLimit: count}}],
  cellsPerColumnLimit: count => [{column: {cellLimit: count}}],
  stripValue: () => [{value: {strip: true}}],
  sample: chance => [{row: {sample: chance}}],
  label: text => [{label: text}],
  sink: () => [{sink: true}],
  pass: () => [{all: true}],
  block: () => [{all: false}],
};

function filtersOf(filter) {
  const [name] = Object.keys(filter);
  if (!MAKERS[name]) {
    throw new Lacks(`a filter ${name}`);
  }
  return MAKERS[name](filter[name]);
}

module.exports = {filtersOf};
