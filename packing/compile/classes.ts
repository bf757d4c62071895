import { isBufferPod } from '../../core/pods.js';
import type { Affinity, Pod, PodAffinityTerm } from '../../api/kubernetes.js';
import { compareText } from '../../core/text.js';
import { QuantityError } from '../../core/quantities.js';
import { mapped } from '../lists.js';
import { selectorKeys } from './label-text.js';
import type { Dimensions } from './dimensions.js';
import { demandKey, isSameDemand, isSameShape, plainRequests, shapeKey } from './pod-key.js';
import { hostPorts, type HostPort } from '../../core/host-ports.js';
import { withHonouredPreferences } from './preferences.js';
import type { ShapeRefusals } from './pools.js';
import { podRequests, type QuantityReader } from './pod-requests.js';
import { fullName } from '../../core/names.js';

/** Pods that are equal for scheduling except for their requests. */
export interface PodShape {
  readonly index: number;
  readonly namespace: string;
  /** Any pod of the shape. */
  readonly exemplar: Pod;
  readonly hostPorts: readonly HostPort[];
  readonly refused: ShapeRefusals | undefined;
}

interface ClassOptions {
  /** A pod as its owner creates it again after a move. */
  readonly asMoved?: (pod: Pod) => Pod;
  readonly refusalsOf?: (pod: Pod) => ShapeRefusals | undefined;
}

/** The requests of pods, interned. */
interface Demand {
  readonly index: number;
  readonly amounts: ReadonlyMap<string, number>;
  /** The quantity that cannot be parsed, if any. */
  readonly error?: string;
}

/** Pods that are equal for scheduling. */
export interface PodClass {
  readonly index: number;
  readonly shape: PodShape;
  readonly demand: Demand;
  readonly pods: Pod[];
}

/** Sorts pods into classes. Call `classify` with each pod, in any order. */
export class Classes {
  readonly shapes: PodShape[] = [];
  readonly demands: Demand[] = [];
  readonly all: PodClass[] = [];
  private readonly shapeIndex = new Map<string, PodShape>();
  private readonly demandIndex = new Map<string, Demand>();
  /** Demands of pods with only CPU and memory requests, by their text. */
  private readonly plainDemands = new Map<string, Map<string, Demand>>();
  private readonly classIndex = new Map<number, PodClass>();
  /** The previous pod: pods of one workload mostly follow each other. */
  private last: { readonly pod: Pod; readonly extra: string; readonly shape: PodShape } | undefined;
  private lastDemand: { readonly pod: Pod; readonly demand: Demand } | undefined;

  constructor(
    private readonly dimensions: Dimensions,
    private readonly quantities: QuantityReader,
    private readonly labelKeys: readonly string[],
    /** Additional text that distinguishes pods, such as their volumes. */
    private readonly extraText: (pod: Pod) => string,
    private readonly options: ClassOptions = {},
  ) {}

  classify(pod: Pod): PodClass {
    const shape = this.shapeOf(pod);
    const demand = this.demandOf(this.options.asMoved?.(pod) ?? pod);
    const key = shape.index * 0x4000000 + demand.index;
    let found = this.classIndex.get(key);
    if (found === undefined) {
      found = { index: this.all.length, shape, demand, pods: [pod] };
      this.all.push(found);
      this.classIndex.set(key, found);
    } else found.pods.push(pod);
    return found;
  }

  private shapeOf(pod: Pod): PodShape {
    const { last } = this;
    const extra = this.extraText(pod);
    if (last !== undefined && extra === last.extra && isSameShape(pod, last.pod, this.labelKeys)) return last.shape;
    const key = shapeKey(pod, this.labelKeys, extra);
    let shape = this.shapeIndex.get(key);
    if (shape === undefined) {
      const namespace = pod.metadata.namespace ?? 'default';
      const refused = this.options.refusalsOf?.(pod);
      shape = { index: this.shapes.length, namespace, exemplar: pod, hostPorts: hostPorts(pod), refused };
      this.shapes.push(shape);
      this.shapeIndex.set(key, shape);
    }
    this.last = { pod, extra, shape };
    return shape;
  }

