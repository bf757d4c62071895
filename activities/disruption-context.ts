import type { NodePool } from '../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../api/stowage/disruption-policy.js';
import { countPools } from '../disruption/emptiness.js';
import type { PoolCount } from '../disruption/budgets.js';
import type { CandidateContext, NodeView } from '../disruption/candidates.js';
import type { Departure, Pause } from '../workflows/messages.js';
import { managedPools, nodeViews } from './cluster.js';
import type { DisruptionView } from './contract.js';
import type { ActivityDeps } from './deps.js';
import { identityOf, labelsOf } from './labels-of.js';

/** The cluster as one look at it, with what `disrupt` knows besides. */
export interface DisruptionContext extends CandidateContext {
  readonly views: readonly NodeView[];
  readonly pools: ReadonlyMap<string, NodePool>;
  /** What budgets are counted against; claimed nodes count as disrupting (section 4.2). */
  readonly counts: ReadonlyMap<string, PoolCount>;
  readonly pauses: readonly Pause[];
  readonly policies: readonly DisruptionPolicy[];
  /** What went lately: rates and quotas count it. */
  readonly departures: readonly Departure[];
}

export async function disruptionContext(
  deps: ActivityDeps,
  { nominations, pauses, running, departures = [] }: DisruptionView,
): Promise<DisruptionContext> {
  const views = await nodeViews(deps);
  const claimed = new Set(running.flatMap(({ candidates }) => candidates.map(({ claim }) => claim.uid)));
  return {
    now: deps.now(),
    views,
    pools: new Map(managedPools(deps).map((pool) => [pool.metadata.name ?? '', pool])),
    counts: countPools(views, claimed),
    claimed,
    nominated: new Set(nominations.map(({ node }) => node)),
    podDisruptionBudgets: deps.cache.all('PodDisruptionBudget'),
    pauses,
    policies: deps.cache.all('DisruptionPolicy'),
    departures,
  };
}

/** What of a node a pause may name. */
export interface Pausable {
  readonly node: string;
  readonly nodePool: string;
}

export function pausableOf({ claim, node }: NodeView): Pausable {
  return { node: node?.metadata.name ?? identityOf(claim).name, nodePool: labelsOf(claim).nodePool };
}

/** Why a disruption of the node for this reason is paused, for a person. */
export function whyPaused(pauses: readonly Pause[], reason: string, { node, nodePool }: Pausable): string | undefined {
  const pause = pauses.find(({ scope: { kind, name } }) => {
    if (kind === 'cluster') return true;
    return name === { reason, nodePool, node }[kind];
  });
  if (pause === undefined) return undefined;
  const { scope, actor, reason: why, until } = pause;
  const scopeText = scope.name === undefined ? scope.kind : `${scope.kind} ${scope.name}`;
  const end = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  return `paused for the ${scopeText} by ${actor}${end}: ${why}`;
}
