import { backOffMs } from './back-off.js';

/**
 * Records on a NodePool the pods that kube-scheduler left pending although they had a node. Kept as an annotation, so
 * that it survives restarts and users can read it (provisioning/refused-pods).
 */

/** How long no node is launched for pods of a shape, by the number of consecutive refusals. */
const backOff = { firstMs: 5 * 60_000, longestMs: 40 * 60_000 };
/** A refusal expires this long after its back-off. */
const rememberedMs = 2 * 60 * 60_000;
const mostKept = 50;
const longestMessage = 300;
/**
 * Number of nodes of different types that are launched for pods of a shape and refused before the back-off starts. A
 * refused type is not launched again before.
 */
const mostTypes = 3;
const mostNodes = 8;

export interface PodRefusal {
  /** Equal for pods that scheduling cannot distinguish (`podShape`). */
  readonly shape: string;
  /** One of them, `namespace/name`. */
  readonly pod: string;
  /** The last nodes on which they were not scheduled. */
  readonly nodes: readonly string[];
  /** The message of kube-scheduler. */
  readonly message: string;
  /** Number of consecutive refusals. */
  readonly times: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /**
   * No node is launched for such pods until then, milliseconds since the epoch; not after `at` while another type may
   * work.
   */
  readonly until: number;
}

/** The refusals in the annotation `text`; empty for invalid text. */
export function podRefusalsOf(text: string | undefined, now: number): readonly PodRefusal[] {
  if (text === undefined) return [];
  try {
    const list: unknown = JSON.parse(text);
    if (!Array.isArray(list)) return [];
    return (
      list
        .slice(0, mostKept)
        .filter(isRefusal)
        .filter(({ until }) => now < until + rememberedMs)
        // Bounded: users can write any time into the annotation.
        .map((refusal) => ({ ...refusal, until: Math.min(refusal.until, now + backOff.longestMs) }))
    );
  } catch {
    return [];
  }
}

/**
 * The list with one more refusal; the same list while the last refusal is in force, or if its nodes are recorded.
 * `isOther`: a node of another type would be launched, which may work.
 */
export function withPodRefusal(
  list: readonly PodRefusal[],
  { isOther, ...refused }: Pick<PodRefusal, 'shape' | 'pod' | 'nodes' | 'message'> & { readonly isOther: boolean },
  now: number,
): readonly PodRefusal[] {
  const before = list.find(({ shape }) => shape === refused.shape);
  if (before !== undefined && before.until > now) return list;
  const known = before?.nodes ?? [];
  // Its back-off is over, and no node was launched since: a node of a static NodePool may stay without an end.
  if (refused.nodes.every((node) => known.includes(node))) return list;
  const times = (before?.times ?? 0) + 1;
  const until = isOther && times < mostTypes ? now : now + backOffMs(times, backOff);
  const nodes = [...new Set([...known, ...refused.nodes])].slice(-mostNodes);
  const next = { ...refused, nodes, message: refused.message.slice(0, longestMessage), times, at: now, until };
  return [...list.filter(({ shape }) => shape !== refused.shape), next].slice(-mostKept);
}

function isRefusal(value: unknown): value is PodRefusal {
  if (typeof value !== 'object' || value === null) return false;
  const { shape, pod, nodes, message, times, at, until } = value as Partial<Record<keyof PodRefusal, unknown>>;
  return (
    Array.isArray(nodes) &&
    nodes.length <= mostNodes &&
    [shape, pod, message, ...(nodes as unknown[])].every((text) => typeof text === 'string') &&
    [times, at, until].every(Number.isFinite)
  );
}
