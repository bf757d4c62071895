import { AwsError } from './aws-error.js';
import { accountId, type EventBus } from './events.js';
import { passes, tagValues } from './filters.js';
import type { Moto } from './moto.js';
import { listOf } from './query.js';
import type { Settings } from './settings.js';
import { correctDnsName, overlays } from './instance-overlays.js';
import type { LaunchFacts } from './launch-facts.js';
import { child, element, itemsOf, setChild, textOf, type XmlElement } from './xml.js';

export type InstanceState = 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'terminated';

const stateCodes: Readonly<Record<InstanceState, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

/** The state as answers give it, under the name that it has there. */
export const stateElement = (name: string, state: InstanceState): XmlElement =>
  element(name, [element('code', stateCodes[state]), element('name', state)]);

/** Health as DescribeInstanceStatus reports it. */
export interface InstanceHealth {
  instanceStatus?: 'ok' | 'impaired' | 'initializing' | 'insufficient-data';
  systemStatus?: 'ok' | 'impaired' | 'initializing' | 'insufficient-data';
  /** ISO 8601, for both. */
  impairedSince?: string;
  events?: { code: string; description?: string; notBefore?: string }[];
}

export interface Instance {
  id: string;
  state: InstanceState;
  /** Milliseconds of the epoch. */
  launchedAt: number;
  endedAt?: number;
  facts: LaunchFacts;
  health: InstanceHealth;
  /** moto's item with the facts laid over it; its state element is written when it is described. */
  item: XmlElement;
  reservationId: string;
  tags: Map<string, string>;
  /** Rises with every change of any instance. */
  revision: number;
}

/**
 * The instances that were launched through the proxy. moto owns them: items are read from moto after each change
 * and kept, because its describe is slow with many instances. State transitions happen here, on a timer.
 */
export class Instances {
  readonly #instances = new Map<string, Instance>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Called with each instance that has ended. */
  ended: (instance: Instance) => void = () => undefined;
  #revision = 0;
  #waiters: (() => void)[] = [];

  constructor(
    private readonly moto: Moto,
    private readonly events: EventBus,
    private readonly settings: () => Settings,
    private readonly now: () => number,
    private readonly region: string,
  ) {}

  get revision(): number {
    return this.#revision;
  }

