import { defaultFeatureGates } from '../../core/feature-gates.js';
import { consolidateFleet, reconsiderNodes, whyStays } from '../../disruption/consolidation/search.js';
import { waitingRooms } from '../../disruption/consolidation/fleet-setup.js';
import { leastPossible } from '../../packing/least-possible.js';
import { plan } from '../../packing/plan.js';
import type { ActivityDeps } from '../../activities/deps.js';
import { silentLog, silentMetrics } from './silent.js';

const nothing = (): Promise<void> => Promise.resolve();

/**
 * What activities need, on an API server and a cloud of the caller's choice, for tests and simulations: packing is done in the
 * calling thread; events, metrics, log lines and refused offerings are dropped.
 */
export function fakeDeps(
  world: Pick<ActivityDeps, 'kube' | 'cache' | 'cloud' | 'now'> & Partial<ActivityDeps>,
): ActivityDeps {
  return {
    cluster: 'test',
    events: { publish: () => undefined },
    offerings: { refused: nothing, succeeded: nothing, refresh: nothing },
    entities: { ensure: nothing, startLaunch: nothing, isOpen: () => Promise.resolve(false) },
    packer: {
      plan: (input) => Promise.resolve(plan(input)),
      consolidate: (input) => Promise.resolve(consolidateFleet(input)),
      reconsider: (input, candidates) => Promise.resolve(reconsiderNodes(input, candidates)),
      leastPossible: (input) => Promise.resolve(leastPossible(input)),
      waitingRooms: (input) => Promise.resolve(waitingRooms(input)),
      whyStays: (input, node) => Promise.resolve(whyStays(input, node)),
    },
    packing: {
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
      wellKnownLabels: world.cloud.wellKnownLabels,
      listedTypes: 60,
    },
    gates: defaultFeatureGates,
    metrics: silentMetrics,
    log: silentLog,
    nominationMs: 20_000,
    nominatePods: true,
    steerPods: true,
    ...world,
  };
}
