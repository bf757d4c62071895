import type { ClaimRef, NodeRef } from '../../workflows/messages.js';

export interface LostObjects {
  readonly claims: readonly ClaimRef[];
  /** Nodes that are being deleted and have no claim. */
  readonly nodes: readonly NodeRef[];
}

/** What could not be collected: the next collection tries again. */
export interface GarbageFailure {
  readonly object: string;
  readonly error: string;
}

export interface CollectedInstances {
  readonly terminated: readonly string[];
  readonly failed: readonly GarbageFailure[];
}

export interface CollectedObjects {
  /** Names of the deleted objects, and of Nodes whose finalizer was removed. */
  readonly claims: readonly string[];
  readonly nodes: readonly string[];
  readonly failed: readonly GarbageFailure[];
}

export interface GarbageActivities {
  /** Terminates instances without a claim. */
  collectInstances(): Promise<CollectedInstances>;
  /** Finds objects that seem to have lost their instance or NodeClaim; changes nothing. */
  findLost(): Promise<LostObjects>;
  /** Removes those objects if they are still lost; called some time after `findLost`. */
  collectLost(lost: LostObjects): Promise<CollectedObjects>;
}
