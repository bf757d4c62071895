import type { Condition, KubernetesObject } from '../../api/kubernetes.js';
import { managedClaims } from '../../cluster/cluster.js';
import type { Kind } from '../../kube/port.js';
import type { Family, Sample } from './family.js';
import { secondsSince } from './family.js';
import type { Scrape } from './scrape.js';

interface Conditioned extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const conditionLabels = ['namespace', 'name', 'type', 'status', 'reason'];

/** Metrics for the conditions of one kind, as in Karpenter's generic status controllers. */
function familiesOf(kind: string, objects: (scrape: Scrape) => readonly Conditioned[]): readonly Family[] {
  const prefix = `operator_${kind.toLowerCase()}`;
  return [
    {
      name: `${prefix}_status_condition_count`,
      help: `One for each condition that a ${kind} has, with its status.`,
      labelNames: conditionLabels,
      samples: (scrape) => perCondition(objects(scrape), () => 1),
    },
    {
      name: `${prefix}_status_condition_current_status_seconds`,
      help: `For how long each condition of a ${kind} has had its status.`,
      labelNames: conditionLabels,
      samples: (scrape) =>
        perCondition(objects(scrape), ({ lastTransitionTime }) => secondsSince(lastTransitionTime, scrape.now)),
    },
    {
      name: `${prefix}_termination_current_time_seconds`,
      help: `For how long each ${kind} that is being deleted has been so.`,
      labelNames: ['namespace', 'name'],
      samples: (scrape) =>
        objects(scrape)
          .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
          .map(({ metadata }) => [identity(metadata), secondsSince(metadata.deletionTimestamp, scrape.now)]),
    },
  ];
}

/** NodePools and node classes; the latter with the name of the provider's kind, such as `ec2nodeclass`. */
export function definitionConditions(nodeClassKind: string): readonly Family[] {
  return [
    ...familiesOf('NodePool', (scrape) => scrape.pools()),
    ...familiesOf(nodeClassKind, ({ deps }) => deps.cache.all(nodeClassKind as Kind) as readonly Conditioned[]),
  ];
}

/** Series for each node and claim, which DISABLE_CLUSTER_STATE_OBSERVABILITY omits. */
export const objectConditions: readonly Family[] = [
  ...familiesOf('NodeClaim', ({ deps }) => managedClaims(deps)),
  ...familiesOf('Node', ({ deps }) => deps.cache.all('Node')),
];

function perCondition(objects: readonly Conditioned[], read: (condition: Condition) => number): Sample[] {
  return objects.flatMap(({ metadata, status }) =>
    (status?.conditions ?? []).map((condition): Sample => {
      const { type, status: state, reason = '' } = condition;
      return [{ ...identity(metadata), type, status: state, reason }, read(condition)];
    }),
  );
}

function identity({ namespace = '', name = '' }: KubernetesObject['metadata']): { namespace: string; name: string } {
  return { namespace, name };
}
