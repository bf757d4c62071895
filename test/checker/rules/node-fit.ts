import { hostnameKey, poolKey } from '../catalogue.js';
import type { Pool } from '../cluster.js';
import { type FinalNode, type Placement, daemonsOn, fitsLabels } from '../placement.js';
import { type HostPort, type PodClass, hostPorts, portsClash } from '../pods.js';
import {
  type LabelDomain,
  domainMaySatisfy,
  domainSatisfies,
  leaveNothing,
  normalKey,
  untolerated,
} from '../selectors.js';
import type { Violation } from '../types.js';
import type { WrittenRequirement } from '../../../api/karpenter/requirements.js';

/** Node selector and affinity, taints and host ports of each pod on its node; and each claim within its NodePool. */
export function checkNodeFit(placement: Placement): Violation[] {
  return placement.nodes.flatMap((node) => [
    ...[...node.placed.keys()].flatMap((podClass) => podOnNode(node, podClass)),
    ...ports(placement, node),
    ...poolRequirements(placement, node),
  ]);
}

function podOnNode(node: FinalNode, podClass: PodClass): Violation[] {
  const violations: Violation[] = [];
  const report = (rule: Violation['rule'], message: string): void => {
    violations.push({ rule, node: node.name, pod: podClass.example, message });
  };
  const taint = untolerated(node.taints, podClass.spec.tolerations);
  if (taint !== undefined) report('taints', `does not tolerate ${taint.key}=${taint.value ?? ''}:${taint.effect}`);
  if (!fitsOnNode(node, podClass)) {
    report('requirements', 'node selector or required node affinity does not hold for all that the node may become');
  }
  return violations;
}

/** With the choice still open, an OR of terms may hold launch by launch though by no one label over all of them. */
function fitsOnNode(
  node: FinalNode,
  podClass: PodClass,
  view: (labels: LabelDomain) => LabelDomain = (labels) => labels,
): boolean {
  if (fitsLabels(podClass.spec, view(node.labels), node.name)) return true;
  if (node.claim === undefined || node.launches.length === 0) return false;
  return node.launches.every((launch) => fitsLabels(podClass.spec, view(launch.labels), node.name));
}

function ports(placement: Placement, node: FinalNode): Violation[] {
  const taken: { port: HostPort; owner: string; fresh: boolean }[] = [];
  const violations: Violation[] = [];
  const take = (port: HostPort, owner: string, fresh: boolean): void => {
    const clash = taken.find((other) => (fresh || other.fresh) && portsClash(other.port, port));
    if (clash !== undefined) {
      const message = `host port ${port.protocol} ${port.port} is taken by ${clash.owner}`;
      violations.push({ rule: 'host-ports', node: node.name, pod: owner, message });
    }
    taken.push({ port, owner, fresh });
  };
  const takeAll = (pods: ReadonlyMap<PodClass, number>, fresh: boolean): void => {
    for (const [podClass, count] of pods) {
      for (let i = 0; i < count && podClass.ports.length > 0; i++) {
        for (const port of podClass.ports) take(port, podClass.example, fresh);
      }
    }
  };
  if (node.placed.size === 0 || ![...node.placed.keys()].some((podClass) => podClass.ports.length > 0)) return [];
  takeAll(node.running, false);
  if (node.claim !== undefined) {
    for (const set of daemonsOn(placement.cluster.daemonSets, node.labels, node.taints, node.name)) {
      for (const port of hostPorts(set.spec.template.spec)) take(port, `daemon set ${set.metadata.name ?? ''}`, false);
    }
  }
  takeAll(node.placed, true);
  return violations;
}

function poolRequirements(placement: Placement, node: FinalNode): Violation[] {
  if (node.claim === undefined || node.pool === undefined) return [];
  const messages = [...outsidePool(node, node.pool), ...inventedLabels(placement, node, node.pool)];
  return messages.map((message) => ({ rule: 'pool-requirements', node: node.name, message }));
}

/** What the node may become that its NodePool does not allow. */
function outsidePool(node: FinalNode, pool: Pool): string[] {
  const all = pool.spec.template.spec.requirements ?? [];
  return all.flatMap((requirement) => {
    const key = normalKey(requirement.key);
    const values = node.labels(key);
    if (values === undefined && leaveNothing(all, key)) return [];
    const isAllowed =
      node.launches.length === 0
        ? domainSatisfies(node.labels, requirement)
        : node.launches.every((launch) => mayLaunch(launch, requirement));
    if (isAllowed) return [];
    const may = values === undefined ? `has no label ${key}` : `${key} may be ${values.join(', ')}`;
    return [`${may}, which its NodePool does not allow`];
  });
}

/**
 * Labels that neither the NodePool nor any type defines do not come to be because a pod wants them. (To satisfy NotIn an
 * engine may choose a value all the same: no pod may need it to be there.)
 */
function inventedLabels(placement: Placement, node: FinalNode, pool: Pool): string[] {
  const template = pool.spec.template;
  const { group, kind } = { group: '', kind: '', ...template.spec.nodeClassRef };
  const defined = new Set([
    ...Object.keys(template.metadata?.labels ?? {}).map(normalKey),
    ...(template.spec.requirements ?? []).map((requirement) => normalKey(requirement.key)),
    ...providedKeys(placement),
    `${group}/${kind.toLowerCase()}`,
    poolKey,
    hostnameKey,
  ]);
  const invented = new Set(
    [...Object.keys(node.claim?.labels ?? {}), ...(node.claim?.requirements ?? []).map(({ key }) => key)]
      .map(normalKey)
      .filter((key) => !defined.has(key)),
  );
  if (invented.size === 0) return [];
  const without =
    (labels: LabelDomain): LabelDomain =>
    (key) =>
      invented.has(key) ? undefined : labels(key);
  return [...node.placed.keys()]
    .filter((podClass) => fitsOnNode(node, podClass) && !fitsOnNode(node, podClass, without))
    .map(({ example }) => `${example} needs a label that neither the NodePool nor any type defines`);
}

/** A label of several values within one type (an operating system) is narrowed by the NodePool itself at launch. */
function mayLaunch({ type, labels }: FinalNode['launches'][number], requirement: WrittenRequirement): boolean {
  const isNarrowed = (type.labels.get(normalKey(requirement.key))?.length ?? 0) > 1;
  return (isNarrowed ? domainMaySatisfy : domainSatisfies)(labels, requirement);
}

const providedByCatalogue = new WeakMap<object, ReadonlySet<string>>();

function providedKeys(placement: Placement): ReadonlySet<string> {
  let keys = providedByCatalogue.get(placement.types);
  if (keys === undefined) {
    const all = new Set<string>();
    for (const type of placement.types.values()) {
      for (const key of type.labels.keys()) all.add(key);
      for (const offer of type.offers) for (const key of offer.labels.keys()) all.add(key);
    }
    keys = all;
    providedByCatalogue.set(placement.types, keys);
  }
  return keys;
}
