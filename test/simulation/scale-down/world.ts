import type { ActivityDeps, Packer } from '../../../activities/deps.js';
import { fakeDeps } from '../deps.js';
import { parseCatalogue } from '../../../cloud/kwok/catalogue.js';
import { createKwokProvider, kwokOverhead } from '../../../cloud/kwok/provider.js';
import { createClusterCache } from '../../../kube/cache.js';
import { createFakeKube } from '../kube/fake.js';
import type { FakeKube } from '../kube/fake.js';
import type { ClusterCache, Kind, Kinds, KubeClient, ObjectRef } from '../../../kube/port.js';
import { bufferKinds, snapshotKinds } from '../../../kube/snapshot.js';
import { kwokCatalogue } from '../../cases/kwok.js';
import { Random } from '../../cases/random.js';
import { VirtualClock } from './clock.js';
import { latencies } from './latencies.js';

/** An API server, a cloud and a worker's activities in memory, at a time of their own. */
export interface World {
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly kube: FakeKube;
  readonly cache: ClusterCache;
  readonly deps: ActivityDeps;
  /** What is said of what goes on, for people. */
  readonly say: (line: string) => void;
  /** Lets everything run that waits for no time. */
  readonly settle: () => Promise<void>;
  readonly stop: () => void;
}

/** What kube-scheduler, kubelets and controllers work with. */
export interface ClusterParts extends Pick<World, 'random' | 'kube' | 'cache'> {
  readonly clock: Readonly<Pick<VirtualClock, 'now' | 'sleep'>>;
}

const start = Date.parse('2026-01-05T12:00:00Z');

export async function createWorld(seed: number, say: (line: string) => void): Promise<World> {
  const clock = new VirtualClock(start);
  const now = (): number => clock.now;
  const kube = createFakeKube({ now, podsTerminate: 'at-once' });
  let calls = 0;
  const counted = counting(kube, () => void (calls += 1));
  const kinds: Kind[] = [...snapshotKinds, ...bufferKinds, 'KWOKNodeClass'];
  const cache = createClusterCache({ client: kube, kinds });
  const stopping = new AbortController();
  await cache.start(stopping.signal);
  return {
    clock,
    random: new Random(seed),
    kube: counted,
    cache,
    deps: depsOf(counted, cache, clock),
    say,
    settle: async () => {
      for (let before = -1; before !== calls;) {
        before = calls;
        for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
    },
    stop: () => stopping.abort(),
  };
}

/** The same API server, saying that it is asked something. */
function counting(kube: FakeKube, called: () => void): FakeKube {
  const patch: KubeClient['patch'] = (kind, ref, change, options) => {
    called();
    return kube.patch(kind, ref, change, options);
  };
  const create: KubeClient['create'] = (kind, object) => {
    called();
    return kube.create(kind, object);
  };
  const put: FakeKube['put'] = (kind, object) => {
    called();
    return kube.put(kind, object);
  };
  const evict: KubeClient['evict'] = (pod) => {
    called();
    return kube.evict(pod);
  };
  const get = <K extends Kind>(kind: K, ref: ObjectRef): Promise<Kinds[K] | undefined> => {
    called();
    return kube.get(kind, ref);
  };
  return { ...kube, patch, create, put, evict, get };
}

function depsOf(kube: FakeKube, cache: ClusterCache, clock: VirtualClock): ActivityDeps {
  const now = (): number => clock.now;
  const types = parseCatalogue(JSON.stringify(kwokCatalogue()), { overhead: kwokOverhead });
  const deps = fakeDeps({ cluster: 'simulated', kube, cache, cloud: createKwokProvider({ kube, types, now }), now });
  const { packer } = deps;
  const consolidate: Packer['consolidate'] = async (input) => {
    await clock.sleep(latencies.searchMs);
    return packer.consolidate(input);
  };
  return { ...deps, packer: { ...packer, consolidate } };
}
