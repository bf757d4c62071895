import { DomainError } from '../../../core/failures.js';
import type { InstanceType } from '../../../core/instance-type.js';
import {
  allocatableOf,
  launchOptions,
  pinnedLabels,
  pinnedValue,
  type LaunchOption,
} from '../../../core/launch-options.js';
import { parseResources } from '../../../core/quantities.js';
import { err, ok, type Result } from '../../../core/result.js';
import { labels } from '../../../api/labels.js';
import { FakeReservations, type FakeReservation } from './reservations.js';
import type {
  CloudInstance,
  CloudProvider,
  EndedInstance,
  LaunchedInstance,
  LaunchRefusal,
  LaunchRequest,
  NodeClass,
  UnavailableOffering,
} from '../../../cloud/port.js';
import type { InterruptionNotice } from '../../../core/interruption-kinds.js';

/** The calls that tests can disturb. */
export type FakeCall =
  | 'instanceTypes'
  | 'launch'
  | 'get'
  | 'whyEnded'
  | 'list'
  | 'terminate'
  | 'rebootInstance'
  | 'tag'
  | 'resolveNodeClass';

/** Which offerings; an absent field means any. */
export interface OfferingPattern {
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: string;
}

export interface FakeCloudOptions {
  readonly types: readonly InstanceType[];
  /** Milliseconds of the epoch; default: always 0. */
  readonly now?: () => number;
  readonly nodeClassKind?: { readonly group: string; readonly kind: string };
  readonly wellKnownLabels?: readonly string[];
  /** `false`: a terminated instance stays `shutting-down` until `finishTermination`. Default true. */
  readonly terminatesAtOnce?: boolean;
}

interface FakeInstance extends CloudInstance {
  readonly token: string;
  readonly claimUid: string;
}

/**
 * An in-memory cloud for tests, under the same contract as the real ones (test/contracts/cloud.ts). It launches the cheapest
 * offering that a claim allows, once per client token. Tests make it run out of capacity, fail, lose answers or wait.
 */
export class FakeCloud implements CloudProvider {
  readonly name = 'fake';
  readonly nodeClassKind: { readonly group: string; readonly kind: string };
  readonly wellKnownLabels: readonly string[];
  /** How many instances were launched for each claim UID: anything above 1 breaks `invariants/one-instance`. */
  readonly launchesByClaimUid = new Map<string, number>();
  /** All of them. */
  launches = 0;
  /** Every call in order, for assertions. */
  readonly calls: { readonly call: FakeCall; readonly subject: string }[] = [];
  /** Called after an instance came to be; simulated kubelets hook in here. */
  onLaunch: (instance: LaunchedInstance, request: LaunchRequest) => void = () => undefined;
  /** Called once an instance is gone. */
  onGone: (providerId: string) => void = () => undefined;
  /** Called when an instance begins to end, where that takes time. */
  onShuttingDown: (providerId: string) => void = () => undefined;

  private readonly instances = new Map<string, FakeInstance>();
  private readonly ended = new Map<string, EndedInstance>();
  private readonly launched = new Map<string, LaunchedInstance>();
  private types: readonly InstanceType[];
  private readonly exhausted: OfferingPattern[] = [];
  private readonly unavailable: UnavailableOffering[] = [];
  private readonly failures: { call: FakeCall; error: Error; afterEffect: boolean; times: number }[] = [];
  private readonly gates = new Map<FakeCall, Promise<void>>();
  /** What `instanceTypes` gave last, for what was refused then: the same for as long as that is. */
  private shownTypes: { readonly key: string; readonly types: readonly InstanceType[] } | undefined;
  private readonly notReady = new Map<string, string>();
  private readonly drifted = new Map<string, string>();
  private readonly queue: InterruptionNotice[] = [];
  private wakeQueue: () => void = () => undefined;
  private serial = 0;
  private readonly reservations = new FakeReservations();

