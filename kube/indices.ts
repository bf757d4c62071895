import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node, Pod } from '../api/kubernetes.js';
import { objectKey } from './kinds.js';
import type { Kind, Kinds } from './port.js';
import type { Change } from './store.js';

/** Look-ups across the cache, kept in step with every change. */
export class Indices {
  /** By `spec.providerID`. */
  readonly nodes = new Map<string, Node>();
  /** By `status.providerID`. */
  readonly nodeClaims = new Map<string, NodeClaim>();
  private readonly podsByNode = new Map<string, Map<string, Pod>>();

  podsOnNode(nodeName: string): readonly Pod[] {
    return [...(this.podsByNode.get(nodeName)?.values() ?? [])];
  }

  take(kind: Kind, change: Change<Kinds[Kind]>): void {
    const before = change.previous;
    const after = change.type === 'deleted' ? undefined : change.object;
    if (kind === 'Pod') this.takePod(before as Pod | undefined, after as Pod | undefined);
    else if (kind === 'Node') {
      move(this.nodes, before as Node | undefined, after as Node | undefined, (node) => node.spec?.providerID);
    } else if (kind === 'NodeClaim') {
      const [old, now] = [before as NodeClaim | undefined, after as NodeClaim | undefined];
      move(this.nodeClaims, old, now, (claim) => claim.status?.providerID);
    }
  }

  private takePod(before: Pod | undefined, after: Pod | undefined): void {
    const [from, to] = [before?.spec.nodeName, after?.spec.nodeName];
    if (from !== undefined && from !== to) {
      const pods = this.podsByNode.get(from);
      pods?.delete(objectKey(before!.metadata));
      if (pods?.size === 0) this.podsByNode.delete(from);
    }
    if (to === undefined) return;
    const pods = this.podsByNode.get(to) ?? new Map<string, Pod>();
    this.podsByNode.set(to, pods);
    pods.set(objectKey(after!.metadata), after!);
  }
}

function move<T extends { metadata: { name?: string } }>(
  index: Map<string, T>,
  before: T | undefined,
  after: T | undefined,
  keyOf: (object: T) => string | undefined,
): void {
  const from = before === undefined ? undefined : keyOf(before);
  const to = after === undefined ? undefined : keyOf(after);
  // A newer object may have taken the key over: a node that was deleted and joined again under another name.
  if (from !== undefined && from !== to && index.get(from)?.metadata.name === before!.metadata.name) index.delete(from);
  if (to !== undefined && to !== '') index.set(to, after!);
}
