import { annotations } from '../../api/labels.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { DisruptionPolicy } from '../../api/stowage/disruption-policy.js';
import { inBatches } from '../../core/in-batches.js';
import { listOf, number, object, oneOf, text, type Shape } from '../../core/shapes.js';
import { rememberedForMs } from '../../disruption/budgets/limits.js';
import { effectivePolicyOf } from '../../disruption/policies/effective-policy.js';
import { updateObject } from '../../cluster/writes.js';
import type { PastDisruption, Refused } from '../../workflows/messages.js';
import type { DisruptionRecords } from './contract.js';
import type { ActivityDeps } from '../deps.js';
import { disruptionReasons } from '../../api/disruption-reasons.js';

/*
 * What `disrupt` must not forget when its workflow is lost (budgets/records): what went lately, as rates and quotas count it, and
 * what people turned down. Each NodePool keeps its part as an annotation.
 */

/** What the annotation of one NodePool holds. A refusal of nodes of several pools is in each of them. */
interface PoolRecords {
  readonly past?: readonly Omit<PastDisruption, 'nodePool'>[];
  readonly refused?: readonly Refused[];
}

/** An object may have annotations of 256 KiB in all; the youngest refusals are kept. */
const mostBytes = 64 * 1024;

const reason = oneOf(...disruptionReasons);
const node = object({ claim: object({ name: text, uid: text }), node: text, nodePool: text });
const pastShape = object({ reason, at: number, nodes: number });
const refusedShape = object({ reason, nodes: listOf(node), saves: number, why: text, at: number, until: number });

/** The records on the NodePools of the watch cache. Malformed ones are ignored and logged. */
export function recordsOf({ log }: Pick<ActivityDeps, 'log'>, pools: readonly NodePool[]): DisruptionRecords {
  const pastDisruptions: PastDisruption[] = [];
  const refusals = new Map<string, Refused>();
  for (const { metadata } of pools) {
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
  };
}

/** Writes what has changed to the NodePools. What cannot be written is logged, and tried again at the next search. */
export async function writeRecords(
  { kube, log }: Pick<ActivityDeps, 'kube' | 'log'>,
  records: DisruptionRecords,
  of: { readonly pools: readonly NodePool[]; readonly policies: readonly DisruptionPolicy[]; readonly now: number },
): Promise<void> {
  const changed = of.pools.flatMap((pool) => {
    const { name = '', annotations: present } = pool.metadata;
    const wanted = textOf(name, records, of.now - rememberedForMs(effectivePolicyOf(pool, of.policies)));
    return present?.[annotations.disruptionRecords] === wanted ? [] : [{ name, wanted }];
  });
  await inBatches(changed, async ({ name, wanted }) => {
    try {
      await updateObject(kube, 'NodePool', name, ({ metadata }) =>
        metadata.annotations?.[annotations.disruptionRecords] === wanted
          ? undefined
          : { metadata: { annotations: { [annotations.disruptionRecords]: wanted ?? null } } },
      );
    } catch (error) {
      log.warn({ nodePool: name, error }, 'what went lately and what people turned down could not be written');
    }
  });
}

/** The annotation of a NodePool; undefined where there is nothing to keep. `since`: what went before counts no more. */
function textOf(nodePool: string, { pastDisruptions, refused }: DisruptionRecords, since: number): string | undefined {
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
    const written = JSON.stringify(records);
    if (written.length <= mostBytes || kept.length === 0) return written;
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
