'use strict';
// Bytes as steps give and results show them, and the one thing that is not an error: a client's lack.
const crypto = require('crypto');

const SHOWN_BYTES_MAX = 64;

class Lacks extends Error {}

function bytesOf(given) {
  if (typeof given === 'string') {
    return Buffer.from(given, 'hex');
  }
  return Buffer.from(given.hex.repeat(given.times), 'hex');
}

function shown(data) {
  if (data.length <= SHOWN_BYTES_MAX) {
    return data.toString('hex');
  }
  const digest = crypto.createHash('sha256').update(data).digest('hex');
  return `sha256:${digest}:${data.length}`;
}

module.exports = {Lacks, bytesOf, shown};
