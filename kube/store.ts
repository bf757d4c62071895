import { compareVersions, objectKey } from './kinds.js';
import type { Kind, Kinds, ObjectRef } from './port.js';
import { hasOwn, lookUp } from '../core/own.js';
import type { NodeClaim } from '../api/karpenter/node-claim.js';
import type { Node, Pod } from '../api/kubernetes.js';
import { annotations } from '../api/labels.js';
import { nameOf } from '../core/names.js';

/** Look-ups across the cache, updated with every change. */
export class Indices {
  /** By `spec.providerID`. */
  readonly nodes = new NewestByKey<Node>(({ spec }) => spec?.providerID);
  /** By `status.providerID`. */
  readonly nodeClaims = new NewestByKey<NodeClaim>(({ status }) => status?.providerID);
  private readonly podsByNode = new Map<string, Map<string, Pod>>();
  private readonly claimsByPod = new Map<string, Set<string>>();

  /** Names of the NodeClaims whose annotation lists the pod (`namespace/name`). */
  plannedFor(pod: string): readonly string[] {
    return [...(this.claimsByPod.get(pod) ?? [])];
  }

  podsOnNode(nodeName: string): readonly Pod[] {
    return [...(this.podsByNode.get(nodeName)?.values() ?? [])];
  }

  take(kind: Kind, change: Change<Kinds[Kind]>): void {
    const before = change.previous;
    const after = change.type === 'deleted' ? undefined : change.object;
    if (kind === 'Pod') this.takePod(before as Pod | undefined, after as Pod | undefined);
    else if (kind === 'Node') this.nodes.move(before as Node | undefined, after as Node | undefined);
    else if (kind === 'NodeClaim') this.takeClaim(before as NodeClaim | undefined, after as NodeClaim | undefined);
  }

  private takeClaim(before: NodeClaim | undefined, after: NodeClaim | undefined): void {
    this.nodeClaims.move(before, after);
    const [from, to] = [plannedText(before), plannedText(after)];
    if (before !== undefined && after !== undefined && from === to) return;
    for (const pod of from.split(',')) {
      const claims = this.claimsByPod.get(pod);
      claims?.delete(before?.metadata.name ?? '');
      if (claims?.size === 0) this.claimsByPod.delete(pod);
    }
    if (to === '') return;
    for (const pod of to.split(',')) {
      const claims = this.claimsByPod.get(pod) ?? new Set<string>();
      this.claimsByPod.set(pod, claims.add(after?.metadata.name ?? ''));
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

const plannedText = (claim: NodeClaim | undefined): string =>
  claim?.metadata.annotations?.[annotations.plannedPods] ?? '';

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
    this.holders.set(key, holders.set(nameOf(after), after));
  }

  private remove(object: T): void {
    const key = this.keyOf(object) ?? '';
    const holders = this.holders.get(key);
    holders?.delete(nameOf(object));
    if (holders?.size === 0) this.holders.delete(key);
  }
}

/** `refreshed`: an object with a new resource version whose kept fields are unchanged. */
export interface Change<T> {
  readonly type: 'added' | 'modified' | 'refreshed' | 'deleted';
  /** For a deletion its last state. */
  readonly object: T;
  readonly previous?: T;
}

/** The objects of one kind as of one resource version. */
export class Store<K extends Kind> {
  private readonly objects = new Map<string, Kinds[K]>();
  private snapshot: readonly Kinds[K][] | undefined;
  /** The version of the newest list or event. Writes up to it are included. */
  version = '';

  get(ref: ObjectRef): Kinds[K] | undefined {
    return this.objects.get(objectKey(ref));
  }

  /** Returns the same array until something changes. */
  all(): readonly Kinds[K][] {
    this.snapshot ??= [...this.objects.values()];
    return this.snapshot;
  }

