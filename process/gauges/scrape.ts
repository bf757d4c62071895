import type { Node, PodSpec } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import {
  cataloguesOf,
  managedClaims,
  managedPools,
  nodePrices,
  oncePerSpec,
  requestsOf,
  viewsWith,
} from '../../cluster/cluster.js';
import type { ActivityDeps } from '../../activities/deps.js';
import { withOverlays } from '../../cluster/overlays.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { NodeView } from '../../disruption/candidates/candidates.js';
import { isOwnedBy, isTerminal } from '../../core/pods.js';
import { QuantityReader, readableRequests } from '../../packing/compile/pod-requests.js';
import { lookUp } from '../../core/own.js';
import { nameOf, isDeleting } from '../../core/names.js';

/** Labels of one series. */
export type Labels = Readonly<Record<string, string>>;
type Catalogues = ReadonlyMap<string, readonly InstanceType[]>;
type Amounts = ReadonlyMap<string, number>;

/** Totals over the pods of a node, in the units of `core/quantities.ts`. */
export interface PodSums {
  readonly requests: Amounts;
  readonly limits: Amounts;
  readonly daemonRequests: Amounts;
  readonly daemonLimits: Amounts;
}

/** A cloud that does not respond must not block the other metrics. */
const cloudTimeoutMs = 2000;

/** Data for several families, computed once per scrape. */
export class Scrape {
  readonly now: number;
  readonly pools = once(() => managedPools(this.deps));
  readonly nodes = once(() => nodesOf(this.deps));
  /** By node name. */
  readonly podSums = once(() => sumPods(this.deps));
  /** By NodePool name; empty if the cloud does not respond. */
  readonly catalogues = once(async () => withOverlays(this.deps, this.pools(), await this.cloudCatalogues()));
  /** The same without overlays. */
  private readonly cloudCatalogues = once(() => this.askCatalogues());

  constructor(readonly deps: ActivityDeps) {
    this.now = deps.now();
  }

  readonly views = once(async (): Promise<readonly NodeView[]> =>
    viewsWith(this.deps, (await nodePrices(this.deps, await this.cloudCatalogues())).prices),
  );

  private async askCatalogues(): Promise<Catalogues> {
    const pools = this.pools();
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<Catalogues>((resolve) => {
      timer = setTimeout(() => resolve(new Map()), cloudTimeoutMs);
    });
    try {
      return await Promise.race([cataloguesOf(this.deps, pools), patience]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Labels of nodes with a separate column in every series of a node, in display order. */
const coreColumns = [
  labels.nodePool,
  labels.instanceType,
  labels.zone,
  labels.arch,
  labels.os,
  labels.capacityType,
  labels.region,
  labels.windowsBuild,
];

/** Columns by label key, named as in Karpenter: `karpenter.k8s.aws/instance-cpu` is `instance_cpu`. */
function columnsOf({ cloud }: Pick<ActivityDeps, 'cloud'>): ReadonlyMap<string, string> {
  const keys = [...coreColumns, ...cloud.wellKnownLabels];
  return new Map(
    keys.map((key) => [
      key,
      key
        .slice(key.indexOf('/') + 1)
        .toLowerCase()
        .replaceAll(/[^a-z0-9_]/g, '_'),
    ]),
  );
}

export function nodeColumns(deps: Pick<ActivityDeps, 'cloud'>): readonly string[] {
  return ['node_name', ...new Set(columnsOf(deps).values()), 'phase', 'managed'];
}

/** Nodes with the labels of their series; a missing label is omitted, which Prometheus treats as empty. */
function nodesOf(deps: ActivityDeps): readonly (readonly [Node, Labels])[] {
  const columns = columnsOf(deps);
  const managed = new Set(managedClaims(deps).map(({ status }) => status?.providerID));
  return deps.cache.all('Node').map((node) => {
    const own: Record<string, string> = { node_name: nameOf(node) };
    for (const [key, column] of columns) {
      const value = lookUp(node.metadata.labels, key);
      if (value !== undefined) own[column] = value;
    }
    own['phase'] = isDeleting(node) ? 'Terminating' : '';
    own['managed'] = String(managed.has(node.spec?.providerID ?? 'none'));
    return [node, own];
  });
}

function sumPods({ cache }: ActivityDeps): ReadonlyMap<string, PodSums> {
  return new Map(
    cache.all('Node').map(({ metadata }) => {
      const name = metadata.name ?? '';
      const live = cache.podsOnNode(name).filter((pod) => !isTerminal(pod));
      const daemons = live.filter((pod) => isOwnedBy(pod, 'DaemonSet.apps'));
      return [
        name,
        {
          requests: sum(live.map(requestsOf)),
          limits: sum(live.map(limitsOf)),
          daemonRequests: sum(daemons.map(requestsOf)),
          daemonLimits: sum(daemons.map(limitsOf)),
        },
      ];
    }),
  );
}

const quantities = new QuantityReader();
const limitsOf = oncePerSpec((spec) => readableRequests(limitsOnly(spec), quantities));

/** The same spec with its limits as requests. */
function limitsOnly(spec: PodSpec): PodSpec {
  const only = <T extends Pick<PodSpec, 'resources'>>(part: T): T => ({
    ...part,
    resources: { limits: part.resources?.limits ?? {} },
  });
  const { resources, initContainers, ...rest } = spec;
  return {
    ...rest,
    containers: spec.containers.map((container) => only(container)),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map((container) => only(container)) }),
    ...(resources === undefined ? {} : { resources: { limits: resources.limits ?? {} } }),
  };
}

function sum(all: readonly Amounts[]): Amounts {
  const total = new Map<string, number>();
  for (const amounts of all) for (const [name, amount] of amounts) total.set(name, (total.get(name) ?? 0) + amount);
  return total;
}

export type Sample = readonly [labels: Labels, value: number];

/** One metric of the cluster's state, computed at each scrape. */
export interface Family {
  /** Without the prefix `karpenter_`, which is added except to names that begin with `operator_`. */
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly samples: (scrape: Scrape) => Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** CPU in cores, as usual in Prometheus; other resources in their base unit. */
export function inBaseUnits(resource: string, amount: number): number {
  return resource === 'cpu' ? amount / 1000 : amount;
}

/** Seconds from a time of the API server until `now`, at least 0; 0 if there is none. */
export function secondsSince(at: string | undefined, now: number): number {
  return Math.max(0, (now - Date.parse(at ?? '')) / 1000) || 0;
}
