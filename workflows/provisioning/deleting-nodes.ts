import type { DeletingNodes, NodeUntil, ReplacementRequest } from '../messages.js';

/**
 * Nodes that are about to be removed: `provision` plans as if they were gone, until a time or until that is revoked.
 */
export class DeletingNodeList {
  private nodes: NodeUntil[];

  constructor(carried: readonly NodeUntil[]) {
    this.nodes = [...carried];
  }

  get all(): readonly NodeUntil[] {
    return this.nodes;
  }

  /** Names of the nodes, sorted. */
  get names(): readonly string[] {
    return [...new Set(this.nodes.map(({ node }) => node))].sort();
  }

  /**
   * Takes in a signal, which replaces earlier signals for the same nodes and request. An `until` in the past only
   * revokes those.
   */
  take({ nodes, until, request, every = false }: DeletingNodes, now: number): void {
    const isReplaced = (held: NodeUntil): boolean => nodes.includes(held.node) && (every || held.request === request);
    this.nodes = this.nodes.filter((held) => !isReplaced(held));
    if (until > now) this.nodes.push(...nodes.map((node) => ({ node, until })));
  }

  /** Adds the nodes of replacement requests, and drops those whose time has passed. */
  reserve(requests: readonly ReplacementRequest[], now: number): void {
    this.nodes = this.nodes.filter(({ until }) => until > now);
    for (const { id, nodes, holdMs } of requests) {
      this.nodes = this.nodes.filter(({ request }) => request !== id);
      for (const node of nodes) this.nodes.push({ node, until: now + holdMs, request: id });
    }
  }
}
