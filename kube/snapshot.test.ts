import { expect, test } from '@jest/globals';
import type { ClusterObjects } from '../packing/types.js';
import { createClusterCache } from './cache.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import { clusterObjects, optionalKinds, snapshotKinds } from './snapshot.js';

test('a snapshot has the watched objects of the kinds that packing reads', async () => {
  const kube = createFakeKube({ absent: optionalKinds });
  kube.put('Pod', { metadata: { name: 'p', namespace: 'default' }, spec: { containers: [] } });
  kube.put('Node', { metadata: { name: 'n' } });
  const stop = new AbortController();
  const cache = createClusterCache({ client: kube, kinds: snapshotKinds, optional: optionalKinds });
  await cache.start(stop.signal);
  const objects: ClusterObjects = clusterObjects(cache);
  expect(objects.pods.map(({ metadata }) => metadata.name)).toEqual(['p']);
  expect(objects.nodes).toBe(cache.all('Node'));
  expect(objects.nodeOverlays).toEqual([]);
  stop.abort();

  const narrow = createClusterCache({ client: kube, kinds: ['Pod'] });
  expect(Object.keys(clusterObjects(narrow)).sort()).toEqual(Object.keys(objects).sort());
});
