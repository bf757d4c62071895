import { digestOf } from '../../core/hash.js';
import { isReschedulable } from '../../core/pods.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { nodeNameOf } from '../../cluster/cluster.js';
import type { NodeWait } from '../disruption-context/node-waits.js';
import { fullName } from '../../core/names.js';

const skipMs = 5 * 60_000;
/** How long a node is skipped whose pods wait for another node to come up. */
const unreadySkipMs = 5_000;

/** Why the pods of a node have no place, and whether that may change soon. */
export interface NoPlace {
  readonly why: string;
  readonly soon: boolean;
}

interface SkippedNode extends NoPlace {
  readonly node: string;
  readonly until: number;
  /** A digest of what the result depends on, except other nodes and their pods, which change all the time. */
  readonly dependsOn: string;
}

/** The time of a search. `launches`: a fingerprint of what can be launched. */
interface Moment {
  readonly launches: string;
  readonly now: number;
}

/** Pods that need another place when the node goes. */
export const movablePods = ({ pods }: NodeView): NodeView['pods'] => pods.filter(isReschedulable);

/**
 * Drifted nodes whose pods have no place, by the UID of their NodeClaim. They are skipped for a while, so that searches
 * get to other nodes, but only as long as the nodes that can be launched and their own pods stay the same
 * (drift/oldest-first).
 */
export class SkippedNodes {
  private readonly nodes = new Map<string, SkippedNode>();

  get isEmpty(): boolean {
    return this.nodes.size === 0;
  }

  /** Waits of the skipped nodes, which `whyNotCandidate` does not know. */
  get waits(): readonly NodeWait[] {
    return [...this.nodes.values()].map(({ node, why, soon }) =>
      soon
        ? { node, verdict: 'may go', what: `it has drifted, and waits: ${why}` }
        : { node, verdict: 'stays', what: `it has drifted: ${why}` },
    );
  }

  /** The nodes that are not skipped now. */
  without(views: readonly NodeView[], moment: Moment): readonly NodeView[] {
    for (const view of views) {
      const known = this.nodes.get(uidOf(view));
      const isOver = known !== undefined && (known.until <= moment.now || known.dependsOn !== dependsOn(view, moment));
      if (isOver) this.nodes.delete(uidOf(view));
    }
    return views.filter((view) => !this.nodes.has(uidOf(view)));
  }

  /** Forgets all nodes but these. */
  keepOnly(views: readonly NodeView[]): void {
    const kept = new Set(views.map(uidOf));
    for (const uid of this.nodes.keys()) if (!kept.has(uid)) this.nodes.delete(uid);
  }

  /** Skips a node from now on. Returns until when, milliseconds of the epoch. */
  add(view: NodeView, noPlace: NoPlace, moment: Moment): number {
    const until = moment.now + (noPlace.soon ? unreadySkipMs : skipMs);
    this.nodes.set(uidOf(view), { ...noPlace, node: nodeNameOf(view), until, dependsOn: dependsOn(view, moment) });
    return until;
  }
}

const uidOf = ({ claim }: NodeView): string => claim.metadata.uid ?? '';

const dependsOn = (view: NodeView, { launches }: Moment): string =>
  digestOf([launches, movablePods(view).map(fullName).sort()]);
