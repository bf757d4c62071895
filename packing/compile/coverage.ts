import type { Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { compareText } from '../../core/text.js';
import type { InstanceType, Offering } from '../../core/instance-type.js';
import { lookUp } from '../../core/own.js';
import { isTerminal } from '../../core/pods.js';
import type { PackingInput } from '../types.js';
import { machinePrice, termsOf, commitmentValueOf, type Term } from './commitments.js';
import { offeringLabelsOf, viewNodes, type CompiledNode } from './nodes.js';
import { QuantityReader, readableRequests } from './pod-requests.js';

/** The running nodes that commitments cover, and the remaining commitments. */
export interface Coverage {
  /** Commitments that are not used up, in the order in which AWS applies them. */
  readonly open: readonly Term[];
  /** By commitment name: the remaining amount, in the unit of the commitment. */
  readonly left: ReadonlyMap<string, number>;
  /** Nodes that are covered at least in part, by name. */
  readonly nodes: ReadonlyMap<string, CoveredNode>;
}

interface CoveredNode {
  /** Reduction of the price of the node, dollars per hour. */
  readonly saving: number;
  /** How much it uses of each commitment, by name. */
  readonly taken: ReadonlyMap<string, number>;
}

const nothing: Coverage = { open: [], left: new Map(), nodes: new Map() };

/** Amounts below this are rounding errors. */
const noise = 1e-9;

type CoverageInput = Pick<PackingInput, 'objects' | 'catalogues' | 'settings' | 'now' | 'withoutNodes'>;

/**
 * Which running nodes commitments cover (instance-types/commitments). AWS covers usage and not nodes, so the last one may be
 * covered in part. The fullest nodes are covered first here, so that those at full price are the ones that consolidation would
 * remove.
 */
export function coverageOf({ objects, catalogues, settings, now, withoutNodes }: CoverageInput): Coverage {
  const terms = termsOf(settings.commitments ?? [], now);
  if (terms.length === 0) return nothing;
  const left = new Map(terms.map(({ name, amount }) => [name, amount]));
  const typeOf = typeFinder(catalogues);
  const nodes = new Map<string, CoveredNode>();
  const running = viewNodes(objects, withoutNodes).filter(
    (view) => !view.deleting && offeringLabelsOf(view)[labels.capacityType] === 'on-demand',
  );
  for (const view of fullestFirst(running, objects.pods)) {
    const covered = cover(view, typeOf, terms, left);
    if (covered !== undefined) nodes.set(view.name, covered);
  }
  return { open: terms.filter(({ name }) => left.get(name)! > noise), left, nodes };
}

function cover(
  view: CompiledNode,
  typeOf: (name: string) => InstanceType | undefined,
  terms: readonly Term[],
  left: Map<string, number>,
): CoveredNode | undefined {
  const own = offeringLabelsOf(view);
  const type = typeOf(own[labels.instanceType] ?? '');
  const zone = own[labels.zone] ?? '';
  const offering = type?.offerings.find((each) => isOnDemandIn(each, zone));
  if (type === undefined || offering === undefined) return undefined;
  const price = machinePrice(offering);
  const taken = new Map<string, number>();
  let open = 1;
  for (const { name, use: useOf } of terms) {
    const use = useOf(type.name, zone, price);
    const there = left.get(name)!;
    if (use === undefined || !(use > 0) || there <= noise || open <= noise) continue;
    const amount = Math.min(there, use * open);
    taken.set(name, amount);
    left.set(name, there - amount);
    open -= amount / use;
  }
  return taken.size === 0 ? undefined : { saving: price * (1 - open), taken };
}

const isOnDemandIn = (offering: Offering, zone: string): boolean =>
  commitmentValueOf(offering, labels.capacityType) === 'on-demand' && commitmentValueOf(offering, labels.zone) === zone;

function typeFinder(catalogues: PackingInput['catalogues']): (name: string) => InstanceType | undefined {
  const byName = new Map<string, InstanceType>();
  for (const catalogue of new Set(catalogues.values()))
    for (const type of catalogue) if (!byName.has(type.name)) byName.set(type.name, type);
  return (name) => byName.get(name);
}

function fullestFirst(nodes: readonly CompiledNode[], pods: readonly Pod[]): CompiledNode[] {
  const quantities = new QuantityReader();
  const used = new Map<string, Map<string, number>>(nodes.map(({ name }) => [name, new Map<string, number>()]));
  for (const pod of pods) {
    const there = used.get(pod.spec.nodeName ?? '');
    if (there === undefined || isTerminal(pod)) continue;
    for (const [resource, amount] of readableRequests(pod.spec, quantities))
      there.set(resource, (there.get(resource) ?? 0) + amount);
  }
  const shares = new Map(nodes.map((view) => [view, shareOf(view, used.get(view.name)!, quantities)]));
  return [...nodes].sort((a, b) => shares.get(b)! - shares.get(a)! || compareText(a.name, b.name));
}

function shareOf({ allocatable }: CompiledNode, used: ReadonlyMap<string, number>, quantities: QuantityReader): number {
  return Math.max(
    ...['cpu', 'memory'].map((resource) => {
      const has = lookUp(allocatable, resource);
      return has === undefined ? 0 : (used.get(resource) ?? 0) / Math.max(1, quantities.read(resource, has));
    }),
  );
}
