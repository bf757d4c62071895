import { join } from 'node:path';
import { checkPlan } from '../../test/checker/check.js';
import type { PlanJson } from '../../test/checker/types.js';
import { writeCase } from './case-files.js';
import { type ConsolidationResult, measureConsolidations } from './consolidations.js';
import type { Case } from '../../test/cases/index.js';
import { kwokPods, scaledDown } from '../../test/cases/kwok.js';
import type { Peer } from './peer.js';
import { stowagePlan } from './stowage.js';

/** What is left of the replicas. */
const share = 0.7;

/** Each Deployment begins with so many replicas and ends with so many: the measurement that the KWOK provider's users make. */
export const replicas = { before: 500, after: 500 * share };

interface Timeouts {
  readonly timeoutMs: number;
  readonly peerTimeoutMs: number;
}

/**
 * The 1,000-pod Deployments of the KWOK provider, scaled down to 700: each engine's own plan of the 1,000 pods is a cluster to
 * begin with, and both consolidate it. `bound` is the least that any fleet for the 700 pods can cost, by resources alone.
 */
export async function measureScaleDown(
  peer: Peer | undefined,
  folder: string,
  { size, seed }: { size: number; seed: number },
  timeouts: Timeouts,
): Promise<{ results: ConsolidationResult[]; bound: number }> {
  const pending = kwokPods(size);
  const files = writeCase(join(folder, `kwok-${size}`), pending);
  const results: ConsolidationResult[] = [];
  for (const [engine, plan] of await plansOf(peer, files, timeouts)) {
    const made = scaledDown(pending, plan, share, seed);
    const kind = `kwok by ${engine}`;
    const written = writeCase(join(folder, `kwok-${size}-${engine}`), made);
    const caseFiles = { kind, size, seed, ...written, list: { items: made.objects }, entries: made.catalogue };
    results.push(await measureConsolidations(peer, caseFiles, timeouts));
  }
  return { results, bound: boundOf(pending) };
}

async function plansOf(
  peer: Peer | undefined,
  { objects, catalogue }: { objects: string; catalogue: string },
  { timeoutMs, peerTimeoutMs }: Timeouts,
): Promise<[string, PlanJson][]> {
  const own = await stowagePlan(objects, catalogue, { warmRepeats: 1, timeoutMs });
  if (typeof own === 'string') throw new Error(`no plan of Stowage: ${own}`);
  const plans: [string, PlanJson][] = [['stowage', own.plan]];
  if (peer === undefined) return plans;
  const theirs = await peer.solve(objects, catalogue, 1, peerTimeoutMs);
  if (typeof theirs === 'string') throw new Error(`no plan of Karpenter: ${theirs}`);
  return [...plans, ['karpenter', theirs[0]!]];
}

/** For the pods that are left, as if every node could be filled to the last byte. */
export function boundOf({ objects, catalogue }: Case): number {
  const pods = objects.filter(({ kind }) => kind === 'Pod');
  const left = pods.filter((_, i) => i % (pods.length / 2) < (pods.length / 2) * share);
  const items = [...objects.filter(({ kind }) => kind !== 'Pod'), ...left];
  const nothing: PlanJson = {
    engine: 'none',
    newNodeClaims: [],
    existingNodes: [],
    unschedulable: [],
    pricePerHour: 0,
  };
  const all = { ...nothing, newNodeClaims: [{ nodePool: 'default', pods: left.map(nameOf), instanceTypes: [] }] };
  return checkPlan({ items }, catalogue, all).lowerBound;
}

const nameOf = ({ metadata }: Case['objects'][number]): string => `default/${metadata.name ?? ''}`;
