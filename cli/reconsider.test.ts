import { describe, expect, test } from '@jest/globals';
import { annotations } from '../api/labels.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import { nodeClaim, nodePool } from '../test/builders/activity-world.js';
import { scopeOf, undoInKubernetes } from './reconsider.js';

const ann = { actor: 'ann', reason: 'mended' };

describe('stowage reconsider', () => {
  test('takes exactly one scope', () => {
    expect(scopeOf({ node: 'n1' })).toEqual({ node: 'n1' });
    expect(scopeOf({ nodepool: 'gpu' })).toEqual({ nodePool: 'gpu' });
    for (const wrong of [{}, { node: 'n1', all: true }]) expect(() => scopeOf(wrong)).toThrow('say what: --node NAME');
  });

  // (surfaces/reconsidered-by)
  test('removes the rejections in its scope alone, and records who did and why', async () => {
    const kube = createFakeKube({ now: () => 0, podsTerminate: 'at-once' });
    const declined = { annotations: { [annotations.expirationDeclined]: 'rejected by bob' } };
    for (const name of ['a', 'b']) {
      const claim = nodeClaim(name, { status: { nodeName: `node-${name}` } });
      kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, ...declined } });
      const pool = nodePool(`pool-${name}`);
      kube.put('NodePool', {
        ...pool,
        metadata: { ...pool.metadata, annotations: { [annotations.driftStopped]: 'h' } },
      });
    }
    const notes = async () =>
      [...(await kube.list('NodeClaim')), ...(await kube.list('NodePool'))].map(({ metadata }) => [
        metadata.name,
        metadata.annotations?.[annotations.expirationDeclined] ?? metadata.annotations?.[annotations.driftStopped],
        metadata.annotations?.[annotations.reconsidered],
      ]);

    // --node accepts the name of the node or of its NodeClaim.
    expect(await undoInKubernetes(kube, { ...ann, node: 'node-a' })).toEqual(['NodeClaim a expires again.']);
    expect(await undoInKubernetes(kube, { ...ann, nodePool: 'pool-b' })).toEqual([
      'The rollout of NodePool pool-b may begin again.',
    ]);
    expect(await notes()).toEqual([
      ['a', undefined, 'by ann (mended)'],
      ['b', 'rejected by bob', undefined],
      ['pool-a', 'h', undefined],
      ['pool-b', undefined, 'by ann (mended)'],
    ]);
    expect(await undoInKubernetes(kube, { ...ann, all: true })).toHaveLength(2);
    expect(await undoInKubernetes(kube, { ...ann, all: true })).toEqual([]);
  });

  test('removes a declined repair too (repair/declined)', async () => {
    const kube = createFakeKube({ now: () => 0, podsTerminate: 'at-once' });
    const claim = nodeClaim('a', { status: { nodeName: 'node-a' } });
    const declined = { [annotations.repairDeclined]: 'Ready=False: rejected by bob' };
    kube.put('NodeClaim', { ...claim, metadata: { ...claim.metadata, annotations: declined } });
    expect(await undoInKubernetes(kube, { ...ann, node: 'a' })).toEqual(['NodeClaim a may be repaired again.']);
    const [left] = await kube.list('NodeClaim');
    expect(left?.metadata.annotations).toEqual({ [annotations.reconsidered]: 'by ann (mended)' });
  });
});
