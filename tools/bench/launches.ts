import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { nodeClaims } from '../../api/karpenter/node-claim.js';
import { nodePools } from '../../api/karpenter/node-pool.js';
import { createAwsProvider } from '../../cloud/aws/provider.js';
import { isDomainError } from '../../core/failures.js';
import { nodeClassSpec } from '../stack/node-class.js';
import { CloudProxyControl } from '../stack/cloud-proxy/control.js';
import type { Stack } from '../stack/stack.js';

export interface LaunchesResult {
  readonly claims: number;
  /** Instances of these claims afterwards. */
  readonly instances: number;
  /** Claims that have other than one. */
  readonly wrong: number;
  readonly fleets: number;
  /** Of these, refused with `RequestLimitExceeded`. */
  readonly throttled: number;
  readonly seconds: number;
}

/** EC2's request budget of CreateFleet: so many at once, then so many a second. */
export interface FleetBudget {
  readonly burst: number;
  readonly perSecond: number;
}

/** What Stowage's own limiter counts on, and an account with half of it. */
export const fleetBudgets: readonly FleetBudget[] = [
  { burst: 100, perSecond: 20 },
  { burst: 50, perSecond: 10 },
];

/** Attempts of one launch; each tries a throttled call four times. A worker's retry policy tries for five minutes. */
const attempts = 12;

/** Launches so many claims at once by one worker's provider, against a cloud that throttles as EC2 does. */
export async function launchAtOnce(stack: Stack, count: number, budget: FleetBudget): Promise<LaunchesResult> {
  const { region, cluster: clusterName, awsEndpoint = '' } = stack;
  const control = new CloudProxyControl(awsEndpoint);
  const provider = createAwsProvider({
    region,
    clusterName,
    endpoint: awsEndpoint,
    clusterEndpoint: 'https://cluster.example',
    caBundle: 'Q0E=',
    kubernetesVersion: () => Promise.resolve('v1.32.1'),
  });
  // The lags of EC2 are none of what is measured.
  await control.configure({ visibleAfterMs: 0, tagsAfterMs: 0, profileUnknownMs: 0 });
  const given = nodeClassOf(clusterName);
  const { status, annotations } = await provider.resolveNodeClass(given);
  const nodeClass = { ...given, metadata: { ...given.metadata, annotations }, status } as EC2NodeClass;
  await provider.instanceTypes(pool, nodeClass);
  await control.configure({ rateLimits: { CreateFleet: budget } });
  await control.clearRequests();
  const claims = Array.from({ length: count }, (_, serial) => claimOf(serial));
  const started = performance.now();
  await Promise.all(claims.map((claim) => launchOne(provider, claim, nodeClass)));
  const seconds = (performance.now() - started) / 1000;
  const fleets = await control.requests({ service: 'ec2', action: 'CreateFleet' });
  await control.configure({ rateLimits: {} });
  const found = new Map<string, number>();
  for (const { tags } of await provider.list()) {
    const uid = tags['stowage.dev/nodeclaim-uid'] ?? '';
    found.set(uid, (found.get(uid) ?? 0) + 1);
  }
  const own = claims.map(({ metadata: { uid = '' } }) => found.get(uid) ?? 0);
  return {
    claims: count,
    instances: own.reduce((sum, instances) => sum + instances, 0),
    wrong: own.filter((instances) => instances !== 1).length,
    fleets: fleets.length,
    throttled: fleets.filter(({ error }) => error === 'RequestLimitExceeded').length,
    seconds,
  };
}

const pool = nodePools.mustParse({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'general' },
  spec: {
    template: {
      spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
    },
  },
});

function nodeClassOf(cluster: string): EC2NodeClass {
  return ec2NodeClasses.mustParse({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: 'default', uid: 'launches', generation: 1 },
    spec: nodeClassSpec(cluster),
  });
}

function claimOf(serial: number): NodeClaim {
  return nodeClaims.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: `general-${serial}`, uid: `launch-${serial}`, labels: { 'karpenter.sh/nodepool': 'general' } },
    spec: {
      requirements: [
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['m5.large', 'c5.large', 'r5.large'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
      ],
      resources: { requests: { cpu: '1' } },
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    },
  });
}

/** Launches for one claim, again for as long as EC2 throttles. */
async function launchOne(
  provider: ReturnType<typeof createAwsProvider>,
  claim: ReturnType<typeof claimOf>,
  nodeClass: EC2NodeClass,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const clientToken = claim.metadata.uid ?? '';
    try {
      const result = await provider.launch({ claim, nodeClass, clientToken, firstAttempt: attempt === 1 });
      if (result.ok) return;
      throw new Error(result.error.message);
    } catch (error) {
      if (!isDomainError(error, 'Throttled') || attempt === attempts) throw error;
    }
  }
}
