import type { Container, Pod, PodSpec } from '../../api/kubernetes.js';
import { parseResources } from '../../core/quantities.js';

export type Amounts = Readonly<Record<string, number>>;

export function addAmounts(into: Record<string, number>, amounts: Amounts, times = 1): void {
  for (const [name, amount] of Object.entries(amounts)) into[name] = (into[name] ?? 0) + amount * times;
}

function maxInto(into: Record<string, number>, amounts: Amounts): void {
  for (const [name, amount] of Object.entries(amounts)) into[name] = Math.max(into[name] ?? 0, amount);
}

const requestsOf = (container: Container): Amounts => parseResources(container.resources?.requests);

/**
 * What the scheduler sets aside for a pod (KEP-753): the larger of what its containers and sidecars need together and
 * what any init container needs beside the sidecars started before it; plus overhead. One of `pods` as well.
 */
export function podRequests(spec: PodSpec): Amounts {
  const total: Record<string, number> = {};
  for (const container of spec.containers) addAmounts(total, requestsOf(container));
  const sidecars: Record<string, number> = {};
  const initial: Record<string, number> = {};
  for (const container of spec.initContainers ?? []) {
    const step: Record<string, number> = { ...sidecars };
    addAmounts(step, requestsOf(container));
    if (container.restartPolicy === 'Always') addAmounts(sidecars, requestsOf(container));
    maxInto(initial, step);
  }
  addAmounts(total, sidecars);
  maxInto(total, initial);
  for (const [name, amount] of Object.entries(parseResources(spec.resources?.requests))) total[name] = amount;
  addAmounts(total, parseResources(spec.overhead));
  total['pods'] = 1;
  return total;
}

export interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

export function hostPorts(spec: PodSpec): readonly HostPort[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? []).filter((c) => c.restartPolicy === 'Always')];
  return containers.flatMap((container) =>
    (container.ports ?? [])
      .filter((port) => (port.hostPort ?? 0) !== 0)
      .map((port) => ({ ip: port.hostIP ?? '', port: port.hostPort ?? 0, protocol: port.protocol ?? 'TCP' })),
  );
}

const anyAddress = new Set(['', '0.0.0.0', '::']);

export function portsClash(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.ip === b.ip || anyAddress.has(a.ip) || anyAddress.has(b.ip);
}

/** Pods that no rule can distinguish. */
export interface PodClass {
  readonly index: number;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  readonly requests: Amounts;
  readonly ports: readonly HostPort[];
  /** Volumes differ from pod to pod, so a pod with PersistentVolumeClaims shares its class with no other. */
  readonly example: string;
}

export const podKey = (pod: Pod): string => `${pod.metadata.namespace ?? 'default'}/${pod.metadata.name ?? ''}`;

/** Gives each pod its class, so that rules cost what the classes cost. */
export class PodClasses {
  readonly all: PodClass[] = [];
  private readonly byText = new Map<string, PodClass>();

  of(pod: Pod): PodClass {
    const spec = { ...pod.spec, nodeName: undefined };
    const namespace = pod.metadata.namespace ?? 'default';
    const named = (spec.volumes ?? []).some((volume) => volume.ephemeral !== undefined) ? pod.metadata.name : '';
    const text = JSON.stringify([namespace, named, pod.metadata.labels ?? {}, spec]);
    let found = this.byText.get(text);
    if (found === undefined) {
      found = {
        index: this.all.length,
        namespace,
        labels: pod.metadata.labels ?? {},
        spec: pod.spec,
        requests: podRequests(pod.spec),
        ports: hostPorts(pod.spec),
        example: podKey(pod),
      };
      this.all.push(found);
      this.byText.set(text, found);
    }
    return found;
  }
}
