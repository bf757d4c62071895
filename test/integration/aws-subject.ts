import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EC2NodeClass, EC2NodeClassStatus } from '../../api/aws/ec2-node-class.js';
import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { AwsOptions } from '../../cloud/aws/options.js';
import { createAwsProvider } from '../../cloud/aws/provider.js';
import type { CloudProvider, LaunchRequest } from '../../cloud/port.js';
import { conditionOf } from '../../core/conditions.js';
import { isDomainError } from '../../core/failures.js';
import { nodeClassSpec } from '../../tools/stack/node-class.js';
import type { StackPart } from '../../tools/stack/components.js';
import type { Stack } from '../../tools/stack/stack.js';
import { providersRegion } from '../builders/small-region.js';
import { useStack } from './shared-stack.js';

/** The stack of the tests of the provider (shared-stack.ts), in a region with some of EC2's instance types. */
export const useCloud = (...more: readonly StackPart[]): ReturnType<typeof useStack> =>
  useStack(['cloud', ...more], { instanceFamilies: providersRegion });

/**
 * An AWS provider against the stack's cloud, under the policy that an installation has, or with the `accessKey` of another user. `shift`
 * moves its clock forward by milliseconds.
 */
export function awsProvider(
  stack: Stack,
  more: Partial<AwsOptions> = {},
  accessKey = 'stowage',
): { readonly provider: CloudProvider; readonly shift: (ms: number) => void; readonly problems: string[] } {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: 'local' });
  let offset = 0;
  const problems: string[] = [];
  const provider = createAwsProvider({
    region: stack.region,
    clusterName: stack.cluster,
    endpoint: stack.awsEndpoint!,
    clusterEndpoint: 'https://cluster.example',
    caBundle: 'Q0E=',
    kubernetesVersion: () => Promise.resolve('v1.32.1'),
    onProblem: (message) => problems.push(message),
    clock: {
      now: () => Date.now() + offset,
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, ms);
          signal?.addEventListener('abort', () => {
            clearTimeout(timer);
            resolve();
          });
        }),
    },
    ...more,
  });
  return { provider, shift: (ms) => (offset += ms), problems };
}

/** A node class as the API server would hold it, not resolved yet. */
export function nodeClass(stack: Stack, spec: Partial<EC2NodeClass['spec']> = {}, name = 'default'): EC2NodeClass {
  const parsed = ec2NodeClasses.parse({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name, uid: `node-class-${name}`, generation: 1 },
    spec: { ...nodeClassSpec(stack.cluster), ...spec },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed));
  return parsed.value;
}

/** The lags of EC2 and IAM, short: tests of what they do to a launch set their own. */
export const briefLags = { visibleAfterMs: 200, tagsAfterMs: 100, profileUnknownMs: 500 };

/** The node class with the status and annotations that the provider resolves for it, once EC2 has heard of its profile. */
export async function resolved(provider: CloudProvider, given: EC2NodeClass): Promise<EC2NodeClass> {
  for (;;) {
    const { status, annotations } = await provider.resolveNodeClass(given);
    const resolvedClass = { ...given, metadata: { ...given.metadata, annotations }, status };
    const { reason } = conditionOf((status as EC2NodeClassStatus).conditions, 'ValidationSucceeded') ?? {};
    if (reason !== 'InstanceProfileNotFound') return resolvedClass;
    await sleep(100);
  }
}

const looks = 100;

/** An answer that EC2 gives once it has caught up with itself, or the last one when it does not come to be `enough`. */
export async function settled<T>(ask: () => Promise<T>, enough: (answer: T) => boolean = () => true): Promise<T> {
  for (let look = 1; ; look++) {
    try {
      const answer = await ask();
      if (enough(answer) || look >= looks) return answer;
    } catch (error) {
      if (!isDomainError(error, 'Unavailable') || look >= looks) throw error;
    }
    await sleep(50);
  }
}

export const pool = { metadata: { name: 'general' } } as NodePool;

export type Requirements = NodeClaim['spec']['requirements'];

export const need = (key: string, ...values: string[]): Requirements[number] => ({ key, operator: 'In', values });

/** A claim of a name and UID that no other has: files of one run share the cloud, and a UID has one instance. */
export function claim(requirements: Requirements = [], requests: Record<string, string> = { cpu: '1' }): NodeClaim {
  const name = `general-${randomUUID()}`;
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name, uid: `uid-${name}`, labels: { 'karpenter.sh/nodepool': 'general', team: 'blue' } },
    spec: {
      requirements,
      resources: { requests },
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      expireAfter: '720h',
      startupTaints: [{ key: 'example.com/starting', effect: 'NoSchedule' }],
    },
  };
}

export function requestFor(given: NodeClaim, resolvedClass: EC2NodeClass, firstAttempt = true): LaunchRequest {
  return { claim: given, nodeClass: resolvedClass, clientToken: given.metadata.uid ?? '', firstAttempt };
}
