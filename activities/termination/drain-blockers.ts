import type { Pod, PodDisruptionBudget } from '../../api/kubernetes.js';
import { compareText, counted, verb } from '../../core/text.js';
import { neverEvictable } from '../../core/pod-disruption-budgets.js';
import type { DrainBlocker, DrainCause } from './contract.js';
import { timeText } from '../../core/time.js';
import { fullName } from '../../core/names.js';

/** How many blockers a result lists; the others are counted. */
const mostBlockers = 5;
const mostPods = 5;

/** Causes that do not end by themselves come first. */
const order: readonly DrainCause[] = [
  'pdb-never',
  'several-pdbs',
  'pdb',
  'do-not-disrupt',
  'finalizers',
  'terminating',
  'eviction',
  'volume',
];

/** What blocks a pod. */
export type Reason = Pick<DrainBlocker, 'cause' | 'name' | 'why'>;

/** Collects what blocks pods: one entry per cause, with its pods. */
export class Blockers {
  private readonly byName = new Map<string, Reason & { pods: string[] }>();

  clear(): void {
    this.byName.clear();
  }

  add(reason: Reason, pod: Pod): void {
    const known = this.byName.get(reason.name);
    if (known === undefined) this.byName.set(reason.name, { ...reason, pods: [fullName(pod)] });
    else known.pods.push(fullName(pod));
  }

  /** The first few, in a fixed order. */
  list(): readonly DrainBlocker[] {
    return [...this.byName.values()]
      .sort((a, b) => order.indexOf(a.cause) - order.indexOf(b.cause) || compareText(a.name, b.name))
      .slice(0, mostBlockers)
      .map(({ pods, ...reason }) => ({ ...reason, pods: pods.sort().slice(0, mostPods), podCount: pods.length }));
  }
}

/** The blocker of a refused eviction, by the budgets that apply to the pod (`bindingBudgets`). */
export function evictionBlocker(pod: Pod, binding: readonly PodDisruptionBudget[]): Reason {
  const never = neverEvictable(binding);
  if (never?.kind === 'several') {
    const [first = '', ...others] = never.budgets;
    const names = [first, ...others.map((key) => key.slice(key.indexOf('/') + 1))].join('+');
    return { cause: 'several-pdbs', name: `pdb/${names} (several)`, why: never.why };
  }
  if (never !== undefined) {
    const why = `can never allow an eviction: ${never.why}`;
    return { cause: 'pdb-never', name: `pdb/${never.budgets.join()} (never)`, why };
  }
  const [only] = binding;
  if (only === undefined) {
    return { cause: 'eviction', name: `pod/${fullName(pod)}`, why: 'the API server refuses its eviction' };
  }
  const { currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = only.status ?? {};
  const healthy = `${currentHealthy} of ${counted(expectedPods, 'pod')} ${verb(currentHealthy, 'is', 'are')} healthy`;
  const why = `allows no eviction now: ${healthy}, ${desiredHealthy} must be`;
  return { cause: 'pdb', name: `pdb/${fullName(only)}`, why };
}

/** The API server itself, or an admission webhook, refuses the eviction or deletion of this one pod. */
export function refusalBlocker(pod: Pod, message: string): Reason {
  return {
    cause: 'eviction',
    name: `pod/${fullName(pod)} (refused)`,
    why: `cannot be evicted: ${message.slice(0, 300)}`,
  };
}

/** `until` in milliseconds of the epoch, infinity if unlimited (candidates/do-not-disrupt-pods). */
export function protectionBlocker(pod: Pod, until: number): Reason {
  const end = Number.isFinite(until) ? ` until ${timeText(until)}` : '';
  return {
    cause: 'do-not-disrupt',
    name: `pod/${fullName(pod)} (do-not-disrupt)`,
    why: `is marked karpenter.sh/do-not-disrupt${end}`,
  };
}

/** The blocker of a pod that exists past its grace period; undefined before that. */
export function terminatingBlocker(pod: Pod, now: number): Reason | undefined {
  const { deletionTimestamp, finalizers = [] } = pod.metadata;
  if (deletionTimestamp === undefined || now <= Date.parse(deletionTimestamp)) return undefined;
  const ended = `was to end at ${timeText(deletionTimestamp)}`;
  return finalizers.length > 0
    ? {
        cause: 'finalizers',
        name: `pod/${fullName(pod)} (finalizers)`,
        why: `${ended}, and finalizers hold it: ${finalizers.join(', ')}`,
      }
    : {
        cause: 'terminating',
        name: `pod/${fullName(pod)} (terminating)`,
        why: `${ended}, and its kubelet has not said that it did`,
      };
}

export function volumeBlockers(volumes: readonly string[]): readonly DrainBlocker[] {
  return volumes.slice(0, mostBlockers).map((name) => ({
    cause: 'volume',
    name: `volume/${name}`,
    why: 'is still attached to the node',
    pods: [],
    podCount: 0,
  }));
}
