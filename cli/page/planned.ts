import { labels } from '../../api/labels.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { Node, Pod } from '../../api/kubernetes.js';
import { claimLifecycle } from '../../core/conditions.js';
import { allocatableOf } from '../../core/launch-options.js';
import { fullName, nameOf } from '../../core/names.js';
import { lookUp } from '../../core/own.js';
import { formatResource } from '../../core/quantities.js';
import { counted } from '../../core/text.js';
import { pricesIn } from '../../disruption/candidates/node-prices.js';
import type { Consolidation } from '../../disruption/consolidation/types.js';
import type { PackingInput, Plan, PlannedClaim } from '../../packing/types.js';
import { type ConsolidateOptions, consolidationOfFiles } from '../consolidate.js';
import { packingInputOfFiles, type PlanOptions, provenPlan } from '../plan.js';
import { PageNodes, pricesByPool } from './nodes.js';
import { pageFile } from './page-file.js';
import { type PageSnapshot, pageVersion } from './snapshot.js';

type Drawn = Parameters<PageNodes['read']>[0][number];

/** `stowage plan -o html` on files. */
export const planPageOfFiles = (options: PlanOptions): string => pageFile(planSnapshot(packingInputOfFiles(options)));

/** `stowage consolidate -o html`. */
export const consolidationPage = (options: ConsolidateOptions): string => pageFile(consolidationSnapshot(options));

/** The nodes that are there and those that would be launched. */
export function planSnapshot(input: PackingInput): PageSnapshot {
  const plan = provenPlan(input);
  const there = nodesThere(input, plan.existingNodes);
  const launched = plan.newNodeClaims.map((claim, n) => launchOf(input, claim, n));
  return snapshotOf(input, [...there, ...launched], {
    cluster: `Plan: ${counted(launched.length, 'node')} to launch`,
    leastPossiblePerHour: there.reduce((sum, { pricePerHour }) => sum + pricePerHour, plan.lowerBoundPerHour),
    waiting: byReason(plan.unschedulable.map(({ pod, reason }) => [reason, pod])).map(([why, pods]) => ({
      ...{ why, pods, count: pods.length },
    })),
    needs: excluded(plan),
  });
}

/** The nodes that are there, and the steps that move their pods. */
export function consolidationSnapshot(options: ConsolidateOptions, warn?: (line: string) => void): PageSnapshot {
  const { input, result } = consolidationOfFiles(options, warn);
  const nodeOf = new Map(input.objects.pods.map((pod) => [fullName(pod), pod.spec.nodeName ?? '']));
  return snapshotOf(input, nodesThere(input, []), {
    cluster: `Consolidation in ${counted(result.commands.length, 'step')}`,
    commands: result.commands.map((command, n) => ({
      ...{ workflowId: `step ${n + 1}`, reason: `${command.method} ${command.decision}`, phase: `step ${n + 1}` },
      nodes: [...command.candidates],
      launches: command.replacements.map(({ nodePool: pool, cheapest, pods }, i) => ({
        ...{ name: `replacement-${n}-${i}`, pool, type: cheapest.instanceType, zone: cheapest.zone },
        ...{ capacityType: cheapest.capacityType, pricePerHour: cheapest.pricePerHour, pods: pods.length },
      })),
      moves: command.moves.map(({ pod, to }) => {
        const from = nodeOf.get(pod) ?? '';
        nodeOf.set(pod, to);
        return { pod, from, to };
      }),
      savesPerHour: command.priceBefore - command.priceAfter,
    })),
    stays: byReason([...result.held, ...result.notTaken].map(({ why, node }) => [why, node])).map(([why, nodes]) => ({
      ...{ why, nodes },
    })),
    needs: excluded(result),
  });
}