  all(): Instance[] {
    return [...this.#instances.values()];
  }

  /** The instances whose revision is above `revision`. */
  changedSince(revision: number): Instance[] {
    return this.all().filter((instance) => instance.revision > revision);
  }

  /** Resolves when any instance changes, or after `timeoutMs`. */
  async changed(timeoutMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Wakes those who wait for changes. */
  touch(): void {
    this.#revision++;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Takes charge of instances that moto has just launched. */
  async adopt(ids: readonly string[], facts: LaunchFacts): Promise<Instance[]> {
    const items = await this.#fetch(ids);
    const adopted: Instance[] = [];
    for (const [id, { item, reservationId }] of items) {
      const instance: Instance = {
        id,
        state: 'pending',
        launchedAt: this.now(),
        facts,
        health: {},
        item,
        reservationId,
        tags: new Map(),
        revision: 0,
      };
      this.#lay(instance, item);
      this.#instances.set(id, instance);
      adopted.push(instance);
      this.#enter(instance, 'pending');
      this.#after(this.settings().pendingMs, () => {
        if (instance.state === 'pending') this.#enter(instance, 'running');
      });
    }
    return adopted;
  }

  /** Reads instances from moto again, after their tags or attributes changed. Unknown ids are passed over. */
  async refresh(ids: readonly string[]): Promise<void> {
    const known = ids.filter((id) => this.#instances.has(id));
    if (known.length === 0) return;
    for (const [id, { item }] of await this.#fetch(known)) {
      const instance = this.#instances.get(id);
      if (instance === undefined) continue;
      this.#lay(instance, item);
      this.#revise(instance);
    }
  }

  /** The described instances of these ids, or throws InvalidInstanceID.NotFound naming the missing ones. */
  require(ids: readonly string[]): Instance[] {
    const missing = ids.filter((id) => !this.#isVisible(this.#instances.get(id)));
    if (missing.length > 0) {
      const [plural, verb] = missing.length > 1 ? ['s', 'do'] : ['', 'does'];
      throw new AwsError(
        'InvalidInstanceID.NotFound',
        `The instance ID${plural} '${missing.join(', ')}' ${verb} not exist`,
      );
    }
    return ids.map((id) => this.#instances.get(id)!);
  }

  get(id: string): Instance | undefined {
    return this.#instances.get(id);
  }

  find(ids: readonly string[], filters: ReadonlyMap<string, readonly string[]>): Instance[] {
    const candidates = ids.length > 0 ? this.require(ids) : this.all().filter((each) => this.#isVisible(each));
    return candidates.filter((instance) =>
      passes(filters, (name) => valuesOf(instance, name, this.#tagsSeen(instance))),
    );
  }

  /** The instance's item as DescribeInstances gives it now. */
  describe(instance: Instance): XmlElement {
    const { item, state } = instance;
    setChild(item, stateElement('instanceState', state));
    const tags = [...this.#tagsSeen(instance)];
    setChild(
      item,
      element(
        'tagSet',
        tags.map(([key, value]) => element('item', [element('key', key), element('value', value)])),
      ),
    );
    return item;
  }

  /** Starts the termination; returns each instance with its previous state. */
  terminate(instances: readonly Instance[], reason = 'Client.UserInitiatedShutdown'): Map<Instance, InstanceState> {
    const previous = new Map(instances.map((instance) => [instance, instance.state]));
    for (const instance of instances) {
      if (instance.state === 'terminated' || instance.state === 'shutting-down') continue;
      const message = reason.startsWith('Server') ? 'Server initiated' : 'User initiated';
      const at = new Date(this.now())
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z/, ' GMT');
      setChild(instance.item, element('reason', `${message} (${at})`));
      setChild(
        instance.item,
        element('stateReason', [element('code', reason), element('message', `${reason}: ${message} shutdown`)]),
      );
      this.#enter(instance, 'shutting-down');
      this.#after(this.settings().shuttingDownMs, () => this.#enter(instance, 'terminated'));
    }
    return previous;
  }

  /** Starts the stop of those that run. */
  stop(instances: readonly Instance[]): void {
    for (const instance of instances) {
      if (instance.state !== 'pending' && instance.state !== 'running') continue;
      this.#enter(instance, 'stopping');
      this.#after(this.settings().shuttingDownMs, () => {
        if (instance.state === 'stopping') this.#enter(instance, 'stopped');
      });
    }
  }

  /** The instances of a reservation that was cancelled go on without it. */
  leaveReservation(id: string): void {
    for (const instance of this.all().filter(({ facts }) => facts.capacityReservationId === id)) {
      instance.facts = { ...instance.facts, capacityReservationId: undefined };
      instance.item.children = instance.item.children.filter(({ name }) => name !== 'capacityReservationId');
      this.#revise(instance);
    }
  }

  /** Forces a state, with its event. */
  force(instance: Instance, state: InstanceState): void {
    this.#enter(instance, state);
  }

  setHealth(instance: Instance, health: InstanceHealth): void {
    instance.health = { ...instance.health, ...health };
  }

  /** Those that are terminated are not described any more, as in EC2 after an hour. */
  forgetEnded(): void {
    for (const { id, state } of this.all()) if (state === 'terminated') this.#instances.delete(id);
  }

  clear(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#instances.clear();
    this.touch();
  }

  #isVisible(instance: Instance | undefined): instance is Instance {
    if (instance === undefined) return false;
    const { terminatedMs, visibleAfterMs } = this.settings();
    if (instance.state === 'terminated' && this.now() - (instance.endedAt ?? 0) >= terminatedMs) return false;
    return this.now() - instance.launchedAt >= visibleAfterMs;
  }

  /** Tags come some time after the instance that they are of. */
  #tagsSeen({ launchedAt, tags }: Instance): ReadonlyMap<string, string> {
    const { visibleAfterMs, tagsAfterMs } = this.settings();
    return this.now() - launchedAt >= visibleAfterMs + tagsAfterMs ? tags : new Map<string, string>();
  }

  #enter(instance: Instance, state: InstanceState): void {
    if (instance.state === 'terminated') return;
    instance.state = state;
    if (state === 'terminated') {
      instance.endedAt = this.now();
      this.ended(instance);
    }
    this.#revise(instance);
    if (this.settings().stateChangeEvents) this.events.stateChanged(instance.id, state);
  }

  #revise(instance: Instance): void {
    this.touch();
    instance.revision = this.#revision;
  }

  #after(delayMs: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, delayMs);
    this.#timers.add(timer);
  }

