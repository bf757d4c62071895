import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations, labels } from '../../api/labels.js';
import { isTrue } from '../../core/conditions.js';
import { nameOf } from '../../core/names.js';
import { nodePoolHash, nodePoolHashVersion } from '../../disruption/drift/template-hash.js';
import { watchDrift } from '../../operator/drift.js';
import type { ActivityWorld } from '../../test/builders/activity-world.js';
import { catalogue, createActivityWorld, nodeClaim, nodeClass, nodePool } from '../../test/builders/activity-world.js';
import { operatorContext } from '../../test/builders/operator-context.js';
import { driftOfBoth } from './node-drift.js';

const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

/** Templates that a NodePool is changed to, by what changes. */
const templates: Readonly<Record<string, object>> = {
  nothing: {},
  'a label': { metadata: { labels: { team: 'a' } } },
  'a taint': { spec: { nodeClassRef, requirements: [], taints: [{ key: 'a', effect: 'NoSchedule' }] } },
  'a zone': { spec: { nodeClassRef, requirements: [{ key: labels.zone, operator: 'In', values: ['a'] }] } },
  'a label that nodes lack': {
    spec: { nodeClassRef, requirements: [{ key: 'team', operator: 'Exists', values: [] }] },
  },
  'expireAfter written otherwise': { spec: { nodeClassRef, requirements: [], expireAfter: '43200m' } },
};

// Rule `drift/template`.
describe('a forecast finds the drift that the operator finds, where a NodePool changes', () => {
  let world: ActivityWorld;
  let stop: () => void;

  beforeEach(async () => {
    world = await createActivityWorld();
    stop = () => undefined;
  });
  afterEach(() => {
    stop();
    world.stop();
  });

  const poolOf = (template: object): NodePool => {
    const pool = nodePool('default', { template: { spec: { nodeClassRef, requirements: [] }, ...template } });
    return { ...pool, metadata: { ...pool.metadata, annotations: stampOf(pool) } };
  };
  const stampOf = ({ spec }: NodePool): Record<string, string> => ({
    [annotations.nodePoolHash]: nodePoolHash(spec.template),
    [annotations.nodePoolHashVersion]: nodePoolHashVersion,
  });

  test.each(Object.entries(templates))('%s', async (_what, template) => {
    const [before, after] = [poolOf({}), poolOf(template)];
    const claims = ['a', 'b'].flatMap((zone) =>
      [stampOf(before), {}].map((own, n) => {
        const claim = nodeClaim(`claim-${zone}${n}`, {
          status: { conditions: [{ type: 'Launched', status: 'True' }] },
        });
        const all = { ...claim.metadata.labels, [labels.zone]: zone, [labels.instanceType]: 'm5.xlarge' };
        const creationTimestamp = new Date(world.clock.now).toISOString();
        return { ...claim, metadata: { ...claim.metadata, labels: all, annotations: own, creationTimestamp } };
      }),
    );
    const snapshotOf = (pool: NodePool): Parameters<typeof driftOfBoth>[0] => ({
      input: {
        objects: { pods: [], nodePools: [pool], nodeClaims: claims },
        catalogues: new Map([['default', catalogue]]),
        settings: world.deps.packing,
        now: world.clock.now,
      },
      nodeClasses: [],
      spotToSpot: false,
    });
    const forecast = await driftOfBoth(snapshotOf(before), snapshotOf(after));

    world.kube.put('EC2NodeClass', nodeClass('default'));
    world.kube.put('NodePool', before);
    for (const claim of claims) world.kube.put('NodeClaim', claim);
    await world.synced();
    stop = watchDrift(operatorContext(world), () => undefined);
    const isStamped = (): boolean =>
      world.deps.cache
        .all('NodeClaim')
        .every(({ metadata }) => metadata.annotations?.[annotations.nodePoolHashVersion] === nodePoolHashVersion);
    await world.deps.cache.until(isStamped, AbortSignal.timeout(20_000));
    world.kube.put('NodePool', { ...after, metadata: { ...after.metadata, generation: 2 } });
    const drifted = (): string[] =>
      world.deps.cache
        .all('NodeClaim')
        .filter(({ status }) => isTrue(status?.conditions, 'Drifted'))
        .map(nameOf)
        .sort();
    const expected = [...forecast.after.keys()].sort();
    await world.deps.cache.until(() => drifted().length >= expected.length, AbortSignal.timeout(20_000));
    await world.synced();

    expect([...forecast.before.keys()]).toEqual([]);
    expect(drifted()).toEqual(expected);
  });
});
