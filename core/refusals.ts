import type { NodePool } from '../api/karpenter/node-pool.js';
import type { Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { backOffMs } from './back-off.js';
import { canonicalJson, hashText } from './hash.js';
import { timeText } from './time.js';

/**
 * Records on a NodePool what was planned and then refused: NodeClaims by the API server (provisioning/refused-claims),
 * pods by kube-scheduler (provisioning/refused-pods). Kept as an annotation, so that it survives restarts and users can
 * read it.
 */

const minute = 60_000;
/** How long nothing is launched, by the number of consecutive refusals, and when a refusal expires after that. */
const limits = {
  'api-server': { firstMs: 10_000, longestMs: 2 * minute, rememberedMs: 10 * minute },
  'kube-scheduler': { firstMs: 5 * minute, longestMs: 40 * minute, rememberedMs: 120 * minute },
} as const;
const mostKept = 50;
const longestMessage = 300;
/**
 * Number of nodes of different types that are launched for pods of a shape and refused before the back-off starts. A
 * refused type is not launched again before.
 */
const mostTypes = 3;
const mostNodes = 8;

export interface Refusal {
  readonly by: keyof typeof limits;
  /** Equal for pods that scheduling cannot distinguish (`podShape`); empty: it applies to all pods. */
  readonly shape: string;
  /** One of them, `namespace/name`. */
  readonly pod: string;
  /** The last nodes on which kube-scheduler did not schedule them. */
  readonly nodes: readonly string[];
  /** What refused them says. */
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
  /** `metadata.generation` of the NodePool: a changed one is tried immediately after a refusal by the API server. */
  readonly generation: number;
}

/** A refusal to record. */
export interface Refusing extends Pick<Refusal, 'by' | 'shape' | 'pod' | 'nodes' | 'message' | 'generation'> {
  /** A node of another type would be launched, which kube-scheduler may accept. */
  readonly isOther?: boolean;
  /** A NodeClaim was created, and writes to it were then refused for minutes. */
  readonly isLasting?: boolean;
}

/** The refusals recorded on a NodePool; empty for invalid text. */
export function refusalsOn({ metadata }: Pick<NodePool, 'metadata'>, now: number): readonly Refusal[] {
  const text = metadata.annotations?.[annotations.refusals];
  if (text === undefined) return [];
  try {
    const list: unknown = JSON.parse(text);
    if (!Array.isArray(list)) return [];
    return (
      list
        .slice(0, mostKept)
        .filter(isRefusal)
        .filter(({ by, generation }) => by !== 'api-server' || generation === (metadata.generation ?? 0))
        .filter(({ by, until }) => now < until + limits[by].rememberedMs)
        // Bounded: users can write any time into the annotation.
        .map((refusal) => ({ ...refusal, until: Math.min(refusal.until, now + limits[refusal.by].longestMs) }))
    );
  } catch {
    return [];
  }
}

/** Those by the API server. */
export const claimRefusalsOn = (pool: Pick<NodePool, 'metadata'>, now: number): readonly Refusal[] =>
  refusalsOn(pool, now).filter(({ by }) => by === 'api-server');

/**
 * The list with one more refusal; the same list while one that covers it is in force, since several NodeClaims of one
 * plan count as one refusal, or if its nodes are recorded.
 */
export function withRefusal(list: readonly Refusal[], refusing: Refusing, now: number): readonly Refusal[] {
  const { isOther = false, isLasting = false, ...refused } = refusing;
  const isOfSame = ({ by, shape }: Refusal): boolean => by === refused.by && shape === refused.shape;
  const covers = (each: Refusal): boolean => isOfSame(each) || (each.by === refused.by && each.shape === '');
  if (!isLasting && list.some((each) => covers(each) && each.until > now)) return list;
  const before = list.find(isOfSame);
  const known = before?.nodes ?? [];
  // Its back-off is over, and no node was launched since: a node of a static NodePool may stay without an end.
  if (refused.nodes.length > 0 && refused.nodes.every((node) => known.includes(node))) return list;
  const times = (before?.times ?? 0) + 1;
  const backOff = limits[refused.by];
  // Only during a long back-off are the pods planned for other NodePools after a NodeClaim was created.
  const waitMs = isLasting ? backOff.longestMs : isOther && times < mostTypes ? 0 : backOffMs(times, backOff);
  const nodes = [...new Set([...known, ...refused.nodes])].slice(-mostNodes);
  const next = { ...refused, nodes, message: refused.message.slice(0, longestMessage), times, at: now };
  return [...list.filter((each) => !isOfSame(each)), { ...next, until: now + waitMs }].slice(-mostKept);
}

/** Why no NodeClaim is planned after a refusal by the API server; undefined if allowed. */
export function whyNotPlanned({ until, message }: Pick<Refusal, 'until' | 'message'>, now: number): string | undefined {
  return until <= now
    ? undefined
    : `backs off until ${timeText(until)}, because the API server refused a NodeClaim: ${message}`;
}

function isRefusal(value: unknown): value is Refusal {
  if (typeof value !== 'object' || value === null) return false;
  const { by, shape, pod, nodes, message, times, at, until, generation } = value as Partial<
    Record<keyof Refusal, unknown>
  >;
  return (
    (by === 'api-server' || by === 'kube-scheduler') &&
    Array.isArray(nodes) &&
    nodes.length <= mostNodes &&
    [shape, pod, message, ...(nodes as unknown[])].every((text) => typeof text === 'string') &&
    [times, at, until, generation].every(Number.isFinite)
  );
}

/** Labels that differ between pods of one workload. */
const ownLabels: ReadonlySet<string> = new Set([
  'statefulset.kubernetes.io/pod-name',
  'apps.kubernetes.io/pod-index',
  'batch.kubernetes.io/job-completion-index',
  'batch.kubernetes.io/controller-uid',
  'batch.kubernetes.io/job-name',
  'controller-uid',
  'job-name',
]);

/** Equal for pods that scheduling cannot distinguish. */
export function podShape({ metadata, spec }: Pod): string {
  let specText = specTexts.get(spec);
  if (specText === undefined) {
    specTexts.set(spec, (specText = canonicalJson({ ...spec, nodeName: undefined })));
  }
  const own = Object.entries(metadata.labels ?? {}).filter(([key]) => !ownLabels.has(key));
  return hashText(`${metadata.namespace ?? 'default'} ${canonicalJson(Object.fromEntries(own))} ${specText}`);
}

const specTexts = new WeakMap<Pod['spec'], string>();
