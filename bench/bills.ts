import { nodePools } from '../api/karpenter/node-pool.js';
import { coreWellKnownLabels, labels } from '../api/labels.js';
import type { Pod } from '../api/kubernetes.js';
import { readCommitments, type Commitment } from '../api/stowage/commitments.js';
import { listPrices } from '../cloud/aws/list-prices.js';
import { nodeExtras } from '../cloud/aws/node-extras.js';
import type { InstanceType } from '../core/instance-type.js';
import { parseResources } from '../core/resources.js';
import { plan } from '../packing/plan.js';
import type { Plan } from '../packing/types.js';

/** One way to plan, and what AWS would bill for it. */
export interface Bill {
  /** Such as `2 x c6a.4xlarge`. */
  readonly nodes: string;
  /** What the plan says that it costs, dollars per hour. */
  readonly planned: number;
  readonly billed: number;
}

/** The same pods planned twice: once by machine prices at list, as if there were nothing else, and once by what the bill says. */
export interface BillExample {
  readonly about: string;
  /** What the first plan goes by. */
  readonly goesBy: string;
  readonly ignoring: Bill;
  readonly counting: Bill;
}

export const region = 'us-east-1';
const list = listPrices(region);
/** When AWS had the prices. */
export const pricesOf = new Date(list.asOf).toISOString().slice(0, 10);

/** vCPU and GiB of what may be bought. */
const machines: Readonly<Record<string, readonly [cpu: number, memory: number]>> = {
  't3.medium': [2, 4],
  't3.large': [2, 8],
  'c6a.xlarge': [4, 8],
  'c6a.4xlarge': [16, 32],
  'm5.xlarge': [4, 16],
  'm5.4xlarge': [16, 64],
};

/** A root volume of size, and one public address. */
const nodeClass = {
  amiSelectorTerms: [{ alias: 'al2023@latest' }],
  blockDeviceMappings: [
    {
      deviceName: '/dev/xvda',
      rootVolume: true,
      ebs: { volumeType: 'gp3' as const, volumeSize: '200Gi', iops: 6000, throughput: 250 },
    },
  ],
};
const { volumes, publicAddress } = nodeExtras(nodeClass, region);
/** Of each node besides its machine, dollars per hour. */
export const extras = { volumes, publicAddress };

const priceOf = (type: string): number => list.prices[type]!;

function catalogue(extra: number): InstanceType[] {
  return Object.entries(machines).map(([name, [cpu, memory]]) => ({
    name,
    requirements: [
      { key: labels.instanceType, operator: 'In', values: [name] },
      { key: labels.arch, operator: 'In', values: ['amd64'] },
      { key: labels.os, operator: 'In', values: ['linux'] },
    ],
    offerings: [
      {
        requirements: [
          { key: labels.capacityType, operator: 'In', values: ['on-demand'] },
          { key: labels.zone, operator: 'In', values: [`${region}a`] },
        ],
        price: priceOf(name) + extra,
        machinePrice: priceOf(name),
        available: true,
      },
    ],
    capacity: parseResources({ cpu, memory: `${memory}Gi`, pods: 110 }),
    overhead: {},
  }));
}

const pod = (index: number): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `web-${index}`, namespace: 'default', uid: `web-${index}` },
  spec: { containers: [{ name: 'web', resources: { requests: { cpu: '1', memory: '1536Mi' } } }] },
  status: {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
  },
});

function planned(extra: number, commitments: readonly Commitment[] = []): Plan {
  const types = catalogue(extra);
  const pool = nodePools.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: 'general', uid: 'general' },
    spec: {
      template: {
        spec: {
          requirements: [{ key: labels.capacityType, operator: 'In', values: ['on-demand'] }],
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        },
      },
    },
  });
  return plan({
    objects: { pods: Array.from({ length: 32 }, (_, index) => pod(index)), nodePools: [pool] },
    catalogues: new Map([['general', types]]),
    settings: {
      preferencePolicy: 'Respect',
      minValuesPolicy: 'Strict',
      wellKnownLabels: [...coreWellKnownLabels],
      listedTypes: 60,
      commitments,
    },
    now: list.asOf,
  });
}

/** What AWS bills for a plan's nodes: machines that no commitment covers, all volumes and addresses, and what is committed, used or not. */
function billOf({ newNodeClaims, pricePerHour }: Plan, committed: number): Bill {
  const counts = new Map<string, number>();
  let billed = committed;
  for (const { cheapest } of newNodeClaims) {
    const what = `${cheapest.instanceType}${cheapest.commitment === undefined ? '' : ' (covered)'}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
    billed += volumes + publicAddress + (cheapest.commitment === undefined ? priceOf(cheapest.instanceType) : 0);
  }
  const nodes = [...counts].map(([what, count]) => `${count} x ${what}`).sort();
  return { nodes: nodes.join(', '), planned: pricePerHour, billed };
}

/** The examples of docs/bills.md. */
export function billExamples(): BillExample[] {
  const perHour = 1.2;
  const { commitments } = readCommitments(
    {
      commitments: [{ kind: 'EC2InstanceSavingsPlan', name: 'm5', instanceFamily: 'm5', perHour, discount: 0.28 }],
    },
    'bills',
  );
  const whole = volumes + publicAddress;
  return [
    {
      about: 'Each node has a volume of gp3 with 200 GiB, 6000 IOPS and 250 MiB/s, and a public IPv4 address.',
      goesBy: 'machines alone',
      ignoring: billOf(planned(0), 0),
      counting: billOf(planned(whole), 0),
    },
    {
      about: `So it is, and the account has an EC2 Instance Savings Plan of $${perHour.toFixed(2)} an hour for the family m5, at 28% below list.`,
      goesBy: 'list prices',
      ignoring: billOf(planned(whole), perHour),
      counting: billOf(planned(whole, commitments), perHour),
    },
  ];
}
