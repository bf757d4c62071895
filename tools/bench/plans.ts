import { checkPlan } from '../../test/checker/check.js';
import type { PlanJson, Violation } from '../../test/checker/types.js';
import type { CaseFiles } from './case-files.js';
import type { Peer } from './peer.js';
import { stowagePlan } from './stowage.js';
import type { Piece } from './without.js';

/** One plan, judged. */
export interface Judged {
  readonly placed: number;
  readonly nodes: number;
  readonly price: number;
  readonly violations: readonly Violation[];
  /** The share of the preferences' weight that is kept; undefined without preferences. */
  readonly preferencesKept: number | undefined;
  /** Whether spread holds only if kube-scheduler binds the pods in a certain order. */
  readonly needsOrder: boolean;
}

interface Comparable {
  readonly price: number;
  readonly valid: boolean;
  readonly needsOrder: boolean;
}

export interface PlanResult {
  readonly kind: string;
  readonly size: number;
  readonly seed: number;
  /** The checker's own bound on what the pods that Stowage placed must cost. */
  readonly lowerBound: number;
  readonly stowage?: Judged & {
    readonly coldMs: number;
    readonly warmMs: number;
    readonly wallMs: number;
    readonly maxRssMb: number | undefined;
    /** The bounds that the plan states: for any plan for the same pods, and for those that keep the same preferences on at most as many nodes. */
    readonly statedBound: number | undefined;
    readonly comparableBound: number | undefined;
  };
  readonly karpenter?: { readonly runs: readonly (Judged & { readonly ms: number })[]; readonly maxRssMb: number };
  /** Karpenter's cheapest run among those that place the same pods as Stowage. */
  readonly comparable?: Comparable;
  /** What is wrong with Stowage's side of it, each in a line. */
  readonly problems: readonly string[];
  /** Why an engine gave nothing. */
  readonly failed: { readonly stowage?: string; readonly karpenter?: string };
}

export interface PlanOptions {
  readonly repeats: number;
  /** Fresh processes, the median of whose first solves counts. */
  readonly coldRepeats: number;
  readonly warmRepeats: number;
  readonly timeoutMs: number;
  readonly peerTimeoutMs: number;
  /** Karpenter takes too long beyond so many pods. */
  readonly peerMaxPods: number;
  /** Pieces of the search that do nothing. */
  readonly without: readonly Piece[];
}

/** Has both engines plan for one case and judges what they say. */
export async function measurePlans(
  peer: Peer | undefined,
  files: CaseFiles,
  options: PlanOptions,
): Promise<PlanResult> {
  const ours = await stowagePlan(files.objects, files.catalogue, options);
  const theirs =
    peer === undefined || files.size > options.peerMaxPods
      ? 'not run'
      : await peer.solve(files.objects, files.catalogue, options.repeats, options.peerTimeoutMs);
  const { kind, size, seed } = files;
  const plans = typeof theirs === 'string' ? [] : theirs;
  const runs = plans.map((plan) => ({ ...judge(files, plan).judged, ms: plan.solveMs[0] ?? NaN }));
  const base = {
    kind,
    size,
    seed,
    ...(runs.length > 0 && { karpenter: { runs, maxRssMb: plans[0]?.maxRssMb ?? NaN } }),
    failed: {
      ...(typeof ours === 'string' && { stowage: ours }),
      ...(typeof theirs === 'string' && { karpenter: theirs }),
    },
  };
  if (typeof ours === 'string') return { ...base, lowerBound: 0, problems: [`no plan: ${ours}`] };
  const { judged, lowerBound } = judge(files, ours.plan);
  const { plan, coldMs, warmMs, wallMs, maxRssMb } = ours;
  const comparableBound = plan.comparableLowerBoundPerHour;
  const statedBound = plan.lowerBoundPerHour;
  const stowage = { ...judged, coldMs, warmMs, wallMs, maxRssMb, statedBound, comparableBound };
  const comparable = compare(plan, plans, runs);
  const inAnyOrder = compare(plan, plans, runs, ({ needsOrder }) => !needsOrder);
  const problems = [...problemsOf(stowage, lowerBound, runs, inAnyOrder), ...refuted(plan, comparable)];
  return { ...base, lowerBound, stowage, ...(comparable && { comparable }), problems };
}