  /** The demand of a pod on its current node. */
  demandOf(pod: Pod): Demand {
    const requests = plainRequests(pod);
    if (requests === undefined) return this.anyDemandOf(pod);
    const { cpu, memory } = requests;
    let byMemory = this.plainDemands.get(cpu);
    if (byMemory === undefined) this.plainDemands.set(cpu, (byMemory = new Map<string, Demand>()));
    let demand = byMemory.get(memory);
    if (demand === undefined) byMemory.set(memory, (demand = this.anyDemandOf(pod)));
    return demand;
  }

  private anyDemandOf(pod: Pod): Demand {
    const { lastDemand } = this;
    if (lastDemand !== undefined && isSameDemand(pod, lastDemand.pod)) return lastDemand.demand;
    const key = demandKey(pod);
    let demand = this.demandIndex.get(key);
    if (demand === undefined) {
      demand = { index: this.demands.length, ...this.amountsOf(pod) };
      this.demands.push(demand);
      this.demandIndex.set(key, demand);
      this.dimensions.register(demand.amounts);
    }
    this.lastDemand = { pod, demand };
    return demand;
  }

  private amountsOf(pod: Pod): { amounts: ReadonlyMap<string, number>; error?: string } {
    try {
      return { amounts: podRequests(pod.spec, this.quantities) };
    } catch (error) {
      if (error instanceof QuantityError) return { amounts: new Map(), error: error.message };
      throw error;
    }
  }
}

/**
 * Sorts classes largest first, as Karpenter's queue does (scheduling/largest-first): by CPU, then memory; virtual pods of
 * capacity buffers after real ones. Ties go by the name of the first pod of the class, so that the order of the input does not
 * matter.
 */
export function inQueueOrder(classes: readonly PodClass[]): PodClass[] {
  const entries = classes.map((podClass) => ({
    podClass,
    isBuffer: isBufferPod(podClass.shape.exemplar) ? 1 : 0,
    cpu: podClass.demand.amounts.get('cpu') ?? 0,
    memory: podClass.demand.amounts.get('memory') ?? 0,
    name: fullName(podClass.pods[0]!),
  }));
  entries.sort(
    (a, b) => a.isBuffer - b.isBuffer || b.cpu - a.cpu || b.memory - a.memory || compareText(a.name, b.name),
  );
  return mapped(entries, ({ podClass }) => podClass);
}

/** The label keys that selectors of these pods refer to: pods that differ only in other labels are equal. */
export function selectorLabelKeys(pods: Iterable<Pick<Pod, 'spec'>>): Set<string> {
  const keys = new Set<string>();
  for (const pod of pods) {
    const spec = withHonouredPreferences(pod.spec);
    if (spec.affinity !== undefined) affinityKeys(spec.affinity, keys);
    if (spec.topologySpreadConstraints === undefined) continue;
    for (const { labelSelector, matchLabelKeys } of spec.topologySpreadConstraints) {
      selectorKeys(labelSelector, keys);
      for (const key of matchLabelKeys ?? none) keys.add(key);
    }
  }
  return keys;
}

function affinityKeys({ podAffinity, podAntiAffinity }: Affinity, keys: Set<string>): void {
  if (podAffinity !== undefined) podAffinityKeys(podAffinity, keys);
  if (podAntiAffinity !== undefined) podAffinityKeys(podAntiAffinity, keys);
}

function podAffinityKeys(affinity: NonNullable<Affinity['podAffinity']>, keys: Set<string>): void {
  const required = affinity.requiredDuringSchedulingIgnoredDuringExecution;
  if (required !== undefined) for (const term of required) termKeys(term, keys);
  const preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution;
  if (preferred !== undefined) for (const { podAffinityTerm } of preferred) termKeys(podAffinityTerm, keys);
}

function termKeys({ labelSelector, matchLabelKeys, mismatchLabelKeys }: PodAffinityTerm, keys: Set<string>): void {
  selectorKeys(labelSelector, keys);
  for (const key of matchLabelKeys ?? none) keys.add(key);
  for (const key of mismatchLabelKeys ?? none) keys.add(key);
}

const none: readonly string[] = [];
