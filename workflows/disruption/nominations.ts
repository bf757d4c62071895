import type { NodeUntil } from '../messages.js';

/** Nodes that pods are nominated to, and until when (provisioning/nominated-nodes). */
export class Nominations {
  constructor(private nodes: readonly NodeUntil[] = []) {}

  get all(): readonly NodeUntil[] {
    return this.nodes;
  }

  take(nodes: readonly NodeUntil[]): void {
    const fresh = new Set(nodes.map(({ node }) => node));
    this.nodes = [...this.nodes.filter(({ node }) => !fresh.has(node)), ...nodes];
  }

  expire(now: number): void {
    this.nodes = this.nodes.filter(({ until }) => until > now);
  }
}
