import type { KubernetesObject, Node } from '../../api/kubernetes.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { annotations, labels } from '../../api/labels.js';
import { checkPlan } from '../checker/check.js';
import type { CatalogueEntry } from '../checker/types.js';
import { plan } from '../../packing/plan.js';
import type { PackingSettings, Plan, PlannedClaim } from '../../packing/types.js';
import { packingInputOf } from '../builders/packing-input.js';
import type { Check } from './conformance-case.js';
import { flat, integer, pool, size, special, usual } from './world.js';

export interface Situation {
  readonly objects: readonly (KubernetesObject | readonly KubernetesObject[])[];
  readonly catalogue?: readonly CatalogueEntry[];
  readonly settings?: Partial<PackingSettings>;
}

/** What has to come out; what is not said is not looked at, but no pod may be left and no rule broken. */
export interface Expected {
  /** Names of the pods that get no node. */
  readonly left?: readonly string[];
  /** How many nodes are launched. */
  readonly nodes?: number;
  /** How many pods each existing node gets; one that gets none is not named. */
  readonly existing?: Readonly<Record<string, number>>;
  /** How many pods there are to each value of a label of their nodes; `''` for nodes without it. */
  readonly by?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Pods on each new node, sorted. */
  readonly sizes?: readonly number[];
  /** The price is at most this: what Karpenter's choice costs. */
  readonly price?: number;
  /** Names of the types that the claims list, sorted. */
  readonly types?: readonly string[];
  /** What the claims say that is requested, of some resources. */
  readonly requests?: Readonly<Record<string, number>>;
  /** How many claims list fewer values than minValues asks for. */
  readonly relaxed?: number;
  /** Groups of pods that share a node. */
  readonly together?: readonly (readonly string[])[];
}

/** The label that a node of the claim is sure to have. */
function labelOf(claim: PlannedClaim, { pools, catalogue }: Planned, key: string): string {
  const { cheapest, requirements } = claim;
  const bought = catalogue.find(({ name }) => name === cheapest.instanceType)?.offerings ?? [];
  const known: Record<string, string> = {
    [labels.zone]: cheapest.zone,
    [labels.capacityType]: cheapest.capacityType,
    [labels.instanceType]: cheapest.instanceType,
    [labels.nodePool]: claim.nodePool,
    ...pools.find(({ metadata }) => metadata.name === claim.nodePool)?.spec.template.metadata?.labels,
    ...claim.labels,
  };
  const asked = requirements.find((each) => each.key === key && each.operator === 'In')?.values ?? [];
  const described = new Set(
    bought.flatMap((offer) => offer.Requirements.find((each) => each.key === key)?.values ?? []),
  );
  return known[key] ?? (asked.length === 1 ? asked[0]! : described.size === 1 ? [...described][0]! : '');
}

const nameOf = (key: string): string => key.slice(key.indexOf('/') + 1);
const counted = (entries: readonly (readonly [string, number])[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const [value, count] of entries) counts[value] = (counts[value] ?? 0) + count;
  return counts;
};

interface Planned {
  readonly result: Plan;
  readonly pools: readonly NodePool[];
  readonly nodes: ReadonlyMap<string, Node>;
  readonly catalogue: readonly CatalogueEntry[];
}

const views: {
  readonly [Key in keyof Expected]-?: (planned: Planned, expected: Expected) => unknown;
} = {
  left: ({ result }) => result.unschedulable.map((each) => nameOf(each.pod)).sort(),
  nodes: ({ result }) => result.newNodeClaims.length,
  existing: ({ result }) => Object.fromEntries(result.existingNodes.map(({ node, pods }) => [node, pods.length])),
  sizes: ({ result }) => result.newNodeClaims.map(({ pods }) => pods.length).sort((a, b) => a - b),
  by: (seen, { by = {} }) =>
    Object.fromEntries(
      Object.keys(by).map((key) => [
        key,
        counted([
          ...seen.result.newNodeClaims.map((claim) => [labelOf(claim, seen, key), claim.pods.length] as const),
          ...seen.result.existingNodes.map(
            (each) => [seen.nodes.get(each.node)?.metadata.labels?.[key] ?? '', each.pods.length] as const,
          ),
        ]),
      ]),
    ),
  price: ({ result }, { price = 0 }) => (result.pricePerHour <= price + 1e-6 ? price : result.pricePerHour),
  types: ({ result }) => [...new Set(result.newNodeClaims.flatMap(({ instanceTypes }) => instanceTypes))].sort(),
  requests: ({ result }, { requests = {} }) =>
    Object.fromEntries(
      Object.keys(requests).map((name) => [
        name,
        result.newNodeClaims.reduce((sum, claim) => sum + (claim.requests[name] ?? 0), 0),
      ]),
    ),
  relaxed: ({ result }) =>
    result.newNodeClaims.filter((claim) => claim.annotations[annotations.minValuesRelaxed] === 'true').length,
  together: ({ result }) =>
    [...result.newNodeClaims, ...result.existingNodes]
      .map((each) => each.pods.map(nameOf).sort())
      .sort((a, b) => a.join().localeCompare(b.join())),
};

function planned({ objects, catalogue = usual, settings = {} }: Situation, expected: Expected): unknown {
  const made = flat(objects);
  const all = made.some(({ kind }) => kind === 'NodePool') ? made : [pool(), ...made];
  const input = packingInputOf({ objects: all, catalogue });
  const wellKnownLabels = [...new Set([...input.settings.wellKnownLabels, size, special, integer])].sort();
  const result = plan({ ...input, settings: { ...input.settings, wellKnownLabels, ...settings } });
  const nodes = new Map((input.objects.nodes ?? []).map((each) => [each.metadata.name ?? '', each]));
  const seen: Planned = { result, pools: input.objects.nodePools, nodes, catalogue };
  const keys = Object.keys(expected) as (keyof Expected)[];
  return {
    violations: checkPlan({ items: all }, catalogue, { engine: 'stowage', ...result }).violations,
    ...Object.fromEntries(keys.map((key) => [key, views[key](seen, expected)])),
  };
}

/** A plan for these objects, judged by the checker too. */
export function plans(situation: Situation, expected: Expected = {}): Check {
  const all = { left: [], ...expected };
  return { outcome: () => planned(situation, all), expected: { violations: [], ...all } };
}