  /** One change, or two if another object now has the name. */
  put(object: Kinds[K]): Change<Kinds[K]>[] {
    const key = objectKey(object.metadata);
    const previous = this.objects.get(key);
    this.objects.set(key, object);
    this.snapshot = undefined;
    this.advance(object.metadata.resourceVersion);
    if (previous === undefined) return [{ type: 'added', object }];
    if (previous.metadata.uid !== object.metadata.uid) {
      return [
        { type: 'deleted', object: previous, previous },
        { type: 'added', object },
      ];
    }
    return [{ type: sameButVersion(previous, object) ? 'refreshed' : 'modified', object, previous }];
  }

  /** Empty if the object was not in the store. */
  remove(object: Kinds[K]): Change<Kinds[K]>[] {
    const key = objectKey(object.metadata);
    const previous = this.objects.get(key);
    this.advance(object.metadata.resourceVersion);
    if (previous === undefined) return [];
    this.objects.delete(key);
    this.snapshot = undefined;
    return [{ type: 'deleted', object, previous }];
  }

  /** Replaces all objects by a list; returns the changes, deletions first. */
  replace(items: readonly Kinds[K][], resourceVersion: string): Change<Kinds[K]>[] {
    const listed = new Set(items.map((item) => objectKey(item.metadata)));
    const changes: Change<Kinds[K]>[] = [];
    for (const [key, object] of this.objects) {
      if (listed.has(key)) continue;
      this.objects.delete(key);
      changes.push({ type: 'deleted', object, previous: object });
    }
    for (const item of items) changes.push(...this.put(item));
    this.snapshot = undefined;
    this.version = resourceVersion;
    return changes;
  }

  advance(resourceVersion: string | undefined): void {
    if (resourceVersion !== undefined && compareVersions(resourceVersion, this.version) > 0) {
      this.version = resourceVersion;
    }
  }
}

/** Deep equality that ignores `metadata.resourceVersion`; fast for shared parts. */
function sameButVersion(a: { metadata: object }, b: { metadata: object }): boolean {
  return same({ ...a, metadata: withoutVersion(a.metadata) }, { ...b, metadata: withoutVersion(b.metadata) });
}

function withoutVersion(metadata: object): object {
  return { ...metadata, resourceVersion: undefined };
}

function same(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) =>
      hasOwn(b, key) && same(lookUp(a as Record<string, unknown>, key), lookUp(b as Record<string, unknown>, key)),
  );
}

/** Called for each change of a kind. */
export type ChangeHandler<T> = (change: { type: 'added' | 'modified' | 'deleted'; object: T; previous?: T }) => void;

/** The handlers of changes, by kind. An exception in one affects neither the cache nor other handlers. */
export class ChangeHandlers {
  private readonly byKind = new Map<Kind, Set<ChangeHandler<Kinds[Kind]>>>();

  constructor(private readonly onFault: (kind: Kind, error: Error) => void) {}

  /** Calls the handler for the existing objects, as added. Returns a function that removes it. */
  add<K extends Kind>(kind: K, handler: ChangeHandler<Kinds[K]>, present: readonly Kinds[K][] = []): () => void {
    const handlers = this.byKind.get(kind) ?? new Set();
    this.byKind.set(kind, handlers);
    // Wrapped, so that a handler that is added twice is called twice, and each can be removed.
    const own: ChangeHandler<Kinds[Kind]> = (change) => {
      (handler as unknown as ChangeHandler<Kinds[Kind]>)(change);
    };
    handlers.add(own);
    for (const object of present) this.call(kind, own, { type: 'added', object });
    return () => {
      handlers.delete(own);
    };
  }

  notify(kind: Kind, { type, object, previous }: Change<Kinds[Kind]>): void {
    if (type === 'refreshed') return;
    for (const handler of [...(this.byKind.get(kind) ?? [])]) {
      this.call(kind, handler, { type, object, ...(previous === undefined ? {} : { previous }) });
    }
  }

  private call(
    kind: Kind,
    handler: ChangeHandler<Kinds[Kind]>,
    change: Parameters<ChangeHandler<Kinds[Kind]>>[0],
  ): void {
    try {
      handler(change);
    } catch (error) {
      this.onFault(kind, error as Error);
    }
  }
}
