'use strict';
// Tables, instances, clusters and profiles.  What the handwritten surface has no words for (types of
// families, protection, changes of several families) goes through the same client's generated API.
const {Lacks, bytesOf} = require('./common');

const AGGREGATORS = {
  intsum: 'sum', intmin: 'min', intmax: 'max',
  inthll: 'hllppUniqueCount', byteshll: 'hllppUniqueCount',
};

function call(client, method, request) {
  return new Promise((resolve, reject) => {
    client.bigtable.request(
      {client: 'BigtableTableAdminClient', method, reqOpts: request, gaxOpts: {}},
      (error, response) => (error ? reject(error) : resolve(response)));
  });
}

// --- rules and types ------------------------------------------------------------------------------

function ruleOf(gc) {
  if (gc.versions !== undefined) {
    return {maxNumVersions: gc.versions};
  }
  if (gc.ageSeconds !== undefined) {
    return {maxAge: {seconds: gc.ageSeconds}};
  }
  const kind = gc.union ? 'union' : 'intersection';
  return {[kind]: {rules: gc[kind].map(ruleOf)}};
}

function gcOf(rule) {
  if (!rule || !rule.rule) {
    return null;
  }
  switch (rule.rule) {
    case 'maxNumVersions':
      return {versions: rule.maxNumVersions};
    case 'maxAge':
      return {ageSeconds: Number(rule.maxAge.seconds)};
    default:
      return {[rule.rule]: rule[rule.rule].rules.map(gcOf)};
  }
}

function valueTypeOf(type) {
  const inputType = type === 'byteshll'
    ? {bytesType: {encoding: {raw: {}}}}
    : {int64Type: {encoding: {bigEndianBytes: {}}}};
  return {aggregateType: {inputType, [AGGREGATORS[type]]: {}}};
}

function typeOf(valueType) {
  const aggregate = valueType && valueType.aggregateType;
  if (!aggregate) {
    return null;
  }
  if (aggregate.hllppUniqueCount) {
    return aggregate.inputType && aggregate.inputType.bytesType ? 'byteshll' : 'inthll';
  }
  return aggregate.sum ? 'intsum' : aggregate.min ? 'intmin' : 'intmax';
}

function familyOf(written) {
  const family = {};
  if (written.gc) {
    family.gcRule = ruleOf(written.gc);
  }
  if (written.type) {
    family.valueType = valueTypeOf(written.type);
  }
  return family;
}

// The handwritten surface's own form of a rule, where it has one.
function idiomaticRule(gc) {
  const kind = gc.union ? 'union' : gc.intersection ? 'intersection' : null;
  const made = kind === 'union' ? {union: true} : {};
  for (const part of kind ? gc[kind] : [gc]) {
    if (part.versions !== undefined && made.versions === undefined) {
      made.versions = part.versions;
    } else if (part.ageSeconds !== undefined && made.age === undefined) {
      made.age = {seconds: part.ageSeconds};
    } else if ((part.union || part.intersection) && made.rule === undefined) {
      made.rule = idiomaticRule(part);
    } else {
      throw new Lacks('two rules of one kind in a union or intersection');
    }
  }
  return made;
}

// --- tables ---------------------------------------------------------------------------------------

async function createTable({instance}, step) {
  const written = Object.entries(step.families);
  const splits = (step.splits || []).map(bytesOf);
  if (!step.protected && written.every(([, family]) => !family.type)) {
    const families = written.map(([name, family]) =>
      family.gc ? {name, rule: idiomaticRule(family.gc)} : name);
    await instance.createTable(step.table, splits.length ? {families, splits} : {families});
    return {};
  }
  await call(instance, 'createTable', {
    parent: instance.name, tableId: step.table,
    initialSplits: splits.map(key => ({key})),
    table: {
      deletionProtection: Boolean(step.protected),
      columnFamilies: Object.fromEntries(written.map(([name, family]) => [name, familyOf(family)])),
    },
  });
  return {};
}

async function getTable({instance}, step) {
  const view = step.view || 'schema';
  const [metadata] = await instance.table(step.table).getMetadata({view});
  const families = {};
  for (const [name, family] of Object.entries(metadata.columnFamilies || {})) {
    families[name] = {gc: gcOf(family.gcRule), type: typeOf(family.valueType)};
  }
  return {protected: Boolean(metadata.deletionProtection), families};
}

async function listTables({instance}, step) {
  const [tables] = await instance.getTables(
    step.pageSize ? {gaxOptions: {pageSize: step.pageSize}} : {});
  return {tables: tables.map(table => table.id.split('/').pop()).sort()};
}

function modificationOf(written) {
  if (written.drop) {
    return {id: written.drop, drop: true};
  }
  return written.create
    ? {id: written.create, create: familyOf(written)}
    : {id: written.update, update: familyOf(written)};
}