function snapshotOf(input: PackingInput, drawn: readonly Drawn[], more: Partial<PageSnapshot>): PageSnapshot {
  const pages = new PageNodes();
  const nodes = pages.read(drawn, []);
  const prices = pricesByPool(nodes);
  return {
    ...{ version: pageVersion, cluster: '', at: input.now, problems: [], temporal: '', pauses: [], needs: [] },
    ...{ waiting: [], commands: [], rollouts: [], stays: [], nextWindow: '', decisions: [], series: [] },
    pricePerHour: nodes.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0),
    pools: input.objects.nodePools.map(nameOf).map((name) => ({
      ...{ name, ready: 'True', message: '', limits: [], budgets: [], pricePerHour: lookUp(prices, name) ?? 0 },
      nodes: nodes.filter(({ pool }) => pool === name).length,
    })),
    ...{ nodes, workloads: pages.workloads },
    ...more,
  };
}

/** Nodes with their pods, and the pending ones that would be placed there. */
function nodesThere({ objects, ...input }: PackingInput, placed: Plan['existingNodes']): Drawn[] {
  const { prices } = pricesIn({ objects, ...input });
  const byName = new Map(objects.pods.map((pod) => [fullName(pod), pod]));
  const podsOn = new Map<string, Pod[]>(
    placed.map(({ node, pods }) => [node, pods.flatMap((pod) => byName.get(pod) ?? [])]),
  );
  for (const pod of objects.pods) {
    const { nodeName = '' } = pod.spec;
    if (nodeName !== '') podsOn.set(nodeName, [...(podsOn.get(nodeName) ?? []), pod]);
  }
  const claims = new Map((objects.nodeClaims ?? []).map((claim) => [claim.status?.nodeName ?? '', claim]));
  return (objects.nodes ?? []).map((node) => {
    const name = nameOf(node);
    const claim = claims.get(name) ?? claimOf(name, node.metadata.labels ?? {}, claimLifecycle);
    const pricePerHour = prices.of(node.metadata.labels ?? {}, name) ?? 0;
    return { claim, node, pods: podsOn.get(name) ?? [], pricePerHour };
  });
}

function launchOf({ objects, catalogues }: PackingInput, planned: PlannedClaim, n: number): Drawn {
  const { nodePool, cheapest, pods } = planned;
  const wanted = new Set(pods);
  const type = catalogues.get(nodePool)?.find(({ name }) => name === cheapest.instanceType);
  const allocatable = Object.entries(type === undefined ? planned.requests : allocatableOf(type));
  const own = {
    [labels.nodePool]: nodePool,
    [labels.instanceType]: cheapest.instanceType,
    [labels.zone]: cheapest.zone,
    [labels.capacityType]: cheapest.capacityType,
  };
  const claim = claimOf(`new node ${n + 1}`, own, []);
  const written = allocatable.map(([name, amount]) => [name, formatResource(name, amount)]);
  return {
    claim: {
      ...claim,
      status: { ...claim.status, allocatable: Object.fromEntries(written) as Record<string, string> },
    },
    pods: objects.pods.filter((pod) => wanted.has(fullName(pod))),
    pricePerHour: cheapest.pricePerHour,
  };
}

/** A NodeClaim as far as the page reads it, of which these conditions are true. */
const claimOf = (name: string, own: NonNullable<Node['metadata']['labels']>, isTrue: readonly string[]): NodeClaim =>
  ({
    metadata: { name, labels: own },
    status: { conditions: isTrue.map((type) => ({ type, status: 'True' })) },
  }) as NodeClaim;

const excluded = ({ setAside = [] }: Pick<Plan | Consolidation, 'setAside'>): PageSnapshot['needs'] =>
  setAside.map(({ kind, name, error }) => ({ kind: 'problem', subject: `${kind} ${name}`, text: error, orders: [] }));

function byReason(pairs: readonly (readonly [string, string])[]): [string, string[]][] {
  const groups = new Map<string, string[]>();
  for (const [why, name] of pairs) groups.set(why, [...(groups.get(why) ?? []), name]);
  return [...groups];
}
