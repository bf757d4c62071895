import { backOffMs } from './back-off.js';

/*
 * What a NodePool remembers of pods that kube-scheduler left without a node though one was there for them: kept as an annotation on the
 * NodePool, so that every planner and every restart knows it, and people can read it (provisioning/refused-pods).
 */

/** For how long no node is launched for pods of a shape: by the number of refusals in a row. */
const backOff = { firstMs: 5 * 60_000, longestMs: 40 * 60_000 };
/** A refusal is forgotten so long after its back-off, if there was no other. */
const rememberedMs = 2 * 60 * 60_000;
const mostKept = 50;
const longestMessage = 300;
/** So many nodes of different types are launched for pods of a shape, and refused, before it rests. A type that was refused is not launched again before. */
const mostTypes = 3;
const mostNodes = 3;

export interface PodRefusal {
  /** Pods that scheduling cannot tell apart have one shape (`podShape`). */
  readonly shape: string;
  /** One of them, `namespace/name`. */
  readonly pod: string;
  /** Nodes that they did not get, the last ones. */
  readonly nodes: readonly string[];
  /** What kube-scheduler said. */
  readonly message: string;
  /** Refusals in a row. */
  readonly times: number;
  /** Milliseconds of the epoch. */
  readonly at: number;
  /** No node is launched for such pods until then, milliseconds of the epoch; not after `at` while another type may do. */
  readonly until: number;
}

/** The refusals that the annotation `text` tells; none for text that is none. */
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
        // No back-off is longer than this, whoever wrote the annotation.
        .map((refusal) => ({ ...refusal, until: Math.min(refusal.until, now + backOff.longestMs) }))
    );
  } catch {
    return [];
  }
}

/**
 * The list with one more refusal; the same list where the last one still holds, or its nodes are known. `isOther`: a node of another type would be
 * launched, which may do.
 */
export function withPodRefusal(
  list: readonly PodRefusal[],
  { isOther, ...refused }: Pick<PodRefusal, 'shape' | 'pod' | 'nodes' | 'message'> & { readonly isOther: boolean },
  now: number,
): readonly PodRefusal[] {
  const before = list.find(({ shape }) => shape === refused.shape);
  if (before !== undefined && before.until > now) return list;
  const known = before?.nodes ?? [];
  if (isOther && refused.nodes.every((node) => known.includes(node))) return list;
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
