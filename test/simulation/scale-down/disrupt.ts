import type { DisruptionCommand } from '../../../disruption/command.js';
import type { DisruptionView } from '../../../activities/disruption-context/contract.js';
import { DisruptionFinder } from '../../../activities/disruption/find-disruptions.js';
import { isTrue } from '../../../core/conditions.js';
import { workflowIds } from '../../../core/ids.js';
import type { NodeMemory, RunningDisruption } from '../../../workflows/messages.js';
import { remember } from '../../../workflows/disruption/command-memory.js';
import { Flag } from './clock.js';
import { carryOut, goingOf } from './consolidation.js';
import type { Provision } from './provision.js';
import type { World } from './world.js';

const settleMs = 1000;
const slowPollMs = 5 * 60_000;

/** What the moves of a run came to. */
export interface Moves {
  /** Decisions that were carried out, and those that were not. */
  done: number;
  abandoned: number;
}

/** `disrupt`: looks for what may go and starts it, with the real search, patience, budgets and memory. */
export class Disrupt {
  readonly changed = new Flag();
  readonly moves: Moves = { done: 0, abandoned: 0 };
  private readonly finder: DisruptionFinder;
  private running: readonly RunningDisruption[] = [];
  private memory: readonly NodeMemory[] = [];

  constructor(
    private readonly world: World,
    private readonly provision: () => Provision,
  ) {
    this.finder = new DisruptionFinder(world.deps);
    world.cache.on('Node', ({ type }) => {
      if (type !== 'modified') this.changed.set();
    });
    world.cache.on('NodeClaim', ({ object, previous }) => {
      const is = isTrue(object.status?.conditions, 'Initialized');
      if (previous !== undefined && is !== isTrue(previous.status?.conditions, 'Initialized')) this.changed.set();
    });
  }

  async follow(): Promise<never> {
    const { clock } = this.world;
    for (let wakeAt = 0; ;) {
      await this.changed.within(clock, Math.max(settleMs, wakeAt - clock.now));
      await clock.sleep(settleMs);
      this.changed.clear();
      const found = await this.finder.find(this.view());
      for (const command of found.commands) void this.start(command);
      if (found.again === true) this.changed.set();
      wakeAt = Math.min(found.nextCheckAt ?? Infinity, clock.now + slowPollMs);
    }
  }

  private view(): DisruptionView {
    return { commands: this.running, memory: this.memory };
  }

  private async start(command: DisruptionCommand): Promise<void> {
    const { world } = this;
    const { reason, candidates, decision } = command;
    const since = world.clock.now;
    const workflowId = workflowIds.consolidate(
      'simulated',
      candidates.map(({ claim }) => claim.uid),
    );
    this.running = [...this.running, { workflowId, reason, candidates: goingOf(command), since }];
    world.say(`decided ${textOf(command)}`);
    const finished = await carryOut({ world, provision: this.provision() }, workflowId, command);
    this.moves[finished.outcome === 'done' ? 'done' : 'abandoned'] += 1;
    this.running = this.running.filter((each) => each.workflowId !== workflowId);
    this.memory = remember(this.memory, finished, { reason, candidates: goingOf(command) }, world.clock.now);
    if (finished.outcome === 'done')
      world.say(`done with ${candidates.map(({ node }) => node).join(', ')} (${decision?.podCount ?? 0} pods)`);
    this.changed.set();
  }
}

function textOf({ candidates, decision }: DisruptionCommand): string {
  const gone = candidates.map(({ instanceType, pricePerHour }) => `${instanceType} (${pricePerHour.toFixed(2)})`);
  const come = decision?.replacements.map(({ cheapest }) => cheapest.instanceType) ?? [];
  const saves = (decision?.priceBefore ?? 0) - (decision?.priceAfter ?? 0);
  return `${decision?.method ?? ''} ${gone.join(' + ')} -> ${come.join(' + ') || 'nothing'}, ${decision?.podCount ?? 0} pods, saves ${saves.toFixed(2)}`;
}
