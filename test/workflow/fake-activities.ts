import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type {
  ClaimActivities,
  CreateClaimsInput,
  PlanNodesResult,
  PlanningActivities,
} from '../../activities/provisioning/contract.js';
import type { ClaimPlan } from '../../workflows/messages.js';
import type {
  ClaimView,
  RefusedWrite,
  CloudActivities,
  LaunchActivities,
  LaunchInstanceResult,
  NodeSync,
} from '../../activities/launch/contract.js';
import type { DisruptionActivities, DisruptionsFound } from '../../activities/disruption/contract.js';
import type {
  DrainActivities,
  DrainProgress,
  EscalationActivities,
  TerminationActivities,
  TerminationStart,
} from '../../activities/termination/contract.js';
import type { Entity, EntityActivities } from '../../activities/entities-contract.js';
import type { InstanceView, InterruptionActivities } from '../../activities/interruption/contract.js';
import type { ConsolidationActivities } from '../../activities/consolidation/contract.js';
import type {
  NodeExplanationActivities,
  PauseActivities,
  PodExplanationActivities,
} from '../../activities/people/contract.js';
import type { RepairActivities, RepairView } from '../../activities/repair/contract.js';
import type { ReplicasActivities, ReplicasView } from '../../activities/static-capacity/contract.js';
import type { RolloutActivities, RolloutView } from '../../activities/drift/contract.js';
import type { ExpirationView, ExpirationActivities } from '../../activities/expiration/contract.js';
import { pauseStops } from '../../core/pause-scope.js';
import type {
  Candidate,
  CandidateRef,
  ClaimRef,
  Pause,
  PauseScope,
  PodExplanation,
  Refused,
  RefusedNode,
} from '../../workflows/messages.js';

type NodeState = 'waiting' | 'registered' | 'initialized';
type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

export const emptyPlan: Planned = {
  state: 'planned',
  claims: [],
  typeLists: [['m5.large']],
  onExistingNodes: 0,
  unschedulable: 0,
  unplacedOfDeletingNodes: 0,
  pricePerHour: 0,
  lowerBoundPerHour: 0,
  deferred: 0,
  more: false,
};

export function claimPlan(podCount: number): ClaimPlan {
  return {
    nodePool: 'default',
    types: 0,
    requirements: [],
    labels: {},
    annotations: {},
    requests: { cpu: 1000 },
    pods: [],
    podCount,
    cheapest: { instanceType: 'm5.large', zone: 'a', capacityType: 'spot', pricePerHour: 0.1 },
    why: 'the cheapest that fits',
  };
}

const isSameScope = (a: PauseScope, b: PauseScope): boolean =>
  a.kind === b.kind && a.name === b.name && a.reason === b.reason;

/** Activities under a test's control: what each answers, and every call in order. */
/** The server's clock runs ahead of ours. */
const restsUntil = Date.parse('2100-01-01');