  async #fetch(ids: readonly string[]): Promise<Map<string, { item: XmlElement; reservationId: string }>> {
    const answer = await this.moto.ec2('DescribeInstances', { InstanceId: listOf(ids) });
    const found = new Map<string, { item: XmlElement; reservationId: string }>();
    for (const reservation of itemsOf(answer, 'reservationSet')) {
      const reservationId = textOf(reservation, 'reservationId') ?? '';
      for (const item of itemsOf(reservation, 'instancesSet')) {
        found.set(textOf(item, 'instanceId') ?? '', { item, reservationId });
      }
    }
    return found;
  }

  /** Lays the facts over moto's item. */
  #lay(instance: Instance, item: XmlElement): void {
    const { facts } = instance;
    const kept = ['reason', 'stateReason']
      .map((name) => child(instance.item, name))
      .filter((each) => each !== undefined);
    instance.item = item;
    if (instance.state !== 'pending' && instance.state !== 'running') for (const each of kept) setChild(item, each);
    for (const overlay of overlays(facts, instance)) setChild(item, overlay);
    correctDnsName(item, this.region, facts);
    const tags = itemsOf(item, 'tagSet').map((tag) => [textOf(tag, 'key') ?? '', textOf(tag, 'value') ?? ''] as const);
    instance.tags = new Map([...tags, ...Object.entries(facts.systemTags ?? {})]);
  }
}

/** DescribeInstances filters by name. */
function valuesOf(instance: Instance, name: string, tags: ReadonlyMap<string, string>): readonly string[] | undefined {
  const { item } = instance;
  const one = (...path: string[]): readonly string[] => {
    const value = textOf(item, ...path);
    return value === undefined ? [] : [value];
  };
  switch (name) {
    case 'instance-state-name':
      return [instance.state];
    case 'instance-state-code':
      return [String(stateCodes[instance.state])];
    case 'reservation-id':
      return [instance.reservationId];
    case 'owner-id':
      return [accountId];
    case 'availability-zone':
      return one('placement', 'availabilityZone');
    case 'instance.group-id':
      return itemsOf(item, 'groupSet').map((group) => textOf(group, 'groupId') ?? '');
    case 'iam-instance-profile.arn':
      return one('iamInstanceProfile', 'arn');
    default: {
      const path = simpleFilters[name];
      return path === undefined ? tagValues(name, tags) : one(path);
    }
  }
}

const simpleFilters: Readonly<Record<string, string>> = {
  'instance-id': 'instanceId',
  'instance-type': 'instanceType',
  'subnet-id': 'subnetId',
  'vpc-id': 'vpcId',
  'image-id': 'imageId',
  'instance-lifecycle': 'instanceLifecycle',
  'private-dns-name': 'privateDnsName',
  'private-ip-address': 'privateIpAddress',
  'client-token': 'clientToken',
  'spot-instance-request-id': 'spotInstanceRequestId',
  'capacity-reservation-id': 'capacityReservationId',
  architecture: 'architecture',
  platform: 'platform',
};
