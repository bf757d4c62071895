import { getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { CreatedClaim } from '../../activities/provisioning/contract.js';
import { workflowIds } from '../../core/ids.js';
import { counted } from '../../core/text.js';
import { workflowNow } from '../clock.js';
import { signalProvision } from '../calls/entity-signals.js';
import { AwaitedLaunches } from '../launch/awaited-launches.js';
import { type Decision, deletingNodesSignal } from '../messages.js';
import { activitiesOf } from '../calls/proxies.js';
import { notify } from '../calls/other-workflows.js';
import type { Readiness, ReplacementSource } from './source.js';

/** What to launch, and whether pods are planned onto it, so that `provision` has to reserve the room. */
type ExactPlan = Pick<Decision, 'replacements' | 'typeLists'> & { readonly forPods: boolean };

/**
 * Launches exactly the NodeClaims that a decision names (commands/replacements-first, commands/replacements-stay) and
 * waits until each is initialized or has failed. Launched nodes stay, even if the command fails. Build it before the
 * first await of a workflow.
 */
export class ExactClaims implements ReplacementSource {
  plan: ExactPlan | undefined;
  private created: readonly CreatedClaim[] = [];
  /** Nodes whose pods `provision` does not plan for, because of a signal from here. */
  private reservedFor: readonly string[] = [];
  private readonly launches: AwaitedLaunches;

  constructor(private readonly cluster: string) {
    this.launches = new AwaitedLaunches(cluster);
  }

  get names(): readonly string[] {
    return this.created.map(({ name }) => name);
  }

  get claims(): readonly CreatedClaim[] {
    return this.created;
  }

  /** Launches what could be created, even if the API server refused other NodeClaims. */
  async launch({ nodes, reason, reserveMs }: Parameters<ReplacementSource['launch']>[0]): Promise<string | undefined> {
    const { replacements = [], typeLists = [] } = this.plan ?? {};
    const { workflowId, firstExecutionRunId } = workflowInfo();
    const { created, refused } = await activitiesOf(this.cluster).kube.createClaims.executeWithOptions(
      { summary: `create ${counted(replacements.length, 'NodeClaim')}`, startToCloseTimeout: '5 minutes' },
      [
        {
          planId: `${workflowId}/${firstExecutionRunId}`,
          ...{ claims: replacements, typeLists, reason },
          waiters: replacements.map(() => [workflowId]),
        },
      ],
    );
    this.created = created;
    const [first] = refused;
    if (first !== undefined) return first.reason;
    await this.reserveRoom(nodes, reserveMs);
    return undefined;
  }

  /**
   * Signals to `provision` that the pods of these nodes have their new nodes, so that it neither launches nodes for
   * them nor plans other pods onto their room.
   */
  async reserveRoom(nodes: readonly string[], reserveMs: number): Promise<void> {
    if (this.plan?.forPods !== true || this.created.length === 0) return;
    this.reservedFor = nodes;
    const deletingNodes = this.deletingNodesUntil(workflowNow() + reserveMs);
    await signalProvision(this.cluster, deletingNodesSignal, deletingNodes, 2);
  }

  async release(): Promise<void> {
    if (this.reservedFor.length === 0) return;
    const deletingNodes = this.deletingNodesUntil(0);
    this.reservedFor = [];
    // If `provision` does not run, there is nothing to revoke.
    await notify(() =>
      getExternalWorkflowHandle(workflowIds.provision(this.cluster)).signal(deletingNodesSignal, deletingNodes),
    );
  }

  async awaitReady(ms: number, interrupt: () => boolean): Promise<Readiness> {
    const how = await this.launches.until({
      claims: () => this.claims,
      settled: () => this.launches.verdict(this.claims) !== undefined,
      interrupt,
      ms,
      summary: `${this.names.join(', ')} to be initialized`,
    });
    if (how === 'interrupted') return { state: how };
    if (how === 'late') {
      const within = counted(Math.round(ms / 60_000), 'minute');
      return { state: how, why: `replacements were not initialized within ${within}` };
    }
    const why = this.launches.firstFailure(this.claims);
    return why === undefined ? { state: 'ready' } : { state: 'failed', why };
  }

  private deletingNodesUntil(until: number) {
    const marks = this.created.map(({ name, resourceVersion }) => ({
      ...{ kind: 'NodeClaim' as const, name, resourceVersion },
    }));
    return { nodes: this.reservedFor, until, marks };
  }
}
