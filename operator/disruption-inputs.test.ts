import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createClusterCache } from '../kube/cache.js';
import type { ClusterCache } from '../kube/port.js';
import { createFakeKube } from '../test/simulation/kube/fake.js';
import type { FakeKube } from '../test/simulation/kube/fake.js';
import { silentLog } from '../test/simulation/silent.js';
import type { OperatorContext } from './context.js';
import { watchDisruptionInputs } from './disruption-inputs.js';

describe('what disrupt is told of', () => {
  let kube: FakeKube;
  let cache: ClusterCache;
  let told: string[];
  let stop: () => void;
  const stopping = { controller: new AbortController() };
  let heard: () => void = () => undefined;

  beforeEach(async () => {
    kube = createFakeKube();
    told = [];
    stopping.controller = new AbortController();
    cache = createClusterCache({
      client: kube,
      kinds: ['NodePool', 'PodDisruptionBudget', 'Node', 'DisruptionPause', 'DisruptionPolicy', 'NodeOverlay'],
    });
    await cache.start(stopping.controller.signal);
    const hears = (what: string) => (): Promise<void> => {
      told.push(what);
      heard();
      return Promise.resolve();
    };
    const starter = { disrupt: hears('news'), pausesChanged: hears('pauses') };
    stop = watchDisruptionInputs({ cache, log: silentLog, starter } as unknown as OperatorContext);
  });
  afterEach(() => {
    stop();
    stopping.controller.abort();
  });

  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await new Promise<void>((resolve) => (heard = resolve));
  };
  const count = (what: string): number => told.filter((one) => one === what).length;

  test('what was changed while nobody watched: at the start it looks at pauses and everything else', async () => {
    await until(() => count('pauses') === 1 && count('news') === 1);
    expect([...told].sort()).toEqual(['news', 'pauses']);
  });

  test('a pause that is written, and one that is deleted', async () => {
    await until(() => count('pauses') === 1);
    kube.put('DisruptionPause', { metadata: { name: 'p' }, spec: { scope: { kind: 'Cluster' }, message: 'release' } });
    await until(() => count('pauses') === 2);
    kube.remove('DisruptionPause', { name: 'p' });
    await until(() => count('pauses') === 3);
    expect(count('pauses')).toBe(3);
  });

  test.each([
    ['NodePool', { metadata: { name: 'p' }, spec: {} }],
    ['NodeOverlay', { metadata: { name: 'p' }, spec: {} }],
    ['DisruptionPolicy', { metadata: { name: 'p' }, spec: {} }],
    ['PodDisruptionBudget', { metadata: { name: 'p', namespace: 'default' }, spec: {} }],
  ] as const)('a %s that is deleted', async (kind, object) => {
    kube.put(kind, object);
    await cache.until(() => cache.all(kind).length === 1, stopping.controller.signal);
    await until(() => count('news') >= 1);
    const before = count('news');

    kube.remove(kind, object.metadata);

    await until(() => count('news') > before);
    expect(cache.all(kind)).toEqual([]);
  });
});
