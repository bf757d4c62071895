import { annotations, labels } from '../../../api/labels.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { NodePool } from '../../../api/karpenter/node-pool.js';
import type { Node } from '../../../api/kubernetes.js';
import type { DisruptionPolicy, DisruptionPolicySpec } from '../../../api/stowage/disruption-policy.js';
import { isDisruptedByChoice, reasonOf } from './by-choice.js';
import type { SimulatedCluster } from './world.js';

const minuteMs = 60_000;
/** A state of this age is known to every process, also to a slow watch, and no earlier decision is still carried out. */
const heardMs = 25 * minuteMs;
/** From a decision to the mark on its NodeClaims, with calls that fail and are tried again. */
const slackMs = 5 * minuteMs;

interface Mark {
  readonly pool: string;
  /** A node whose taint is removed and written again is disrupted once. */
  readonly uid: string;
  readonly at: number;
}

/**
 * Holds voluntary disruptions to what people have set and left alone for a while: DisruptionPolicies, how NodePools consolidate, and
 * nodes that must not be disrupted. It reads a watch of the cluster alone.
 */
export class RulesWatch {
  /** When something that rules was last changed, by its kind and name, milliseconds of the epoch. */
  private readonly changes = new Map<string, { readonly at: number; readonly is: string }>();
  private policiesChangedAt = 0;
  private marks: Mark[] = [];
  private excusedUntil = 0;

  constructor(
    private readonly cluster: Pick<SimulatedCluster, 'cache'>,
    private readonly broken: (problem: string) => void,
  ) {
    const { cache } = cluster;
    cache.on('DisruptionPolicy', () => (this.policiesChangedAt = Date.now()));
    cache.on('NodePool', ({ object }) => this.noteChange(`NodePool ${nameOf(object)}`, consolidationOf(object)));
    cache.on('Node', ({ object }) => this.noteChange(`Node ${nameOf(object)}`, String(isLeftAlone(object))));
    cache.on('NodeClaim', ({ type, object, previous }) => {
      const isNew = isDisruptedByChoice(object) && (previous === undefined || !isDisruptedByChoice(previous));
      if (type !== 'deleted' && isNew) this.judge(object);
    });
  }

  /** Decisions may be based on an earlier state, or ordered by a person. */
  excuse(): void {
    this.excusedUntil = Date.now() + heardMs;
  }

  private noteChange(what: string, is: string): void {
    if (this.changes.get(what)?.is !== is) this.changes.set(what, { at: Date.now(), is });
  }

  private hasLasted(what: string): boolean {
    const since = this.changes.get(what)?.at ?? Number.POSITIVE_INFINITY;
    return Date.now() - since >= heardMs;
  }

  private judge(claim: NodeClaim): void {
    const pool = claim.metadata.labels?.[labels.nodePool] ?? '';
    const now = Date.now();
    const uid = claim.metadata.uid ?? '';
    const others = this.marks.filter((mark) => mark.uid !== uid);
    const lately = others.filter((mark) => mark.pool === pool);
    this.marks = [...others.filter(({ at }) => now - at < heardMs), { pool, uid, at: now }];
    if (now < this.excusedUntil) return;
    const reason = reasonOf(claim) ?? '';
    for (const rule of [...this.byNode(claim), ...this.byPool(pool, reason), ...this.byPolicy(reason, lately)]) {
      this.broken(`NodeClaim ${nameOf(claim)} is disrupted for ${reason}, though ${rule}`);
    }
  }

  private *byNode({ status }: NodeClaim): Iterable<string> {
    const name = status?.nodeName ?? '';
    const node = this.cluster.cache.get('Node', { name });
    if (node !== undefined && isLeftAlone(node) && this.hasLasted(`Node ${name}`)) yield 'its Node is do-not-disrupt';
  }

  private *byPool(name: string, reason: string): Iterable<string> {
    const pool = this.cluster.cache.get('NodePool', { name });
    if (pool === undefined || !this.hasLasted(`NodePool ${name}`)) return;
    const { consolidateAfter, consolidationPolicy } = pool.spec.disruption;
    if (reason === 'Drifted') return;
    if (consolidateAfter === 'Never') yield 'its NodePool never consolidates';
    if (consolidationPolicy === 'WhenEmpty' && reason === 'Underutilized') yield 'its NodePool consolidates when empty';
  }

  private *byPolicy(reason: string, lately: readonly Mark[]): Iterable<string> {
    const spec = this.ruling()?.spec;
    if (spec === undefined) return;
    const now = Date.now();
    if (spec.mode === 'Recommend') yield 'its DisruptionPolicy only recommends';
    if (spec.approval?.find(isAbout(reason))?.onTimeout === 'Reject') yield 'it was not approved';
    const inTenMinutes = lately.filter(({ at }) => now - at < 10 * minuteMs - slackMs).length + 1;
    if (spec.rates !== undefined && inTenMinutes > 2) yield `its DisruptionPolicy allows two in ten minutes`;
    if (spec.maintenanceWindows === undefined) return;
    const sinceHit = now % (20 * minuteMs);
    if (sinceHit > 5 * minuteMs + slackMs) yield 'no maintenance window is open';
    if (lately.some(({ at }) => now - at <= sinceHit)) yield 'the quota of the maintenance window is spent';
  }

  /** The policy of all NodePools, unless policies have changed lately: here none has a selector or a weight. */
  private ruling(): { readonly spec: DisruptionPolicySpec } | undefined {
    if (Date.now() - this.policiesChangedAt < heardMs) return undefined;
    return [...this.cluster.cache.all('DisruptionPolicy')].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))[0];
  }
}

const nameOf = ({ metadata }: NodeClaim | NodePool | Node | DisruptionPolicy): string => metadata.name ?? '';

const isAbout =
  (reason: string) =>
  ({ reasons }: { readonly reasons?: readonly string[] | undefined }): boolean =>
    reasons?.includes(reason) !== false;

const consolidationOf = ({ spec }: NodePool): string =>
  `${spec.disruption.consolidateAfter} ${spec.disruption.consolidationPolicy}`;

const isLeftAlone = ({ metadata }: Node): boolean => metadata.annotations?.[annotations.doNotDisrupt] === 'true';
