import type { Pod } from '../../api/kubernetes.js';
import type { PodClass } from '../compile/classes.js';
import type { Profile } from '../compile/universe.js';
import { Assigner } from '../place/assigner.js';
import type { NodeState } from '../place/node-states.js';
import type { Group } from '../topology/groups.js';
import { TopologyCounts } from '../topology/topology-counts.js';
import type { Rules } from '../topology/rules.js';

/** A change of a trial that was made: how to undo it, and how to make it again. */
export interface TrialChange {
  readonly undo: () => void;
  readonly redo: () => void;
}

/** All changes of a trial, in order. */
export class Journal {
  private readonly changes: TrialChange[] = [];

  note(change: TrialChange): void {
    this.changes.push(change);
  }

  /** The current position, for `rollback`. */
  mark(): number {
    return this.changes.length;
  }

  /** Undoes everything since the mark, the last change first. Returns what was undone, for `replay`. */
  rollback(mark = 0): readonly TrialChange[] {
    const undone = this.changes.splice(mark);
    for (let i = undone.length - 1; i >= 0; i--) undone[i]!.undo();
    return undone;
  }

  /** Makes changes again from the state in which they were made. */
  replay(changes: readonly TrialChange[]): void {
    for (const change of changes) {
      change.redo();
      this.changes.push(change);
    }
  }

  clear(): void {
    this.changes.length = 0;
  }
}

/** Topology counts whose changes are recorded in a journal. */
export class JournaledTopologyCounts extends TopologyCounts {
  constructor(
    private readonly journal: Journal,
    ...base: ConstructorParameters<typeof TopologyCounts>
  ) {
    super(...base);
  }

  override addSelected(group: Group, domain: string, pods: number): void {
    this.add(pods, (more) => {
      super.addSelected(group, domain, more);
    });
  }

  override addFree(group: Group, domain: string, pods: number): void {
    this.add(pods, (more) => {
      super.addFree(group, domain, more);
    });
  }

  override addOwner(group: Group, domain: string, pods: number): void {
    this.add(pods, (more) => {
      super.addOwner(group, domain, more);
    });
  }

  override recordDaemons(profile: Profile, nodes: number): void {
    super.recordDaemons(profile, nodes);
    const count = (more: number): void => {
      this.launchedNodes += more;
    };
    this.journal.note({ undo: () => count(-nodes), redo: () => count(nodes) });
  }

  private add(pods: number, count: (more: number) => void): void {
    count(pods);
    this.journal.note({ undo: () => count(-pods), redo: () => count(pods) });
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

  constructor(
    private readonly journal: Journal,
    ...base: ConstructorParameters<typeof Assigner>
  ) {
    super(...base);
  }

  override putOn(node: NodeState, podClass: PodClass, rules: Rules, pods: readonly Pod[]): void {
    const freeBefore = node.free.slice();
    const attachedBefore = attachedOf(node);
    const lists: readonly unknown[][] = [node.pods, node.placed ?? [], node.placedWithRules ?? [], node.ports];
    const lengths = lists.map(({ length }) => length);
    super.putOn(node, podClass, rules, pods);
    const placement = { node, podClass, pods };
    this.placements.push(placement);
    const free = node.free.slice();
    const attached = attachedOf(node);
    const more = lists.map((list, i) => list.slice(lengths[i]));
    this.journal.note({
      undo: () => {
        node.free.set(freeBefore);
        lists.forEach((list, i) => (list.length = lengths[i]!));
        this.placements.pop();
        attach(node, attachedBefore);
      },
      redo: () => {
        node.free.set(free);
        lists.forEach((list, i) => list.push(...more[i]!));
        this.placements.push(placement);
        attach(node, attached);
      },
    });
  }
}

type Attached = readonly (readonly [string, ReadonlySet<string>])[] | undefined;

const attachedOf = ({ attach: own }: NodeState): Attached =>
  own && [...own.attached].map(([driver, volumes]) => [driver, new Set(volumes)]);

function attach({ attach: own }: NodeState, attached: Attached): void {
  if (own === undefined) return;
  own.attached.clear();
  for (const [driver, volumes] of attached ?? []) own.attached.set(driver, new Set(volumes));
}