function judge(files: CaseFiles, plan: PlanJson): { judged: Judged; lowerBound: number } {
  const verdict = checkPlan(files.list, files.entries, plan);
  const { asked, kept } = verdict.preferences;
  return {
    lowerBound: verdict.lowerBound,
    judged: {
      placed: verdict.placedPods,
      nodes: verdict.newNodes,
      price: plan.pricePerHour,
      violations: verdict.violations,
      preferencesKept: asked > 0 ? kept / asked : undefined,
      needsOrder: verdict.needsOrder(),
    },
  };
}

const placedPods = (plan: PlanJson): Set<string> =>
  new Set([...plan.newNodeClaims, ...plan.existingNodes].flatMap((entry) => entry.pods));

/** The cheapest of those plans that place the same pods, and that `suits` accepts. */
function compare(
  ours: PlanJson,
  theirs: readonly PlanJson[],
  judged: readonly Judged[],
  suits: (plan: Judged) => boolean = () => true,
): Comparable | undefined {
  const mine = placedPods(ours);
  let best: Comparable | undefined;
  theirs.forEach((plan, i) => {
    const pods = placedPods(plan);
    if (pods.size !== mine.size || ![...pods].every((pod) => mine.has(pod))) return;
    const { violations, needsOrder } = judged[i]!;
    if (!suits(judged[i]!)) return;
    if (best !== undefined && plan.pricePerHour >= best.price) return;
    best = { price: plan.pricePerHour, valid: violations.length === 0, needsOrder };
  });
  return best;
}

/** A stated bound that a valid plan for the same pods goes below is none. */
function refuted(ours: PlanJson, comparable: Comparable | undefined): string[] {
  const stated = ours.lowerBoundPerHour;
  if (stated === undefined || comparable?.valid !== true || stated <= comparable.price * (1 + 1e-6)) return [];
  return [
    `bound refuted: states that nothing costs less than ${stated}, Karpenter's valid plan costs ${comparable.price}`,
  ];
}

const cent = 1e-6;

const isDearer = (ours: Pick<Judged, 'price'>, theirs: Comparable): boolean => ours.price > theirs.price + cent;

function dearerText(ours: Pick<Judged, 'price'>, theirs: Comparable): string {
  const percent = ((ours.price / theirs.price - 1) * 100).toFixed(1);
  const validity = theirs.valid ? 'valid' : 'invalid';
  return `${ours.price.toFixed(4)} against ${theirs.price.toFixed(4)} (+${percent}%, their plan is ${validity})`;
}

/** Where Karpenter's cheapest plan costs less, but leaves pods pending unless kube-scheduler binds them in a certain order. */
export function orderNote({ stowage, comparable }: PlanResult): string | undefined {
  if (stowage === undefined || comparable?.needsOrder !== true || !isDearer(stowage, comparable)) return undefined;
  return `cheaper only in a certain order of binding: ${dearerText(stowage, comparable)}`;
}

function problemsOf(
  ours: Judged,
  lowerBound: number,
  theirs: readonly Judged[],
  comparable: Comparable | undefined,
): string[] {
  const problems = ours.violations
    .slice(0, 5)
    .map(({ rule, node, pod, message }) =>
      [`violation ${rule}`, node, pod, message].filter((part) => part !== undefined).join(' | '),
    );
  if (ours.violations.length > 5) problems.push(`... ${ours.violations.length} violations in all`);
  const most = Math.max(0, ...theirs.filter(({ violations }) => violations.length === 0).map(({ placed }) => placed));
  if (ours.placed < most) problems.push(`fewer pods: ${ours.placed} where a valid plan of Karpenter's places ${most}`);
  if (comparable !== undefined && isDearer(ours, comparable)) problems.push(`dearer: ${dearerText(ours, comparable)}`);
  if (ours.violations.length === 0 && ours.price < lowerBound * (1 - 1e-6) - cent) {
    problems.push(`below the lower bound: ${ours.price} < ${lowerBound} (a fault of the checker?)`);
  }
  return problems;
}
