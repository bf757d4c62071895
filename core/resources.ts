import { parseQuantity } from './quantities.js';

/**
 * Amounts by resource name. `cpu` is in millicores; every other resource is in its base unit
 * (bytes for memory and storage, a count for pods and extended resources). All are whole numbers.
 */
export type Resources = Readonly<Record<string, number>>;

/** Reads a Kubernetes ResourceList. Throws `QuantityError` naming the resource when a quantity does not parse. */
export function parseResources(list: Readonly<Record<string, string | number>> | undefined): Resources {
  const resources: Record<string, number> = {};
  for (const [name, quantity] of Object.entries(list ?? {})) resources[name] = parseResource(name, quantity);
  return resources;
}

/** One quantity in the unit that `Resources` keeps it in, rounded up. */
export function parseResource(name: string, quantity: string | number): number {
  return Math.ceil(parseQuantity(quantity, name) * (name === 'cpu' ? 1000 : 1) - 1e-9);
}
