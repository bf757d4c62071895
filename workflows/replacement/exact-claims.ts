import { getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { CreatedClaim } from '../../activities/provisioning/contract.js';
import { workflowIds } from '../../core/ids.js';
import { counted } from '../../core/plurals.js';
import { settleAll } from '../../core/settle-all.js';
import { workflowNow } from '../clock.js';
import { tellEntity } from '../entity-signals.js';
import { AwaitedLaunches } from '../launch/awaited-launches.js';
import { beginLaunch } from '../launch/node-launch.js';
import type { Decision } from '../messages.js';
import { deletingNodesSignal } from '../messages.js';
import { activitiesOf } from '../proxies.js';
import { notify } from '../relations.js';
import type { Readiness, ReplacementSource } from './source.js';

/** What is launched, and whether `provision` has to know whose pods it is for. */
export type ExactPlan = Pick<Decision, 'replacements' | 'typeLists'> & { readonly forPods: boolean };

/**
 * Launches exactly the nodes that a decision asks for (commands/replacements-first, commands/replacements-stay) and follows them until
 * each is initialized or lost. What was launched stays, whatever becomes of the command. Build one before the first wait.
 */
export class ExactClaims implements ReplacementSource {
  plan: ExactPlan | undefined;
  private created: readonly CreatedClaim[] = [];
  private departing: readonly string[] = [];
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

  /** What was created is launched, even where the API server refused another part of it. */
  async launch({ nodes, reason, holdMs }: Parameters<ReplacementSource['launch']>[0]): Promise<string | undefined> {
    const { replacements = [], typeLists = [] } = this.plan ?? {};
    const { workflowId, firstExecutionRunId } = workflowInfo();
    const { created, refused } = await activitiesOf(this.cluster).kube.createClaims.executeWithOptions(
      { summary: `create ${counted(replacements.length, 'NodeClaim')}`, startToCloseTimeout: '5 minutes' },
      [{ planId: `${workflowId}/${firstExecutionRunId}`, claims: replacements, typeLists, reason }],
    );
    this.created = created;
    await settleAll(created, (claim) => this.begin(claim, replacements[claim.index]?.podCount ?? 0, reason));
    const [first] = refused;
    if (first !== undefined) return first.reason;
    await this.hold(nodes, holdMs);
    return undefined;
  }

  /** Tells `provision` whose pods have places waiting, so that it neither launches for them nor gives the places away. */
  async hold(nodes: readonly string[], holdMs: number): Promise<void> {
    if (this.plan?.forPods !== true || this.created.length === 0) return;
    this.departing = nodes;
    await tellEntity(this.cluster, 'provision', deletingNodesSignal, this.told(workflowNow() + holdMs));
  }

  async giveBack(): Promise<void> {
    if (this.departing.length === 0) return;
    const told = this.told(0);
    this.departing = [];
    // Nobody has to be started to forget them.
    await notify(() =>
      getExternalWorkflowHandle(workflowIds.provision(this.cluster)).signal(deletingNodesSignal, told),
    );
  }

  async awaitReady(ms: number, interrupt: () => boolean): Promise<Readiness> {
    const how = await this.launches.until({
      claims: () => this.claims,
      settled: () => this.claims.every((claim) => this.launches.outcomeOf(claim) !== undefined),
      interrupt,
      ms,
      summary: `${this.names.join(', ')} to be initialized`,
    });
    if (how === 'interrupted') return { state: how };
    if (how === 'late') {
      const within = counted(Math.round(ms / 60_000), 'minute');
      return { state: how, why: `replacements were not initialized within ${within}` };
    }
    const lost = this.claims.find((claim) => this.launches.outcomeOf(claim) !== 'initialized');
    if (lost === undefined) return { state: 'ready' };
    return { state: 'failed', why: `replacement ${lost.name} did not come up: ${this.launches.outcomeOf(lost) ?? ''}` };
  }

  private told(until: number) {
    const marks = this.created.map(({ name, resourceVersion }) => ({
      ...{ kind: 'NodeClaim' as const, name, resourceVersion },
    }));
    return { nodes: this.departing, until, marks };
  }

  private async begin({ name, uid, nodePool }: CreatedClaim, pods: number, reason: string): Promise<void> {
    await beginLaunch(
      { cluster: this.cluster, claim: { name, uid }, nodePool, notify: workflowInfo().workflowId, reason },
      { summary: `${name}: replacement for ${counted(pods, 'pod')}` },
    );
  }
}