  constructor(private readonly options: FakeCloudOptions) {
    this.types = options.types;
    this.nodeClassKind = options.nodeClassKind ?? { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass' };
    this.wellKnownLabels = options.wellKnownLabels ?? [];
  }

  // What tests do to it.

  /** Launches into matching offerings are refused as out of capacity until `replenish`. */
  exhaust(pattern: OfferingPattern = {}): void {
    this.exhausted.push(pattern);
  }

  replenish(): void {
    this.exhausted.length = 0;
    this.unavailable.length = 0;
  }

  /** The price of every offering is multiplied by what `factor` gives for it. */
  reprice(factor: () => number): void {
    this.types = this.types.map((type) => ({
      ...type,
      offerings: type.offerings.map((offering) => ({ ...offering, price: offering.price * factor() })),
    }));
    this.shownTypes = undefined;
  }

  /** Sells these types from now on, and no others. */
  sellOnly(isSold: (name: string) => boolean): void {
    this.types = this.options.types.filter(({ name }) => isSold(name));
    this.shownTypes = undefined;
  }

  typeNames(): readonly string[] {
    return this.types.map(({ name }) => name);
  }

  /** A capacity reservation is there from now on. */
  reserve(reservation: FakeReservation): void {
    this.reservations.begin(reservation);
  }

  /** It ends, or all do: their instances run on, on demand. */
  endReservations(ids: readonly string[] = this.reservations.ids): void {
    for (const providerId of ids.flatMap((id) => this.reservations.end(id))) {
      const instance = this.instances.get(providerId);
      if (instance !== undefined) this.instances.set(providerId, { ...instance, capacityType: 'on-demand' });
    }
  }

  /** The next `times` calls throw `error` and do nothing. */
  failNext(call: FakeCall, error: Error = new DomainError('Unavailable', `${call} failed`), times = 1): void {
    this.failures.push({ call, error, afterEffect: false, times });
  }

  /** The next `times` calls take effect, but their answers are lost. */
  loseAnswer(call: FakeCall, times = 1): void {
    const error = new DomainError('Unavailable', `the answer to ${call} was lost`);
    this.failures.push({ call, error, afterEffect: true, times });
  }

  /** Calls wait until the function returned here is called. */
  hold(call: FakeCall): () => void {
    let release: () => void = () => undefined;
    this.gates.set(call, new Promise((resolve) => (release = resolve)));
    return () => {
      this.gates.delete(call);
      release();
    };
  }

  /** Node classes of that name are not ready until called without a message. */
  setNotReady(nodeClassName: string, message?: string): void {
    if (message === undefined) this.notReady.delete(nodeClassName);
    else this.notReady.set(nodeClassName, message);
  }

  setDrift(claimName: string, reason?: string): void {
    if (reason === undefined) this.drifted.delete(claimName);
    else this.drifted.set(claimName, reason);
  }

  /** Puts a notice onto the interruption queue; the same message id may be put twice. */
  interrupt(interruption: InterruptionNotice): void {
    this.queue.push(interruption);
    this.wakeQueue();
  }

  /** An instance ends without anyone asking, as after a spot interruption. */
  kill(providerId: string): void {
    if (!this.instances.delete(providerId)) return;
    this.reservations.noteGone(providerId);
    this.onGone(providerId);
  }

  /** It ends like that, as when its disk cannot be decrypted. */
  end(providerId: string, how: EndedInstance): void {
    this.ended.set(providerId, how);
    this.kill(providerId);
  }

  finishTermination(providerId: string): void {
    if (this.instances.get(providerId)?.state === 'shutting-down') this.kill(providerId);
  }

  /** What there is, without a call. */
  peek(): readonly CloudInstance[] {
    return [...this.instances.values()];
  }

  /** An instance that no claim knows, for garbage collection. */
  addOrphan(instance: CloudInstance): void {
    this.instances.set(instance.providerId, { ...instance, token: instance.instanceId, claimUid: '' });
  }

  // The port.

  instanceTypes(): Promise<readonly InstanceType[]> {
    return this.perform('instanceTypes', '', () => {
      const refused = this.unavailable.filter((offering) => this.isRefused(offering));
      const key = `${JSON.stringify(refused)} ${this.reservations.key}`;
      if (this.shownTypes?.key !== key) {
        const shownOf = (type: InstanceType): InstanceType => ({
          ...type,
          offerings: type.offerings.map((offering) => this.shown({ type, offering })),
        });
        this.shownTypes = { key, types: this.offered().map(shownOf) };
      }
      return this.shownTypes.types;
    });
  }

  launch(request: LaunchRequest): Promise<Result<LaunchedInstance, LaunchRefusal>> {
    return this.perform('launch', request.claim.metadata.name ?? '', () => {
      const known = this.launched.get(request.clientToken);
      if (known !== undefined) return ok(known);
      const message = this.notReady.get(request.nodeClass.metadata.name ?? '');
      if (message !== undefined) return err({ kind: 'NodeClassNotReady' as const, message, unavailable: [] });
      const { requirements, resources } = request.claim.spec;
      const overlaid = request.overlaid ?? ((types) => types);
      const options = launchOptions(overlaid(this.offered()), requirements, parseResources(resources?.requests)).filter(
        (option) => !this.hidden(option),
      );
      const chosen = options.find((option) => !this.isExhausted(option));
      const unavailable = options
        .slice(0, chosen === undefined ? options.length : options.indexOf(chosen))
        .map((option) => ({ ...keyOf(option), reason: 'InsufficientInstanceCapacity' }));
      if (chosen === undefined) {
        const kind = 'InsufficientCapacity' as const;
        return err({ kind, message: 'no offering that the claim allows has capacity', unavailable });
      }
      return ok(this.create(request, chosen, unavailable));
    });
  }

  get(providerId: string): Promise<CloudInstance | undefined> {
    return this.perform('get', providerId, () => this.instances.get(providerId));
  }

  whyEnded(providerId: string): Promise<EndedInstance | undefined> {
    return this.perform('whyEnded', providerId, () => this.ended.get(providerId));
  }

  list(): Promise<readonly CloudInstance[]> {
    return this.perform('list', '', () => [...this.instances.values()]);
  }

  terminate(providerId: string): Promise<'terminating' | 'gone'> {
    return this.perform('terminate', providerId, () => {
      const instance = this.instances.get(providerId);
      if (instance === undefined) return 'gone';
      if (this.options.terminatesAtOnce ?? true) this.kill(providerId);
      else if (instance.state !== 'shutting-down') {
        this.instances.set(providerId, { ...instance, state: 'shutting-down' });
        this.onShuttingDown(providerId);
      }
      return 'terminating';
    });
  }

  readonly repairPolicies = [
    { conditionType: 'Ready', conditionStatus: 'False', tolerationMs: 30 * 60_000 },
    { conditionType: 'Ready', conditionStatus: 'Unknown', tolerationMs: 30 * 60_000 },
    { conditionType: 'AcceleratedHardwareReady', conditionStatus: 'False', tolerationMs: 10 * 60_000 },
  ] as const;

  rebootInstance(providerId: string): Promise<'rebooting' | 'gone'> {
    return this.perform('rebootInstance', providerId, () => (this.instances.has(providerId) ? 'rebooting' : 'gone'));
  }

  async tag(providerId: string, tags: Readonly<Record<string, string>>): Promise<void> {
    await this.perform('tag', providerId, () => {
      const instance = this.instances.get(providerId);
      if (instance === undefined) throw new DomainError('NotFound', `no instance ${providerId}`);
      this.instances.set(providerId, { ...instance, tags: { ...tags, ...instance.tags } });
    });
  }

  resolveNodeClass(nodeClass: NodeClass): ReturnType<CloudProvider['resolveNodeClass']> {
    const name = nodeClass.metadata.name ?? '';
    return this.perform('resolveNodeClass', name, () => {
      const message = this.notReady.get(name);
      const generation = { observedGeneration: nodeClass.metadata.generation ?? 0 };
      const ready =
        message === undefined
          ? { type: 'Ready', status: 'True', reason: 'Ready', message: '', ...generation }
          : { type: 'Ready', status: 'False', reason: 'NotReady', message, ...generation };
      return { status: { conditions: [ready] }, annotations: {}, events: [], requeueAfterMs: 60_000 };
    });
  }

  cleanUpNodeClass(): Promise<void> {
    return Promise.resolve();
  }

  drift(claim: LaunchRequest['claim']): Promise<string | undefined> {
    return Promise.resolve(this.drifted.get(claim.metadata.name ?? ''));
  }

  markUnavailable(offerings: readonly UnavailableOffering[]): void {
    this.unavailable.push(...offerings);
  }

  readonly interruptions = {
    run: async (handle: (interruption: InterruptionNotice) => Promise<void>, signal: AbortSignal): Promise<void> => {
      while (!signal.aborted) {
        const next = this.queue[0];
        if (next === undefined) await this.queueGrows(signal);
        else {
          await handle(next);
          // Another reader may have taken it meanwhile.
          if (this.queue[0] === next) this.queue.shift();
        }
      }
    },
  };

  private create(
    request: LaunchRequest,
    option: LaunchOption,
    unavailable: readonly UnavailableOffering[],
  ): LaunchedInstance {
    this.serial += 1;
    const instanceId = `i-${this.serial.toString(16).padStart(17, '0')}`;
    const key = keyOf(option);
    const providerId = `fake:///${key.zone}/${instanceId}`;
    const nodeLabels = { ...request.claim.metadata.labels, ...pinnedLabels(option, request.claim.spec.requirements) };
    const launched: LaunchedInstance = {
      providerId,
      instanceId,
      ...key,
      labels: nodeLabels,
      annotations: {},
      capacity: option.type.capacity,
      allocatable: allocatableOf(option.type),
      pricePerHour: option.offering.price,
      unavailable,
    };
    const claimUid = request.claim.metadata.uid ?? '';
    this.instances.set(providerId, {
      providerId,
      instanceId,
      ...key,
      state: 'running',
      launchedAt: this.options.now?.() ?? 0,
      tags: {
        [labels.nodePool]: request.claim.metadata.labels?.[labels.nodePool] ?? '',
        'karpenter.sh/nodeclaim': request.claim.metadata.name ?? '',
      },
      labels: nodeLabels,
      token: request.clientToken,
      claimUid,
    });
    this.reservations.noteLaunch(providerId, option.offering);
    this.launched.set(request.clientToken, launched);
    this.launches += 1;
    this.launchesByClaimUid.set(claimUid, (this.launchesByClaimUid.get(claimUid) ?? 0) + 1);
    this.onLaunch(launched, request);
    return launched;
  }

  private offered(): readonly InstanceType[] {
    return this.reservations.ids.length === 0
      ? this.types
      : this.types.map((type) => this.reservations.withReserved(type));
  }

  private async perform<T>(call: FakeCall, subject: string, effect: () => T): Promise<T> {
    this.calls.push({ call, subject });
    await this.gates.get(call);
    const failure = this.failures.find((candidate) => candidate.call === call && candidate.times > 0);
    if (failure !== undefined) failure.times -= 1;
    if (failure?.afterEffect === false) throw failure.error;
    const result = effect();
    if (failure !== undefined) throw failure.error;
    return result;
  }

  private isExhausted(option: LaunchOption): boolean {
    return this.exhausted.some((pattern) => matches(pattern, keyOf(option)));
  }

  private shown(option: LaunchOption): LaunchOption['offering'] {
    const refused = this.refusalOf(option);
    if (refused === undefined) return option.offering;
    const until = refused.until === undefined ? {} : { unavailableUntil: refused.until };
    return { ...option.offering, available: false, unavailableReason: refused.reason, ...until };
  }

  private hidden(option: LaunchOption): boolean {
    return this.refusalOf(option) !== undefined;
  }

  private refusalOf(option: LaunchOption): UnavailableOffering | undefined {
    const key = keyOf(option);
    return this.unavailable.find((offering) => matches(offering, key) && this.isRefused(offering));
  }

  private isRefused({ until = Number.POSITIVE_INFINITY }: UnavailableOffering): boolean {
    return (this.options.now?.() ?? 0) < until;
  }

  private queueGrows(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.wakeQueue = resolve;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

function matches(pattern: OfferingPattern, key: Required<OfferingPattern>): boolean {
  return (
    (pattern.instanceType ?? key.instanceType) === key.instanceType &&
    (pattern.zone ?? key.zone) === key.zone &&
    (pattern.capacityType ?? key.capacityType) === key.capacityType
  );
}

function keyOf(option: LaunchOption): Required<OfferingPattern> {
  const { requirements } = option.offering;
  return {
    instanceType: option.type.name,
    zone: pinnedValue(requirements, labels.zone) ?? '',
    capacityType: pinnedValue(requirements, labels.capacityType) ?? 'on-demand',
  };
}
