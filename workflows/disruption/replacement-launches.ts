import { condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { CreatedClaim } from '../../activities/contract.js';
import { workflowIds } from '../../core/ids.js';
import { AwaitedLaunches, lookEveryMs } from '../launch/awaited-launches.js';
import { workflowNow } from '../clock.js';
import type { Decision } from '../messages.js';
import { tellEntity } from '../entity-signals.js';
import { deletingNodesSignal } from '../messages.js';
import { beginLaunch } from '../launch/node-launch.js';
import { activitiesOf } from '../proxies.js';
import { notify } from '../relations.js';
import { counted } from '../../core/plurals.js';

/**
 * Launches exactly the nodes that a decision asks for (commands/replacements-first, commands/replacements-stay) and follows them until each is initialized or
 * lost. What was launched stays, whatever becomes of the command.
 */
export class ReplacementLaunches {
  private claims: readonly CreatedClaim[] = [];
  private readonly launches: AwaitedLaunches;

  constructor(
    private readonly cluster: string,
    private readonly reason: string,
  ) {
    this.launches = new AwaitedLaunches(cluster);
  }

  get names(): readonly string[] {
    return this.claims.map(({ name }) => name);
  }

  get created(): readonly CreatedClaim[] {
    return this.claims;
  }

  /** Gives why some were not created; they are all launched that were. */
  async create({ replacements, typeLists }: Pick<Decision, 'replacements' | 'typeLists'>): Promise<string | undefined> {
    const { workflowId, firstExecutionRunId } = workflowInfo();
    const { created, refused } = await activitiesOf(this.cluster).kube.createClaims.executeWithOptions(
      { summary: `create ${counted(replacements.length, 'NodeClaim')}`, startToCloseTimeout: '5 minutes' },
      [{ planId: `${workflowId}/${firstExecutionRunId}`, claims: replacements, typeLists, reason: this.reason }],
    );
    this.claims = created;
    await Promise.all(created.map((claim) => this.launch(claim, replacements[claim.index]?.podCount ?? 0)));
    return refused[0]?.reason;
  }

  /** Tells `provision` whose pods have places waiting, so that it neither launches for them nor gives the places away. */
  async mark(nodes: readonly string[], until: number): Promise<void> {
    const marks = this.claims.map(({ name, resourceVersion }) => ({
      kind: 'NodeClaim' as const,
      name,
      resourceVersion,
    }));
    const departing = { nodes, until, marks };
    if (until > workflowNow()) await tellEntity(this.cluster, 'provision', deletingNodesSignal, departing);
    // Nobody has to be started to forget them.
    else
      await notify(() =>
        getExternalWorkflowHandle(workflowIds.provision(this.cluster)).signal(deletingNodesSignal, departing),
      );
  }

  /** Waits until every replacement is initialized (latched): undefined then, or why they are not all there. */
  async initialized(timeoutMs: number, stopped: () => boolean): Promise<string | undefined> {
    const deadline = workflowNow() + timeoutMs;
    while (!this.isSettled()) {
      const rest = deadline - workflowNow();
      if (rest <= 0)
        return `replacements were not initialized within ${counted(Math.round(timeoutMs / 60_000), 'minute')}`;
      const summary = `${this.names.join(', ')} to be initialized`;
      const heard = await condition(() => this.isSettled() || stopped(), Math.min(rest, lookEveryMs), { summary });
      if (stopped()) return undefined;
      if (!heard) await this.launches.look(this.claims);
    }
    const lost = this.claims.find((claim) => this.launches.outcomeOf(claim) !== 'initialized');
    return lost === undefined
      ? undefined
      : `replacement ${lost.name} did not come up: ${this.launches.outcomeOf(lost) ?? ''}`;
  }

  private isSettled(): boolean {
    return this.claims.every((claim) => this.launches.outcomeOf(claim) !== undefined);
  }

  private async launch({ name, uid, nodePool }: CreatedClaim, pods: number): Promise<void> {
    const { cluster, reason } = this;
    await beginLaunch(
      { cluster, claim: { name, uid }, nodePool, notify: workflowInfo().workflowId, reason },
      { summary: `${name}: replacement for ${counted(pods, 'pod')}` },
    );
  }
}
