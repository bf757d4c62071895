import type { NodePool } from '../api/karpenter/node-pool.js';
import { annotations } from '../api/labels.js';
import { disruptionReasons, type DisruptionReason } from '../api/disruption-reasons.js';
import { lookUp } from '../core/own.js';
import { listOf, number, object, oneOf, text, type Shape } from '../core/shapes.js';
import type { Refused } from '../workflows/messages.js';
import type { PastDisruption } from '../disruption/budgets/limits/past-disruptions.js';

/** A node that a workflow disrupts. */
export interface Disrupting {
  /** Of its NodeClaim. */
  readonly uid: string;
  /** Id of the workflow. */
  readonly owner: string;
  readonly reason: DisruptionReason;
  /** Milliseconds of the epoch. */
  readonly at: number;
}

/**
 * Records of disruptions in an annotation of each NodePool (budgets/records): nodes being disrupted, past disruptions that
 * rates and quotas count, and disruptions that people refused. A refusal about nodes of several pools is in each of them.
 */
export interface PoolRecords {
  readonly disrupting: readonly Disrupting[];
  readonly past: readonly Omit<PastDisruption, 'nodePool'>[];
  readonly refused: readonly Refused[];
}

/** An object may have annotations of 256 KiB in all. */
const mostBytes = 200 * 1024;
/** The newest refusals are kept within this size. */
const mostBytesOfRefused = 48 * 1024;

const reason = oneOf(...disruptionReasons);
const node = object({ claim: object({ name: text, uid: text }), node: text, nodePool: text });
const shapes: Readonly<Record<keyof PoolRecords, Shape>> = {
  disrupting: object({ uid: text, owner: text, reason, at: number }),
  past: object({ reason, at: number, nodes: number }),
  refused: object({ reason, nodes: listOf(node), saves: number, why: text, at: number, until: number }),
};

/** The well-formed records of a NodePool, and what is wrong with the others. */
export function recordsOf({ metadata }: Pick<NodePool, 'metadata'>): {
  readonly records: PoolRecords;
  readonly wrong: readonly string[];
} {
  const wrong: string[] = [];
  const value = parsed(metadata.annotations?.[annotations.disruptionRecords], wrong);
  const wellFormed = <Field extends keyof PoolRecords>(field: Field): readonly PoolRecords[Field][number][] => {
    const list = lookUp(value, field);
    if (list === undefined) return [];
    if (!Array.isArray(list)) {
      wrong.push(`${field} is no list`);
      return [];
    }
    return list.filter((each, at): each is PoolRecords[Field][number] => {
      const why = shapes[field](each, `${field}[${at}]`);
      if (why !== undefined) wrong.push(why);
      return why === undefined;
    });
  };
  return {
    records: { disrupting: wellFormed('disrupting'), past: wellFormed('past'), refused: wellFormed('refused') },
    wrong,
  };
}

function parsed(annotation: string | undefined, wrong: string[]): Readonly<Record<string, unknown>> {
  if (annotation === undefined) return {};
  try {
    return Object(JSON.parse(annotation)) as Record<string, unknown>;
  } catch (error) {
    wrong.push(`it is not valid JSON: ${(error as Error).message}`);
    return {};
  }
}

/** The annotation for these records; null for none. Undefined if the nodes being disrupted exceed its size. */
export function recordsText({ disrupting, past, refused }: PoolRecords): string | null | undefined {
  let kept = refused;
  while (JSON.stringify(kept).length > mostBytesOfRefused) kept = kept.slice(1);
  const lists = Object.entries({ disrupting, past, refused: kept }).filter(([, list]) => list.length > 0);
  if (lists.length === 0) return null;
  const written = JSON.stringify(Object.fromEntries(lists));
  return written.length > mostBytes ? undefined : written;
}

/** The disruptions that rates and quotas count: past and running ones. */
export function pastOf(
  nodePool: string,
  { past, disrupting }: PoolRecords,
  without: ReadonlySet<string> = new Set(),
): readonly PastDisruption[] {
  const going = disrupting.filter(({ uid }) => !without.has(uid)).map(({ reason, at }) => ({ reason, at, nodes: 1 }));
  return [...past, ...going].map((each) => ({ ...each, nodePool }));
}
