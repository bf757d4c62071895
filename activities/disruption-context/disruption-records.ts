import { annotations } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { inBatches } from '../../core/at-once.js';
import { listOf, number, object, oneOf, text, type Shape } from '../../core/shapes.js';
import { rememberedForMs } from '../../disruption/budgets/limits.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import { updateObject } from '../../cluster/writes.js';
import type { PastDisruption, Refused } from '../../workflows/messages.js';
import type { DisruptionRecords, DisruptionView } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { disruptionReasons } from '../../api/disruption-reasons.js';

/*
 * What `disrupt` must not forget when its workflow is lost (budgets/records): what went lately, as rates and quotas count it, and
 * what people rejected. Each NodePool keeps its part as an annotation.
 */

/** What the annotation of one NodePool holds. A refusal of nodes of several pools is in each of them. */
interface PoolRecords {
  readonly past?: readonly Omit<PastDisruption, 'nodePool'>[];
  readonly refused?: readonly Refused[];
}

/** And how often records of NodePools had been written by then: a `disrupt` that knows of fewer was reset, or comes from a backup. */
interface Kept extends PoolRecords {
  readonly version?: number;
}

/** The part of the state of `disrupt` that is recorded. */
type Known = Pick<DisruptionView, 'pastDisruptions' | 'refused' | 'recordsVersion' | 'isNew'>;

interface Cluster {
  readonly pools: readonly NodePool[];
  readonly policies: readonly DisruptionPolicy[];
  readonly now: number;
}

/** An object may have annotations of 256 KiB in all; the youngest refusals are kept. */
const mostBytes = 64 * 1024;

const reason = oneOf(...disruptionReasons);
const node = object({ claim: object({ name: text, uid: text }), node: text, nodePool: text });
const pastShape = object({ reason, at: number, nodes: number });
const refusedShape = object({ reason, nodes: listOf(node), saves: number, why: text, at: number, until: number });

/**
 * The records on the NodePools of the watch cache that `disrupt` does not know: all of them where it is new, and of one that was reset or restored
 * with Temporal those that a later state of it wrote. Undefined where it knows them. Malformed ones are ignored and logged.
 */
export function recordsOf(
  { log }: Pick<ActivityDeps, 'log'>,
  known: Known,
  cluster: Cluster,
): DisruptionRecords | undefined {
  const unknown = cluster.pools.filter((pool) => known.isNew === true || isOlder(known, pool, cluster));
  if (known.isNew !== true && unknown.length === 0) return undefined;
  const pastDisruptions: PastDisruption[] = [];
  const refusals = new Map<string, Refused>();
  for (const { metadata } of unknown) {
    const { name: nodePool = '' } = metadata;
    const { records, wrong } = parse(metadata.annotations?.[annotations.disruptionRecords]);
    for (const why of wrong) {
      log.warn({ nodePool, annotation: annotations.disruptionRecords, why }, 'a record of a NodePool is ignored');
    }
    pastDisruptions.push(...(records.past ?? []).map((each) => ({ ...each, nodePool })));
    for (const each of records.refused ?? []) refusals.set(JSON.stringify(each), each);
  }
  return {
    pastDisruptions: pastDisruptions.sort((a, b) => a.at - b.at),
    refused: [...refusals.values()].sort((a, b) => a.at - b.at),
    ...(known.isNew === true ? {} : { pools: unknown.map(({ metadata }) => metadata.name ?? '') }),
  };
}

/** Whether a later state of `disrupt` wrote the records of a NodePool: an attempt before this one wrote the same. */
function isOlder(known: Known, pool: NodePool, { policies, now }: Cluster): boolean {
  const { records, version } = keptBy(pool);
  if (version <= (known.recordsVersion ?? 0)) return false;
  return JSON.stringify(records) !== JSON.stringify(recordsFor(pool, known, policies, now));
}

/**
 * Writes what has changed to the NodePools, but for a `disrupt` that first has to take theirs over. What cannot be written is logged, and tried again
 * at the next search. Gives the version of the records.
 */
