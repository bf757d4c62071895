import type { InstanceType } from '../core/instance-type.js';
import { SharedRequirements } from '../core/shared-requirements.js';
import type { PackingInput } from '../packing/types.js';

/**
 * The cluster is sent to a packing thread object by object, each once: a later job sends new objects and the numbers of
 * the others. Objects are sent in small messages with turns of the event loop between, so that a cluster of any size
 * blocks it only briefly. Objects of the cache are immutable, so a number identifies one content.
 */

/** Maximum number of objects in one message. */
const perMessage = 200;
/** Number of objects looked up per turn of the event loop. */
const perTurn = 10_000;
/** Maximum number of instance types in one message, since they are larger. */
const typesPerMessage = 25;
/** Unused objects are dropped when they exceed this share of the used ones. */
const mostStale = 0.25;

interface ObjectsMessage {
  readonly kind: 'objects';
  /** Numbers of the objects: consecutive from `first` on. */
  readonly first: number;
  readonly objects: readonly object[];
}

interface TypesMessage {
  readonly kind: 'types';
  /** The catalogue to which these types are appended. */
  readonly catalogue: number;
  readonly types: readonly InstanceType[];
}

interface DropMessage {
  readonly kind: 'drop';
  readonly objects: Float64Array;
  readonly catalogues: readonly number[];
}

export type SnapshotMessage = ObjectsMessage | TypesMessage | DropMessage;

/** An input with its objects replaced by their numbers. */
export interface Snapshot {
  /** By field of `ClusterObjects`. */
  readonly lists: ReadonlyMap<string, Float64Array>;
  readonly catalogues: readonly (readonly [nodePool: string, catalogue: number])[];
  /** All other fields, unchanged. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** The sender's state; one for each thread. */
export class SnapshotSender {
  private readonly sent = new Map<object, number>();
  private readonly sentCatalogues = new Map<readonly InstanceType[], number>();
  private next = 0;
  private lookedUp = 0;

  constructor(
    private readonly post: (message: SnapshotMessage) => void,
    /** Resolves after a turn of the event loop. */
    private readonly turn: () => Promise<void>,
  ) {}

  /** Sends the objects that the thread lacks; returns the snapshot of the input. One call at a time. */
  async send(input: PackingInput): Promise<Snapshot> {
    const { objects, catalogues, ...rest } = input;
    const lists = new Map<string, Float64Array>();
    const used = new Set<number>();
    for (const [field, list] of Object.entries(objects) as [string, readonly object[] | undefined][]) {
      if (list !== undefined) lists.set(field, await this.sendList(list, used));
    }
    const numbers: (readonly [string, number])[] = [];
    for (const [nodePool, types] of catalogues) numbers.push([nodePool, await this.sendCatalogue(types)]);
    await this.drop(used, new Set(catalogues.values()));
    return { lists, catalogues: numbers, rest };
  }

  private async sendList(list: readonly object[], used: Set<number>): Promise<Float64Array> {
    const numbers = new Float64Array(list.length);
    let fresh: object[] = [];
    for (let i = 0; i < list.length; i++) {
      const object = list[i]!;
      let number = this.sent.get(object);
      if (number === undefined) {
        this.sent.set(object, (number = this.next++));
        fresh.push(object);
      }
      numbers[i] = number;
      used.add(number);
      if (fresh.length === perMessage) {
        this.flush(fresh);
        fresh = [];
        await this.turn();
      } else if (++this.lookedUp % perTurn === 0) {
        this.flush(fresh);
        fresh = [];
        await this.turn();
      }
    }
    this.flush(fresh);
    return numbers;
  }

  private flush(objects: readonly object[]): void {
    if (objects.length > 0) this.post({ kind: 'objects', first: this.next - objects.length, objects });
  }

  private async sendCatalogue(types: readonly InstanceType[]): Promise<number> {
    const known = this.sentCatalogues.get(types);
    if (known !== undefined) return known;
    const catalogue = this.next++;
    this.sentCatalogues.set(types, catalogue);
    for (let from = 0; from === 0 || from < types.length; from += typesPerMessage) {
      this.post({ kind: 'types', catalogue, types: types.slice(from, from + typesPerMessage) });
      await this.turn();
    }
    return catalogue;
  }

  private async drop(used: ReadonlySet<number>, catalogues: ReadonlySet<readonly InstanceType[]>): Promise<void> {
    const gone = [...this.sentCatalogues].filter(([types]) => !catalogues.has(types));
    for (const [types] of gone) this.sentCatalogues.delete(types);
    const stale: number[] = [];
    if (this.sent.size > used.size * (1 + mostStale)) {
      for (const [object, number] of this.sent) {
        if (++this.lookedUp % perTurn === 0) await this.turn();
        if (used.has(number)) continue;
        this.sent.delete(object);
        stale.push(number);
      }
    }
    if (stale.length + gone.length === 0) return;
    this.post({ kind: 'drop', objects: Float64Array.from(stale), catalogues: gone.map(([, number]) => number) });
  }
}

/** The receiver's state in the packing thread. */
export class SnapshotReceiver {
  private readonly objects = new Map<number, object>();
  private readonly catalogues = new Map<number, { types: InstanceType[]; shared: SharedRequirements }>();

  /** Number of objects held. */
  get size(): number {
    return this.objects.size;
  }

  take(message: SnapshotMessage): void {
    switch (message.kind) {
      case 'objects':
        message.objects.forEach((object, i) => this.objects.set(message.first + i, object));
        break;
      case 'types': {
        // Each message has separate copies of strings and requirements, even if equal.
        const known = this.catalogues.get(message.catalogue);
        const { types, shared } = known ?? { types: [], shared: new SharedRequirements() };
        if (known === undefined) this.catalogues.set(message.catalogue, { types, shared });
        types.push(...message.types.map((type) => shared.in(type)));
        break;
      }
      case 'drop':
        for (const number of message.objects) this.objects.delete(number);
        for (const number of message.catalogues) this.catalogues.delete(number);
    }
  }

  /** The input of a snapshot. Unchanged objects and catalogues are identical to those of the previous input. */
  restore({ lists, catalogues, rest }: Snapshot): PackingInput {
    const objects: Record<string, object[]> = {};
    for (const [field, numbers] of lists) objects[field] = Array.from(numbers, (number) => this.objects.get(number)!);
    return {
      ...rest,
      objects,
      catalogues: new Map(catalogues.map(([nodePool, number]) => [nodePool, this.catalogues.get(number)!.types])),
    } as unknown as PackingInput;
  }
}
