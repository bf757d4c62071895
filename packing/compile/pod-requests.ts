import type { Container, PodSpec, ResourceList } from '../../api/kubernetes.js';
import { parseResource } from '../../core/quantities.js';
import { lookUp } from '../../core/own.js';
import { podLevelRequests } from '../../core/pod-level-requests.js';

/** Parses quantities, each distinct one once. Throws `QuantityError`, which names the resource. */
export class QuantityReader {
  private readonly known = new Map<string, Map<string, number>>();

  read(name: string, quantity: string | number): number {
    let byText = this.known.get(name);
    if (byText === undefined) this.known.set(name, (byText = new Map<string, number>()));
    const text = String(quantity);
    let amount = byText.get(text);
    if (amount === undefined) byText.set(text, (amount = parseResource(name, quantity)));
    return amount;
  }
}

type Amounts = Map<string, number>;

/**
 * The requests of a pod, in the units of `core/quantities.ts`: the maximum of the sum over all containers and each init
 * container while it runs. Sidecars (init containers that restart always) count from their start on. Pod-level requests
 * replace the sum, and overhead is added. `pods` is always 1.
 */
export function podRequests(spec: PodSpec, quantities: QuantityReader): Map<string, number> {
  const total: Amounts = new Map();
  for (const container of spec.containers) add(total, requestsOf(container, quantities));
  if (spec.initContainers !== undefined) addInitContainers(total, spec.initContainers, quantities);
  for (const [name, amount] of read(podLevelRequests(spec), quantities)) total.set(name, amount);
  if (spec.overhead !== undefined) add(total, read(spec.overhead, quantities));
  total.set('pods', 1);
  return total;
}

/** The requests of a pod; none if its quantities cannot be read, which planning reports. */
export function readableRequests(spec: PodSpec, quantities: QuantityReader): ReadonlyMap<string, number> {
  try {
    return podRequests(spec, quantities);
  } catch {
    return new Map();
  }
}

function addInitContainers(total: Amounts, containers: readonly Container[], quantities: QuantityReader): void {
  const sidecars: Amounts = new Map();
  const peak: Amounts = new Map();
  for (const container of containers) {
    const requests = requestsOf(container, quantities);
    if (container.restartPolicy === 'Always') {
      add(sidecars, requests);
      raise(peak, sidecars);
      continue;
    }
    const running = new Map(sidecars);
    add(running, requests);
    raise(peak, running);
  }
  add(total, sidecars);
  raise(total, peak);
}

function requestsOf(container: Container, quantities: QuantityReader): Amounts {
  const resources = container.resources;
  if (resources === undefined) return new Map();
  // The API server sets missing requests to the limits; objects from files may lack that.
  const { requests, limits } = resources;
  return read(limits === undefined ? requests : { ...limits, ...requests }, quantities);
}

function read(list: ResourceList | undefined, quantities: QuantityReader): Amounts {
  const amounts: Amounts = new Map();
  if (list !== undefined)
    for (const name of Object.keys(list)) amounts.set(name, quantities.read(name, lookUp(list, name)!));
  return amounts;
}

function add(total: Amounts, more: Amounts): void {
  for (const [name, amount] of more) total.set(name, (total.get(name) ?? 0) + amount);
}

function raise(total: Amounts, floor: Amounts): void {
  for (const [name, amount] of floor) if (amount > (total.get(name) ?? 0)) total.set(name, amount);
}
