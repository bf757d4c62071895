import { claimPlans } from '../../../activities/provisioning/claim-plans.js';
import { createClaimActivities } from '../../../activities/provisioning/claims.js';
import { managedPools, unlaunchedClaims } from '../../../cluster/cluster.js';
import { packingInput } from '../../../cluster/packing-input.js';
import { lacksNode } from '../../../cluster/awaited-nodes.js';
import { notePlannedPods } from '../../../cluster/planned-pods.js';
import { launch } from './nodes.js';
import type { World } from './world.js';
import type { Flag } from './clock.js';

const window = { idleMs: 1000, maxMs: 10_000 };
const mostNames = 2000;

/** `provision`: launches nodes for pods that fit nowhere, a batch at a time. */
export class Provision {
  /** Nodes on their way out whose pods have places waiting. */
  readonly deleting = new Set<string>();
  /** Claims that were made for pods, not in place of nodes. */
  launched = 0;
  private batches = 0;

  constructor(
    private readonly world: World,
    private readonly refused: Flag,
  ) {}

  async follow(): Promise<never> {
    for (;;) {
      await this.refused.next();
      await this.fillWindow();
      await this.batch();
    }
  }

  private async fillWindow(): Promise<void> {
    const { clock } = this.world;
    const closesAt = clock.now + window.maxMs;
    do {
      this.refused.clear();
      await this.refused.within(clock, Math.min(window.idleMs, closesAt - clock.now));
    } while (this.refused.isSet && clock.now < closesAt);
    this.refused.clear();
  }

  private async batch(): Promise<void> {
    const { clock, deps } = this.world;
    while (unlaunchedClaims(deps).length > 0) await clock.sleep(250);
    if (!deps.cache.all('Pod').some((pod) => lacksNode(deps, pod)) && this.deleting.size === 0) return;
    const plan = await deps.packer.plan(await packingInput(deps, managedPools(deps), [...this.deleting]));
    await notePlannedPods(deps, plan);
    const { claims, typeLists } = claimPlans(plan.newNodeClaims, mostNames);
    if (claims.length === 0) return;
    this.launched += claims.length;
    this.batches += 1;
    const planId = `simulated/${this.batches}/0`;
    const { created } = await createClaimActivities(deps).createClaims({
      planId,
      claims,
      typeLists,
      reason: 'provisioned',
    });
    this.world.say(`launched for pods: ${claims.map(({ cheapest }) => cheapest.instanceType).join(', ')}`);
    for (const { name } of created) void launch(this.world, name);
  }
}
