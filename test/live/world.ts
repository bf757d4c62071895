import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { nodePools } from '../../api/karpenter/node-pool.js';
import type { Pod } from '../../api/kubernetes.js';
import { CloudProxyControl } from '../../tools/stack/cloud-proxy/control.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import { stackParts } from '../../tools/stack/components.js';
import { nodeClassSpec } from '../../tools/stack/node-class.js';
import { startStack, type Stack, type StackOptions } from '../../tools/stack/stack.js';
import { createKubeClient } from '../../kube/client.js';
import type { KubeClient, Kinds, NewObject } from '../../kube/port.js';

/** A stack with Stowage as a process, and clients of a person who looks on. */
export interface LiveWorld {
  readonly stack: Stack;
  readonly kube: KubeClient;
  readonly cloud: CloudProxyControl;
  readonly temporal: Connection;
  /** Ends the clients; every process goes on. */
  leave(): Promise<void>;
  /** Stops every process and removes what they wrote. */
  stop(): Promise<void>;
}

type WorldOptions = Pick<StackOptions, 'temporalSettings' | 'proxy' | 'instanceFamilies'>;

/** A world of a test file's own. */
export function startLiveWorld(name: string, options: WorldOptions = {}): Promise<LiveWorld> {
  return openWorld(mkdtempSync(join(tmpdir(), `stowage-${name}-`)), name, options);
}

/** The world whose stack is in `folder`: started, or entered where it runs. */
export async function openWorld(folder: string, name: string, options: WorldOptions = {}): Promise<LiveWorld> {
  const stack = await startStack({
    ...{ folder, name, parts: stackParts, moto: process.env.STOWAGE_TEST_MOTO },
    ...options,
  });
  const kube = createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: `${name}-test` });
  const temporal = await Connection.connect({ address: stack.temporalAddress ?? '' }).catch(async (error: unknown) => {
    kube.close();
    await stack.stop();
    throw error;
  });
  const leave = async (): Promise<void> => {
    await temporal.close();
    kube.close();
  };
  return {
    stack,
    kube,
    cloud: new CloudProxyControl(stack.awsEndpoint ?? ''),
    temporal,
    leave,
    stop: async () => {
      await recordHistories(stack);
      await leave();
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** For test/replay: with RECORD_HISTORIES=VERSION what was played is kept. */
async function recordHistories({ temporalAddress }: Stack): Promise<void> {
  const version = process.env.RECORD_HISTORIES;
  if (version === undefined || temporalAddress === undefined) return;
  const env = { ...process.env, TEMPORAL_ADDRESS: temporalAddress };
  await promisify(execFile)(process.execPath, ['test/replay/record.mjs', version], { env });
}

/** An EC2NodeClass that finds the subnets and security groups of the stack's cluster. */
export async function createNodeClass(
  { kube, stack }: Pick<LiveWorld, 'kube' | 'stack'>,
  name: string,
  spec: object = {},
): Promise<void> {
  await kube.create('EC2NodeClass', {
    metadata: { name },
    spec: { ...nodeClassSpec(stack.cluster), ...spec },
  } as unknown as NewObject<Kinds['EC2NodeClass']>);
}

interface PoolSpec {
  /** The name of its EC2NodeClass. */
  readonly nodeClass?: string;
  /** What `spec.template.spec` says besides the node class. */
  readonly template?: object;
  /** What `spec` says besides the template, such as `disruption`. */
  readonly spec: object;
}

/** A NodePool with the defaults of its CRD; one that is there gets this spec. */
export async function createNodePool(
  { kube }: Pick<LiveWorld, 'kube'>,
  name: string,
  { nodeClass = 'default', template, spec: more }: PoolSpec,
): Promise<void> {
  const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: nodeClass };
  const { spec } = nodePools.mustParse({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: { template: { spec: { requirements: [], nodeClassRef, ...template } }, ...more },
  });
  const { outcome } = await kube.create('NodePool', { metadata: { name }, spec });
  if (outcome === 'exists') await kube.patch('NodePool', { name }, { spec });
}

/** A NodePool `default` that keeps its nodes, and its node class. */
export async function createDefaultPool(world: Pick<LiveWorld, 'kube' | 'stack'>): Promise<void> {
  await createNodeClass(world, 'default');
  await createNodePool(world, 'default', { spec: { disruption: { consolidateAfter: 'Never' } } });
}

/** A Deployment `name` whose pods are labelled `app=name`, in namespace default. */
export async function deploy(
  { kube }: Pick<LiveWorld, 'kube'>,
  name: string,
  requests: Readonly<Record<string, string>>,
  replicas = 1,
): Promise<void> {
  await kube.create('Deployment', deploymentOf(name, replicas, requests));
}

export const isRunning = ({ status, metadata }: Pod): boolean =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined;

/** The node on which a pod of the Deployment runs. */
export async function nodeOf({ kube }: Pick<LiveWorld, 'kube'>, app: string): Promise<string | undefined> {
  const pods = await kube.list('Pod', { namespace: 'default', labelSelector: `app=${app}` });
  return pods.find(isRunning)?.spec.nodeName;
}

export const within = (seconds: number): { withinMs: number } => ({ withinMs: seconds * 1000 });

/**
 * The answer to an update of a workflow. Temporal gives up on one after ten seconds, and a worker that was just started may take longer under load: it is
 * sent again then, as users do. It must do no harm twice.
 */
export async function answered<T>(send: () => Promise<T>): Promise<T> {
  const { answer } = await observe(
    'An answer to the update',
    () =>
      send().then(
        (answer) => ({ answer }),
        (error: unknown) => {
          if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) return undefined;
          throw error;
        },
      ),
    within(120),
  );
  return answer;
}
