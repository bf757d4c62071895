import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { timestamp } from '../../core/conditions.js';
import { parseDuration } from '../../core/durations.js';
import { nameOf } from '../../core/names.js';
import { decideAdmission, type Applicant } from '../../disruption/budgets/admission.js';
import { ruledByText, type PoolCount } from '../../disruption/budgets/budgets.js';
import { limitOf } from '../../disruption/budgets/limits.js';
import type { PastDisruption } from '../../disruption/budgets/limits/past-disruptions.js';
import { waveSize } from '../../disruption/drift/rollout.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import type { DriftTurn } from './types.js';

/** How long the replacement of a node is taken to need. */
const replacementMs = 600_000;
const mostSteps = 20_000;

interface TurnsAsked {
  readonly pool: NodePool;
  /** In the order in which they go. */
  readonly drifted: readonly Applicant[];
  readonly count: PoolCount;
  readonly policies: readonly DisruptionPolicy[];
  readonly now: number;
}

interface Turns {
  readonly turns: readonly DriftTurn[];
  /** Nodes that no budget, window or rate lets go, and why. */
  readonly never: readonly { readonly node: string; readonly why: string }[];
}

interface Batch {
  readonly at: number;
  readonly nodes: string[];
  readonly wave?: number;
  until: number;
}

/**
 * When the drifted nodes of a NodePool go, by the same admission as live: as many as its budgets, windows and rates
 * allow, the next when those are replaced; with `driftRollout` in waves, each with its soak. Nodes that go one after the
 * other without a pause are one turn.
 */
export function turnsOf({ pool, drifted, count, policies, now }: TurnsAsked): Turns {
  const batches: Batch[] = [];
  const rollout = pool.spec.replicas === undefined ? effectivePolicyOf(pool, policies).spec.driftRollout : undefined;
  const past: PastDisruption[] = [];
  let [at, left, wave, last] = [now, drifted, 0, undefined as number | undefined];
  let inWave: readonly Applicant[] = [];
  for (let step = 0; left.length > 0 && step < mostSteps; step++) {
    if (rollout !== undefined && inWave.length === 0) {
      last = waveSize(rollout, { last, total: count.total });
      wave += 1;
      inWave = left.slice(0, last);
    }
    const asked = rollout === undefined ? left : inWave;
    const context = { now: at, policies, pastDisruptions: past };
    const limit = limitOf(pool, 'Drifted', count, context);
    const granted = grantedOf(asked.slice(0, Math.max(0, limit.allowed)), { pool, count, context });
    if (granted.length === 0) {
      if (limit.changesAt === undefined) {
        const why = `${ruledByText(limit)} allows no more`;
        return { turns: batches.map((batch) => turnOf(pool, batch)), never: left.map(({ node }) => ({ node, why })) };
      }
      at = limit.changesAt;
      continue;
    }
    past.push({ nodePool: nameOf(pool), reason: 'Drifted', at, nodes: granted.length });
    const gone = new Set(granted);
    left = left.filter((each) => !gone.has(each));
    inWave = inWave.filter((each) => !gone.has(each));
    note(batches, { at, nodes: granted.map(({ node }) => node), ...(rollout && { wave }), until: at + replacementMs });
    at += replacementMs;
    if (rollout !== undefined && inWave.length === 0) at += parseDuration(rollout.soak, 'driftRollout.soak');
  }
  return { turns: batches.map((batch) => turnOf(pool, batch)), never: [] };
}

function grantedOf(
  candidates: readonly Applicant[],
  { pool, count, context }: { pool: NodePool; count: PoolCount; context: Parameters<typeof limitOf>[3] },
): readonly Applicant[] {
  const [decision] = decideAdmission([{ id: nameOf(pool), reason: 'Drifted', candidates }], {
    ...context,
    pools: new Map([[nameOf(pool), pool]]),
    counts: new Map([[nameOf(pool), count]]),
    present: new Set(candidates.map(({ uid }) => uid)),
    disrupting: new Set(),
    paused: () => undefined,
  });
  return decision?.granted ?? [];
}

function note(batches: Batch[], next: Batch): void {
  const before = batches.at(-1);
  if (before === undefined || before.until < next.at || before.wave !== next.wave) {
    batches.push(next);
    return;
  }
  before.nodes.push(...next.nodes);
  before.until = next.until;
}

const turnOf = (pool: NodePool, { at, until, nodes, wave }: Batch): DriftTurn => ({
  pool: nameOf(pool),
  ...(wave === undefined ? {} : { wave }),
  from: timestamp(at),
  until: timestamp(until),
  nodes,
});