async function modifyFamilies({instance}, step) {
  const table = instance.table(step.table);
  const [only] = step.modifications;
  if (step.modifications.length > 1 || only.type) {
    await call(instance, 'modifyColumnFamilies', {
      name: table.name, modifications: step.modifications.map(modificationOf)});
  } else if (only.create) {
    await table.createFamily(only.create, only.gc ? {rule: idiomaticRule(only.gc)} : {});
  } else if (only.update) {
    await table.family(only.update).setMetadata({rule: idiomaticRule(only.gc)});
  } else {
    await table.family(only.drop).delete();
  }
  return {};
}

async function protectTable({instance}, step) {
  const operation = await call(instance, 'updateTable', {
    table: {name: instance.table(step.table).name, deletionProtection: step.protected},
    updateMask: {paths: ['deletion_protection']},
  });
  if (operation && typeof operation.promise === 'function') {
    await operation.promise();
  }
  return {};
}

async function dropRows({instance}, step) {
  const table = instance.table(step.table);
  if (step.all) {
    await table.truncate();
  } else {
    await table.deleteRows(bytesOf(step.prefix).toString());
  }
  return {};
}

async function consistency({instance}, step) {
  const table = instance.table(step.table);
  const [token] = await table.generateConsistencyToken();
  const [consistent] = await table.checkConsistency(token);
  return {consistent};
}

// --- instances, clusters, profiles ----------------------------------------------------------------

async function finished([, operation]) {
  if (operation && typeof operation.promise === 'function') {
    await operation.promise();
  }
  return {};
}

const idOf = resource => (resource.id || resource.name).split('/').pop();

const INSTANCES = {
  createInstance: ({bigtable}, step) =>
    bigtable.createInstance(step.instance, {
      displayName: step.displayName,
      clusters: [{id: step.cluster, location: step.zone, nodes: step.nodes, storage: 'ssd'}],
    }).then(finished),
  getInstance: async ({bigtable}, step) => {
    const [metadata] = await bigtable.instance(step.instance).getMetadata();
    return {id: metadata.name.split('/').pop(), displayName: metadata.displayName};
  },
  listInstances: async ({bigtable}) => {
    const [instances] = await bigtable.getInstances();
    return {instances: instances.map(idOf).sort()};
  },
  updateInstance: async ({bigtable}, step) => {
    await bigtable.instance(step.instance).setMetadata({displayName: step.displayName});
    return {};
  },
  deleteInstance: async ({bigtable}, step) => {
    await bigtable.instance(step.instance).delete();
    return {};
  },
};

const cluster = ({bigtable}, step) => bigtable.instance(step.instance).cluster(step.cluster);

const CLUSTERS = {
  createCluster: ({bigtable}, step) =>
    bigtable.instance(step.instance).createCluster(step.cluster, {
      location: step.zone, nodes: step.nodes, storage: 'ssd',
    }).then(finished),
  getCluster: async (client, step) => {
    const [metadata] = await cluster(client, step).getMetadata();
    return {id: metadata.name.split('/').pop(), nodes: metadata.serveNodes};
  },
  listClusters: async ({bigtable}, step) => {
    const [clusters] = await bigtable.instance(step.instance).getClusters();
    return {clusters: clusters.map(idOf).sort()};
  },
  updateCluster: (client, step) =>
    cluster(client, step).setMetadata({nodes: step.nodes}).then(([operation]) =>
      finished([null, operation])),
  deleteCluster: async (client, step) => {
    await cluster(client, step).delete();
    return {};
  },
  hotTablets: () => {
    throw new Lacks('ListHotTablets');
  },
};

const profile = ({bigtable}, step) => bigtable.instance(step.instance).appProfile(step.profile);

function routingOf(metadata) {
  const single = metadata.singleClusterRouting;
  return single
    ? {cluster: single.clusterId, transactions: Boolean(single.allowTransactionalWrites)}
    : 'any';
}

const PROFILES = {
  createProfile: async ({bigtable}, step) => {
    const instance = bigtable.instance(step.instance);
    const {routing} = step;
    await instance.createAppProfile(step.profile, routing === 'any'
      ? {routing: 'any', description: step.description}
      : {
        routing: instance.cluster(routing.cluster), description: step.description,
        allowTransactionalWrites: routing.transactions,
      });
    return {};
  },
  getProfile: async (client, step) => {
    const [metadata] = await profile(client, step).getMetadata();
    return {
      id: metadata.name.split('/').pop(), description: metadata.description,
      routing: routingOf(metadata),
    };
  },
  listProfiles: async ({bigtable}, step) => {
    const [profiles] = await bigtable.instance(step.instance).getAppProfiles();
    return {profiles: profiles.map(idOf).sort()};
  },
  updateProfile: (client, step) =>
    profile(client, step).setMetadata({description: step.description}).then(([operation]) =>
      finished([null, operation])),
  deleteProfile: async (client, step) => {
    await profile(client, step).delete({ignoreWarnings: true});
    return {};
  },
};

module.exports = {
  createTable, getTable, listTables, modifyFamilies, protectTable, dropRows, consistency,
  deleteTable: async ({instance}, step) => {
    await instance.table(step.table).delete();
    return {};
  },
  ...INSTANCES, ...CLUSTERS, ...PROFILES,
};
