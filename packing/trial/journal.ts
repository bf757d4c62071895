import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Profile } from '../compile/universe.js';
import { Assigner } from '../place/assigner.js';
import type { NodeState } from '../place/node-states.js';
import type { Group } from '../topology/groups.js';
import { TopologyCounts } from '../topology/topology-counts.js';
import type { Rules } from '../topology/rules.js';

/** The undo steps of a trial, run in reverse order. */
export class Journal {
  private readonly undos: (() => void)[] = [];

  note(undo: () => void): void {
    this.undos.push(undo);
  }

  /** The current position, for `rollback`. */
  mark(): number {
    return this.undos.length;
  }

  /** Undoes everything since the mark; everything if no mark is given. */
  rollback(mark = 0): void {
    while (this.undos.length > mark) this.undos.pop()!();
  }

  clear(): void {
    this.undos.length = 0;
  }
}

/** Topology counts whose changes are recorded in a journal. */
export class JournaledTopologyCounts extends TopologyCounts {
  journal: Journal | undefined;

  override addSelected(group: Group, domain: string, pods: number): void {
    super.addSelected(group, domain, pods);
    this.journal?.note(() => {
      super.addSelected(group, domain, -pods);
    });
  }

  override addFree(group: Group, domain: string, pods: number): void {
    super.addFree(group, domain, pods);
    this.journal?.note(() => {
      super.addFree(group, domain, -pods);
    });
  }

  override addOwner(group: Group, domain: string, pods: number): void {
    super.addOwner(group, domain, pods);
    this.journal?.note(() => {
      super.addOwner(group, domain, -pods);
    });
  }

  override recordDaemons(profile: Profile, nodes: number): void {
    super.recordDaemons(profile, nodes);
    this.journal?.note(() => {
      this.launchedNodes -= nodes;
    });
  }
}

/** Pods placed on a node. */
export interface NodePlacement {
  readonly node: NodeState;
  readonly podClass: PodClass;
  readonly pods: readonly Pod[];
}

/** Places pods as a plan does, and records where they are placed and how to undo that. */
export class JournaledAssigner extends Assigner {
  readonly placements: NodePlacement[] = [];
  journal: Journal | undefined;

  override putOn(node: NodeState, podClass: PodClass, rules: Rules, pods: readonly Pod[]): void {
    const free = node.free.slice();
    const podsBefore = node.pods.length;
    const placedBefore = node.placed?.length ?? 0;
    const placedWithRulesBefore = node.placedWithRules?.length ?? 0;
    const portsBefore = node.ports.length;
    const attached = node.attach === undefined ? undefined : [...node.attach.attached].map(copyEntry);
    super.putOn(node, podClass, rules, pods);
    this.placements.push({ node, podClass, pods });
    this.journal?.note(() => {
      node.free.set(free);
      node.pods.length = podsBefore;
      node.placed?.splice(placedBefore);
      node.placedWithRules?.splice(placedWithRulesBefore);
      node.ports.length = portsBefore;
      this.placements.pop();
      if (attached === undefined) return;
      node.attach!.attached.clear();
      for (const [driver, volumes] of attached) node.attach!.attached.set(driver, volumes);
    });
  }
}

const copyEntry = ([driver, volumes]: [string, Set<string>]): [string, Set<string>] => [driver, new Set(volumes)];