export async function writeRecords(
  { kube, log }: Pick<ActivityDeps, 'kube' | 'log'>,
  known: Known,
  {
    pools,
    policies,
    now,
    recorded,
  }: Omit<Cluster, 'pools'> & {
    readonly pools: ReadonlyMap<string, NodePool>;
    readonly recorded: DisruptionRecords | undefined;
  },
): Promise<number> {
  const all = [...pools.values()];
  const version = Math.max(known.recordsVersion ?? 0, ...all.map((pool) => keptBy(pool).version));
  if (recorded !== undefined) return version;
  const changed = all.flatMap((pool) => {
    const { name = '' } = pool.metadata;
    const wanted = recordsFor(pool, known, policies, now);
    return JSON.stringify(keptBy(pool).records) === JSON.stringify(wanted) ? [] : [{ name, wanted }];
  });
  const next = version + 1;
  await inBatches(changed, async ({ name, wanted }) => {
    const written = wanted === undefined ? null : JSON.stringify({ version: next, ...wanted } satisfies Kept);
    try {
      await updateObject(kube, 'NodePool', name, ({ metadata }) =>
        (metadata.annotations?.[annotations.disruptionRecords] ?? null) === written
          ? undefined
          : { metadata: { annotations: { [annotations.disruptionRecords]: written } } },
      );
    } catch (error) {
      log.warn({ nodePool: name, error }, 'past disruptions and rejections could not be written');
    }
  });
  return changed.length === 0 ? version : next;
}

/** What a NodePool is to keep, of what rates and quotas still count; undefined where there is nothing. */
function recordsFor(
  pool: NodePool,
  { pastDisruptions = [], refused = [] }: Known,
  policies: readonly DisruptionPolicy[],
  now: number,
): PoolRecords | undefined {
  const { name: nodePool } = pool.metadata;
  const since = now - rememberedForMs(effectivePolicyOf(pool, policies));
  const past = pastDisruptions
    .filter((one) => one.nodePool === nodePool && one.at > since)
    .map(({ reason, at, nodes }) => ({ reason, at, nodes }));
  const own = refused.filter(({ nodes }) => nodes.some((one) => one.nodePool === nodePool));
  for (let first = 0; ; first++) {
    const kept = own.slice(first);
    if (past.length + kept.length === 0) return undefined;
    const records: PoolRecords = {
      ...(past.length === 0 ? {} : { past }),
      ...(kept.length === 0 ? {} : { refused: kept }),
    };
    if (kept.length === 0 || JSON.stringify(records).length <= mostBytes) return records;
  }
}

/** What a NodePool keeps as it is written, well-formed or not. */
function keptBy({ metadata }: NodePool): { readonly records: unknown; readonly version: number } {
  const annotation = metadata.annotations?.[annotations.disruptionRecords];
  if (annotation === undefined) return { records: undefined, version: 0 };
  try {
    const { version, ...records } = Object(JSON.parse(annotation)) as Record<string, unknown>;
    return { records, version: typeof version === 'number' && Number.isSafeInteger(version) ? version : 0 };
  } catch {
    return { records: annotation, version: 0 };
  }
}

/** The well-formed records of an annotation, and what is wrong with the others. */
function parse(annotation: string | undefined): { readonly records: PoolRecords; readonly wrong: readonly string[] } {
  if (annotation === undefined) return { records: {}, wrong: [] };
  let value: unknown;
  try {
    value = JSON.parse(annotation);
  } catch (error) {
    return { records: {}, wrong: [`it is no JSON: ${(error as Error).message}`] };
  }
  const wrong: string[] = [];
  const wellFormed = <T>(field: keyof PoolRecords, shape: Shape): T[] => {
    const list = Object.getOwnPropertyDescriptor(Object(value), field)?.value as unknown;
    if (list === undefined) return [];
    if (!Array.isArray(list)) {
      wrong.push(`${field} is no list`);
      return [];
    }
    return list.filter((each, at): each is T => {
      const why = shape(each, `${field}[${at}]`);
      if (why !== undefined) wrong.push(why);
      return why === undefined;
    });
  };
  return { records: { past: wellFormed('past', pastShape), refused: wellFormed('refused', refusedShape) }, wrong };
}
