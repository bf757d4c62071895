import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node, Pod } from '../api/kubernetes.js';
import { objectKey } from './kinds.js';
import type { Kind, Kinds } from './port.js';
import type { Change } from './store.js';

/** Look-ups across the cache, updated with every change. */
export class Indices {
  /** By `spec.providerID`. */
  readonly nodes = new NewestByKey<Node>(({ spec }) => spec?.providerID);
  /** By `status.providerID`. */
  readonly nodeClaims = new NewestByKey<NodeClaim>(({ status }) => status?.providerID);
  private readonly podsByNode = new Map<string, Map<string, Pod>>();

  podsOnNode(nodeName: string): readonly Pod[] {
    return [...(this.podsByNode.get(nodeName)?.values() ?? [])];
  }

  take(kind: Kind, change: Change<Kinds[Kind]>): void {
    const before = change.previous;
    const after = change.type === 'deleted' ? undefined : change.object;
    if (kind === 'Pod') this.takePod(before as Pod | undefined, after as Pod | undefined);
    else if (kind === 'Node') this.nodes.move(before as Node | undefined, after as Node | undefined);
    else if (kind === 'NodeClaim')
      this.nodeClaims.move(before as NodeClaim | undefined, after as NodeClaim | undefined);
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

/**
 * The most recently written object for each key. A kubelet that restarts with another name creates a second Node of one
 * instance; when that is deleted, the first is found again.
 */
class NewestByKey<T extends { readonly metadata: { readonly name?: string } }> {
  private readonly holders = new Map<string, Map<string, T>>();

  constructor(private readonly keyOf: (object: T) => string | undefined) {}

  get(key: string): T | undefined {
    return [...(this.holders.get(key)?.values() ?? [])].at(-1);
  }

  move(before: T | undefined, after: T | undefined): void {
    if (before !== undefined) this.remove(before);
    const key = after === undefined ? undefined : this.keyOf(after);
    if (after === undefined || key === undefined || key === '') return;
    const holders = this.holders.get(key) ?? new Map<string, T>();
    this.holders.set(key, holders.set(after.metadata.name ?? '', after));
  }

  private remove(object: T): void {
    const key = this.keyOf(object) ?? '';
    const holders = this.holders.get(key);
    holders?.delete(object.metadata.name ?? '');
    if (holders?.size === 0) this.holders.delete(key);
  }
}
