import { awsWellKnownLabels } from '../../../api/aws/labels.js';
import type { KubernetesObject } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { plan } from '../../../packing/plan.js';
import { packingInputOf } from '../../builders/packing-input.js';
import { gives, type Check } from '../conformance-case.js';
import { oneOf, pool } from '../world.js';
import { account, type Given } from './account.js';

/** A NodePool of on-demand capacity. */
export const onDemandPool = pool({ requirements: [oneOf(labels.capacityType, 'on-demand')] });

export interface Outcome {
  /** Names of pods that get no node. */
  readonly left: readonly string[];
  /** The cheapest type of each new node. */
  readonly types: readonly string[];
}

/** What pods get of an account's instance types, on demand unless another pool is among the objects. */
export async function planned(given: Given, objects: readonly KubernetesObject[]): Promise<Outcome> {
  const all = objects.some(({ kind }) => kind === 'NodePool') ? objects : [onDemandPool, ...objects];
  const types = await account(given).types();
  const input = packingInputOf({ objects: [...all], catalogue: [] });
  const result = plan({
    ...input,
    catalogues: new Map(input.objects.nodePools.map(({ metadata }) => [metadata.name ?? '', types])),
    settings: {
      ...input.settings,
      wellKnownLabels: [...new Set([...input.settings.wellKnownLabels, ...awsWellKnownLabels])].sort(),
    },
  });
  return {
    left: result.unschedulable.map((each) => each.pod.slice(each.pod.indexOf('/') + 1)).sort(),
    types: result.newNodeClaims.map(({ cheapest }) => cheapest.instanceType).sort(),
  };
}

export const plansOn = (given: Given, objects: readonly KubernetesObject[], expected: Partial<Outcome>): Check =>
  gives(async () => {
    const outcome = { ...(await planned(given, objects)) };
    return Object.fromEntries(Object.keys(expected).map((key) => [key, outcome[key as keyof Outcome]]));
  }, expected);
