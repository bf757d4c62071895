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
import type { TagInstanceResult } from '../../cluster/tagging.js';
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
  PodExplanation,
  PodExplanationActivities,
} from '../../activities/people/contract.js';
import type { RepairActivities, RepairView } from '../../activities/repair/contract.js';
import type { ReplicasActivities, ReplicasView } from '../../activities/static-capacity/contract.js';
import type { RolloutActivities, RolloutView } from '../../activities/drift/contract.js';
import type { ExpirationView, ExpirationActivities } from '../../activities/expiration/contract.js';
import type { Candidate, ClaimRef, Pause, SlotHolder, TaintOwner } from '../../workflows/messages.js';

type NodeState = 'waiting' | 'registered' | 'initialized';
type Planned = Extract<PlanNodesResult, { state: 'planned' }>;

export const emptyPlan: Planned = {
  state: 'planned',
  claims: [],
  typeLists: [['m5.large']],
  nominated: [],
  onExistingNodes: 0,
  unschedulable: 0,
  unplacedOfDeletingNodes: 0,
  pricePerHour: 0,
  lowerBoundPerHour: 0,
  deferred: 0,
  more: false,
  nominationMs: 20_000,
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
    nodeReady: true,
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
  /** Nodes that are gone though somebody asks for their slots. */
  readonly gone = new Set<string>();
  /** Nodes that are not to go after all, and why, a look behind the taint after the other. */
  landed: Awaited<ReturnType<DisruptionActivities['confirmCandidates']>>['blocked'][] = [];
  /** The pause that the API server has, though nobody has told of it yet. */
  pausedLive: string | undefined;
  /** The pauses that keep NodeClaims when they are to be deleted, one attempt after the other. */
  pausedDeletions: string[] = [];
  /** Whether a node gets its slot. */
  admits: (node: string) => boolean = () => true;
  slotsCheckAt: number | undefined;
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
    return Promise.resolve({ state: 'unknown', why: 'nobody knows', details: [] });
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
    return Promise.resolve({
      ...{ state, ...names, reason: 'NodeNotReady', message: 'Node status is NotReady' },
      untagged: this.untagged,
    });
  }

  async failClaim(input: { claim: ClaimRef; reason: string; message: string }): Promise<void> {
    this.failed.push(input);
    return Promise.resolve();
  }

  /** One after the other; then launches work. */
  launchResults: LaunchInstanceResult[] = [];
  untagged = true;
  tagging: TagInstanceResult = { state: 'tagged' };

  async tagInstance(): Promise<TagInstanceResult> {
    return Promise.resolve(this.tagging);
  }

  async terminateInstance(): Promise<{ state: 'terminating' | 'gone' }> {
    return Promise.resolve({ state: 'terminating' });
  }

  async findInstance(): Promise<{ state: 'there' | 'gone' }> {
    return Promise.resolve({ state: 'gone' });
  }

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
    const why = unlessPaused === undefined ? undefined : this.pausedDeletions.shift();
    return Promise.resolve(why === undefined ? this.start : { state: 'paused', why });
  }

  async setDeadline(): Promise<void> {
    return Promise.resolve();
  }

  async markInstanceTerminating(): Promise<void> {
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

  async findDisruptions(): ReturnType<DisruptionActivities['findDisruptions']> {
    return Promise.resolve({ held: [], ...(this.found.shift() ?? { commands: [] }) });
  }

  async confirmCandidates(): ReturnType<DisruptionActivities['confirmCandidates']> {
    if (this.pausedLive !== undefined) return Promise.resolve({ blocked: [], paused: this.pausedLive });
    return Promise.resolve({ blocked: this.landed.shift() ?? [] });
  }

  async decideSlots({
    view,
    requests,
  }: Parameters<DisruptionActivities['decideSlots']>[0]): ReturnType<DisruptionActivities['decideSlots']> {
    const paused = view.pauses.length > 0;
    return Promise.resolve({
      decisions: requests.map(({ id, candidates }) => {
        const granted = candidates.filter(({ node }) => !paused && this.admits(node));
        const why = paused ? { why: 'paused', paused } : { why: 'budget 0 allows no more' };
        const refused = candidates
          .filter((one) => !granted.includes(one))
          .map(({ node }) => ({ node, ...why, ...(this.gone.has(node) ? { gone: true } : {}) }));
        return {
          id,
          granted,
          refused,
          ...(this.slotsCheckAt === undefined ? {} : { nextCheckAt: this.slotsCheckAt }),
        };
      }),
    });
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
  /** Why Kubernetes takes none. */
  pausesRefused: string | undefined;

  async syncPauses({
    write,
    remove,
  }: Parameters<PauseActivities['syncPauses']>[0]): ReturnType<PauseActivities['syncPauses']> {
    if (this.pausesRefused !== undefined)
      return { pauses: this.pauses, unwritten: write, unremoved: remove, why: this.pausesRefused };
    const scopes = [...remove, ...write.map(({ scope }) => scope)].map((scope) => JSON.stringify(scope));
    const left = this.pauses.filter(({ scope }) => !scopes.includes(JSON.stringify(scope)));
    this.pauses = [...left, ...write];
    return Promise.resolve({ pauses: this.pauses });
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
    candidates,
  }: {
    candidates: readonly Pick<Candidate, 'claim' | 'node'>[];
  }): ReturnType<DisruptionActivities['taintCandidates']> {
    const refused = this.overBudget.shift() ?? [];
    const marked = candidates.filter(({ node }) => !refused.includes(node)).map(({ claim }) => claim.uid);
    for (const uid of marked) this.tainted.add(uid);
    const overBudget = refused.map((node) => ({ node, why: 'budget 20% allows no more' }));
    return Promise.resolve({ tainted: marked, ...(refused.length === 0 ? {} : { overBudget }) });
  }

  async untaintCandidates({ candidates }: { candidates: readonly Pick<Candidate, 'claim' | 'node'>[] }): Promise<void> {
    for (const { claim } of candidates) this.tainted.delete(claim.uid);
    return Promise.resolve();
  }

  async steerPods({ targets }: { targets: readonly string[] }): Promise<{ steered: string[] }> {
    return Promise.resolve({ steered: targets.length === 0 ? [] : ['node-beside'] });
  }

  /** Workflows that run and have tainted nodes, though `disrupt` may not know of them. */
  owners: readonly TaintOwner[] = [];
  /** Workflows that a pause holds, as Temporal lists them. */
  held: readonly string[] = [];
  /** Workflows that may hold slots or wait for them, as Temporal lists them. */
  holders: readonly SlotHolder[] = [];

  /** Nodes whose left-over taint the next check removes. */
  released: readonly string[] = [];

  async releaseStrays(): ReturnType<DisruptionActivities['releaseStrays']> {
    const { released } = this;
    this.released = [];
    return Promise.resolve({ released, owners: this.owners, held: this.held, holders: this.holders });
  }
}

export const activityNames: readonly string[] = Object.getOwnPropertyNames(FakeActivities.prototype).filter(
  (name) => !['constructor', 'noting', 'callsOf', 'inputsOf'].includes(name),
);