export class FakeActivities
  implements
    PlanningActivities,
    ClaimActivities,
    LaunchActivities,
    CloudActivities,
    TerminationActivities,
    DrainActivities,
    EscalationActivities,
    RepairActivities,
    ReplicasActivities,
    EntityActivities,
    PauseActivities,
    ExpirationActivities,
    RolloutActivities,
    InterruptionActivities,
    ConsolidationActivities,
    NodeExplanationActivities,
    PodExplanationActivities,
    DisruptionActivities
{
  readonly calls: { readonly name: string; readonly input: unknown; readonly workflowId: string }[] = [];

  view: ClaimView = { state: 'live', registered: false, initialized: false };
  refusal: { reason: 'insufficient_capacity' | 'nodeclass_not_ready'; message: string } | undefined;
  launchError: Error | undefined;
  /** How the API server refuses writes of the NodeClaim, one after the other: before its launch, and of what was launched. */
  writesRefused: RefusedWrite[] = [];
  recordsRefused: RefusedWrite[] = [];
  /** Of which NodeClaims the API server refuses the deletion, and how. */
  readonly deletionsRefused = new Map<string, string>();
  /** Waited for before an instance is launched. */
  launchGate: Promise<void> = Promise.resolve();
  /** One after the other; the last one stays. */
  nodeStates: NodeState[] = ['initialized'];
  readonly failed: { claim: ClaimRef; reason: string; message: string; refused?: boolean }[] = [];
  plans: PlanNodesResult[] = [];
  start: TerminationStart = {
    state: 'terminating',
    providerId: 'fake:///z/i-1',
    nodeName: 'node-1',
    longestGraceMs: 0,
  };
  drains: DrainProgress[] = [];
  volumes: DrainProgress[] = [];
  /** While set, a drain answers only when this resolves or it is cancelled. */
  drainGate: Promise<void> | undefined;
  /** One after the other; the last one stays. */
  health: RepairView[] = [{ state: 'healthy' }];
  reboot: Awaited<ReturnType<CloudActivities['rebootInstance']>> = { state: 'rebooting' };
  /** While true, a drain makes no headway; unlike with the gate, the server's clock may skip meanwhile. */
  stuck = false;
  /** Why claims are not created, a call after the other. */
  claimRefusals: string[] = [];
  restart: Awaited<ReturnType<EscalationActivities['restartOwners']>> | Error = { restarted: [], refused: [] };
  found: (Partial<DisruptionsFound> & Pick<DisruptionsFound, 'commands'>)[] = [];
  valid: (candidates: readonly Candidate[]) => readonly Candidate[] = (candidates) => candidates;
  /** Candidates that are gone already. */
  readonly gone = new Set<string>();
  /** Nodes that are not to go after all, and why, a look behind the taint after the other. */
  landed: Awaited<ReturnType<DisruptionActivities['confirmCandidates']>>['blocked'][] = [];
  /** The pauses that keep NodeClaims when they are to be deleted, one attempt after the other. */
  pausedDeletions: string[] = [];
  /** Whether budgets let a node go. */
  admits: (node: string) => boolean = () => true;
  /** Nodes of other disruptions. */
  alongside: readonly string[] = [];
  /** When that may change. */
  turnCheckAt: number | undefined;
  tainted = new Set<string>();
  /** Nodes that budgets allow no more when they are about to be tainted, a taint after the other. */
  overBudget: (readonly string[])[] = [];
  /** One after the other; the last one stays. */
  expiration: ExpirationView[] = [{ state: 'gone' }];
  rollout: (launched: readonly ClaimRef[]) => RolloutView = () => ({ state: 'superseded', by: 'nothing' });
  replicas: (deleting: readonly string[]) => ReplicasView = () => ({ state: 'gone', why: 'the NodePool is gone' });
  rolledBack: Awaited<ReturnType<RolloutActivities['rollBack']>> = { outcome: 'nothing', why: 'none is good' };
  instance: InstanceView = { state: 'unknown' };

  /** Tests share a server, and a workflow id is used once: UIDs are of one test. */
  private static serial = 0;
  readonly serial = ++FakeActivities.serial;

  /** Every activity, noting its calls. */
  noting(): Record<string, (input: unknown) => Promise<unknown>> {
    const own = this as unknown as Record<string, (input: unknown) => Promise<unknown>>;
    return Object.fromEntries(
      activityNames.map((name) => [
        name,
        async (input: unknown) => {
          this.calls.push({ name, input, workflowId: Context.current().info.workflowExecution?.workflowId ?? '' });
          return own[name]!.call(this, input);
        },
      ]),
    );
  }

  /** Names of the calls so far, or the calls of one name. */
  callsOf(name?: string): string[] {
    return this.calls.filter((call) => name === undefined || call.name === name).map((call) => call.name);
  }

  inputsOf<T>(name: string): T[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.input as T);
  }

  async explainPod(): Promise<PodExplanation> {
    return Promise.resolve({ state: 'unknown', why: 'no state yet', details: [] });
  }

  async planNodes(): Promise<PlanNodesResult> {
    return Promise.resolve(this.plans.shift() ?? emptyPlan);
  }

  async createClaims({ planId, claims }: CreateClaimsInput): ReturnType<ClaimActivities['createClaims']> {
    const reason = this.claimRefusals.shift();
    if (reason !== undefined) {
      const resting = claims.map(({ nodePool, pods }) => ({ nodePool, until: restsUntil, message: reason, pods }));
      return Promise.resolve({ created: [], refused: claims.map((_, index) => ({ index, reason })), resting });
    }
    return Promise.resolve({
      created: claims.map(({ nodePool }, index) => ({
        name: `${nodePool}-${planId.split('/').slice(1).join('-')}-${index}`,
        uid: `uid-${this.serial}-${planId.split('/').slice(1).join('-')}-${index}`,
        nodePool,
        resourceVersion: String(index + 1),
        index,
      })),
      refused: [],
      resting: [],
    });
  }

  async prepareClaim(): Promise<ClaimView | RefusedWrite> {
    return Promise.resolve(this.writesRefused.shift() ?? this.view);
  }

  async viewClaim(): Promise<ClaimView> {
    return Promise.resolve(this.view);
  }

  async launchInstance({ claim }: { claim: ClaimRef }): Promise<LaunchInstanceResult> {
    await this.launchGate;
    if (this.launchError !== undefined) throw this.launchError;
    const scripted = this.launchResults.shift();
    if (scripted !== undefined) return scripted;
    if (this.refusal !== undefined) return { state: 'refused', ...this.refusal };
    return {
      state: 'launched',
      instance: {
        providerId: `fake:///z/i-${claim.uid}`,
        instanceId: `i-${claim.uid}`,
        instanceType: 'm5.large',
        zone: 'a',
        capacityType: 'spot',
        labels: {},
        annotations: {},
        capacity: {},
        allocatable: {},
        unavailable: [],
      },
    };
  }

  async recordLaunch(): Promise<RefusedWrite | undefined> {
    return Promise.resolve(this.recordsRefused.shift());
  }

  async syncNode({ claim }: { claim: ClaimRef; live?: boolean }): Promise<NodeSync> {
    const state = this.nodeStates.length > 1 ? this.nodeStates.shift()! : this.nodeStates[0]!;
    if (state === 'waiting') {
      return Promise.resolve({ state, reason: 'NodeNotFound', message: 'Node not registered with cluster' });
    }
    const names = { nodeName: `node-${claim.uid}`, providerId: `fake:///z/i-${claim.uid}` };
    return Promise.resolve({ state, ...names, reason: 'NodeNotReady', message: 'Node status is NotReady' });
  }

  async failClaim(input: { claim: ClaimRef; reason: string; message: string }): Promise<void> {
    this.failed.push(input);
    return Promise.resolve();
  }

  /** One after the other; then launches work. */
  launchResults: LaunchInstanceResult[] = [];
  async inspectInstance(): Promise<InstanceView> {
    return Promise.resolve(this.instance);
  }

  async beginTermination({
    claim,
    unlessPaused,
    unlessRefused,
  }: Parameters<TerminationActivities['beginTermination']>[0]): Promise<TerminationStart> {
    const refused = unlessRefused === true ? this.deletionsRefused.get(claim.name) : undefined;
    if (refused !== undefined) return Promise.resolve({ state: 'refused', why: refused });
    const isPaused = unlessPaused !== undefined && this.isPaused(unlessPaused.reason, unlessPaused);
    const why =
      unlessPaused === undefined ? undefined : (this.pausedDeletions.shift() ?? (isPaused ? 'paused' : undefined));
    return Promise.resolve(why === undefined ? this.start : { state: 'paused', why });
  }

  async setDeadline(): Promise<void> {
    return Promise.resolve();
  }

  async finishTermination(): Promise<void> {
    return Promise.resolve();
  }

  /** When `evictDue` says that the next pod is due, one answer a call; none can wait after them. */
  readonly dueAts: number[] = [];

  evictDue(): Promise<{ evicted: number; nextAt?: number }> {
    const nextAt = this.dueAts.shift();
    return Promise.resolve({ evicted: 1, ...(nextAt === undefined ? {} : { nextAt }) });
  }

  async drainNode(): Promise<DrainProgress> {
    const next = this.drains.shift();
    if (next !== undefined) return next;
    if (this.stuck) throw ApplicationFailure.create({ message: 'stuck', nextRetryDelay: '1 minute' });
    if (this.drainGate !== undefined) {
      const beats = setInterval(() => Context.current().heartbeat(), 200);
      try {
        await Promise.race([this.drainGate, Context.current().cancelled]);
      } finally {
        clearInterval(beats);
      }
    }
    return { state: 'done', blockedBy: [], remaining: 0, evicted: 0 };
  }

  async inspectRepair(): Promise<RepairView> {
    return Promise.resolve(this.health.length > 1 ? this.health.shift()! : this.health[0]!);
  }

  async countRepair(): Promise<void> {
    return Promise.resolve();
  }

  async rebootInstance(): ReturnType<CloudActivities['rebootInstance']> {
    return Promise.resolve(this.reboot);
  }

  async notifyStuckDrain(): Promise<void> {
    return Promise.resolve();
  }

  async restartOwners(): ReturnType<EscalationActivities['restartOwners']> {
    if (this.restart instanceof Error) throw this.restart;
    return Promise.resolve(this.restart);
  }

  async awaitVolumesDetached(): Promise<DrainProgress> {
    return Promise.resolve(this.volumes.shift() ?? { state: 'done', blockedBy: [], remaining: 0, evicted: 0 });
  }

  async findDisruptions({
    leftOvers,
  }: Parameters<DisruptionActivities['findDisruptions']>[0]): ReturnType<DisruptionActivities['findDisruptions']> {
    const { released } = this;
    if (leftOvers !== undefined) this.released = [];
    const removed = leftOvers === undefined ? {} : { released, ended: this.ended.splice(0) };
    return Promise.resolve({ held: [], ...(this.found.shift() ?? { commands: [] }), ...removed });
  }

  async confirmCandidates({
    reason,
    candidates,
  }: Parameters<DisruptionActivities['confirmCandidates']>[0]): ReturnType<DisruptionActivities['confirmCandidates']> {
    const paused = candidates.some((one) => this.isPaused(reason, one)) ? { paused: 'paused' } : {};
    return Promise.resolve({ blocked: this.landed.shift() ?? [], ...paused });
  }

  async viewReplicas({ deleting }: { deleting: readonly string[] }): Promise<ReplicasView> {
    return Promise.resolve(this.replicas(deleting));
  }

  async viewRollout({ launched }: { launched: readonly ClaimRef[] }): Promise<RolloutView> {
    return Promise.resolve(this.rollout(launched));
  }

  async markGood(): Promise<void> {
    return Promise.resolve();
  }

  async noteStopped(): Promise<void> {
    return Promise.resolve();
  }

  async rollBack(): ReturnType<RolloutActivities['rollBack']> {
    return Promise.resolve(this.rolledBack);
  }

  /** Starts an entity in place of the worker's Temporal client. */
  onEnsureEntity: (entity: Entity) => Promise<void> = () => Promise.resolve();

  async ensureEntity({ entity }: { entity: Entity }): Promise<void> {
    await this.onEnsureEntity(entity);
  }
  /** DisruptionPauses, as Kubernetes has them. */
  pauses: readonly Pause[] = [];

  async writePause(pause: Pause): Promise<readonly Pause[]> {
    if (pause.scope.kind === 'nodePool' && pause.scope.name === 'nowhere')
      throw ApplicationFailure.nonRetryable('there is no NodePool "nowhere"', 'UnknownScope');
    this.pauses = [...this.pauses.filter(({ scope }) => !isSameScope(scope, pause.scope)), pause];
    return Promise.resolve(this.pauses);
  }

  async endPause({ scope }: Parameters<PauseActivities['endPause']>[0]): Promise<readonly Pause[]> {
    const left = this.pauses.filter((pause) => !isSameScope(pause.scope, scope));
    if (left.length === this.pauses.length) throw ApplicationFailure.nonRetryable('it is not paused', 'NotPaused');
    this.pauses = left;
    return Promise.resolve(left);
  }

  async findPause({ reason, candidates }: Parameters<PauseActivities['findPause']>[0]): Promise<string | null> {
    return Promise.resolve(candidates.some((one) => this.isPaused(reason, one)) ? 'paused' : null);
  }

  private isPaused(reason: string, one: Pick<CandidateRef, 'node'> & { readonly nodePool?: string }): boolean {
    return this.pauses.some(({ scope }) => pauseStops(scope, reason, { node: one.node, nodePool: one.nodePool ?? '' }));
  }

  /** Refusals that NodePools have. */
  refusals: readonly Refused[] = [];

  async noteQuestion(): Promise<void> {
    return Promise.resolve();
  }

  async noteRefused({ outcome, ...refused }: Parameters<DisruptionActivities['noteRefused']>[0]): Promise<void> {
    this.refusals = [...this.refusals, { ...refused, at: 0, until: outcome === 'rejected' ? 1 : 0 }];
    return Promise.resolve();
  }

  async reconsider(): Promise<readonly Refused[]> {
    if (this.refusals.length === 0)
      throw ApplicationFailure.nonRetryable('nothing is refused for node-1', 'NothingRefused');
    this.refusals = [];
    return Promise.resolve([]);
  }

  async declineExpiration(): Promise<void> {
    return Promise.resolve();
  }
  async declineRepair(): Promise<void> {
    return Promise.resolve();
  }
  async viewExpiration(): Promise<ExpirationView> {
    return Promise.resolve(this.expiration.length > 1 ? this.expiration.shift()! : this.expiration[0]!);
  }

  async publishDisruption(): Promise<void> {
    return Promise.resolve();
  }

  async measureCommand({
    command,
    afterMs,
  }: Parameters<ConsolidationActivities['measureCommand']>[0]): ReturnType<ConsolidationActivities['measureCommand']> {
    const predicted = command.priceBefore - command.priceAfter;
    const none = { running: 0, gone: 0, launchedSince: 0, launchedSincePerHour: 0 };
    return Promise.resolve({ at: '2026-01-05T12:00:00.000Z', afterMs, predicted, realised: predicted, ...none });
  }

  async explainNode({ node }: { node: string }): ReturnType<NodeExplanationActivities['explainNode']> {
    return Promise.resolve({ node, verdict: 'stays', why: 'it is not empty', at: '2026-01-05T12:00:00.000Z' });
  }

  async validateCandidates({
    candidates,
  }: {
    candidates: readonly Candidate[];
  }): ReturnType<DisruptionActivities['validateCandidates']> {
    const valid = this.valid(candidates);
    const dropped = candidates.filter((one) => !valid.includes(one)).map(({ node }) => ({ node, why: 'churn' }));
    return Promise.resolve({ valid, dropped });
  }

  async taintCandidates({
    reason,
    candidates,
    together = false,
    method,
  }: Parameters<DisruptionActivities['taintCandidates']>[0]): ReturnType<DisruptionActivities['taintCandidates']> {
    const full = this.overBudget.shift() ?? [];
    const refused = candidates.flatMap((one): RefusedNode[] => {
      const { node } = one;
      if (this.gone.has(node)) return [{ node, why: 'it is gone', for: 'Gone' }];
      if (this.isPaused(reason, one)) return [{ node, why: 'paused', for: 'Pause' }];
      if (full.includes(node) || !this.admits(node)) return [{ node, why: 'budget 20% allows no more', for: 'Budget' }];
      return [];
    });
    const landed = method === undefined ? [] : (this.landed.shift() ?? []);
    refused.push(...landed.map((one) => ({ ...one, for: 'Pods' as const })));
    const isRefused = (node: string): boolean => refused.some((one) => one.node === node);
    const marked = together && refused.length > landed.length ? [] : candidates.filter(({ node }) => !isRefused(node));
    for (const { claim } of marked) this.tainted.add(claim.uid);
    return Promise.resolve({
      tainted: marked.map(({ claim }) => claim.uid),
      ...(refused.length === 0 ? {} : { refused }),
      ...(this.alongside.length === 0 ? {} : { alongside: this.alongside }),
      ...(this.turnCheckAt === undefined ? {} : { nextCheckAt: this.turnCheckAt }),
    });
  }

  async untaintCandidates({ candidates }: { candidates: readonly Pick<Candidate, 'claim' | 'node'>[] }): Promise<void> {
    for (const { claim } of candidates) this.tainted.delete(claim.uid);
    return Promise.resolve();
  }

  async steerPods(): Promise<void> {
    return Promise.resolve();
  }

  /** Nodes whose left-over taint the next check removes. */
  released: readonly string[] = [];
  /** Commands that have ended without a word. */
  readonly ended: string[] = [];
}

export const activityNames: readonly string[] = Object.getOwnPropertyNames(FakeActivities.prototype).filter(
  (name) => !['constructor', 'noting', 'callsOf', 'inputsOf', 'isPaused'].includes(name),
);
