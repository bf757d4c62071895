import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { CloudProxyControl } from '../../devstack/cloud-proxy/control.js';
import { stackParts } from '../../devstack/components.js';
import { nodeClassSpec } from '../../devstack/node-class.js';
import { startStack, type Stack } from '../../devstack/stack.js';
import { createKubeClient } from '../../kube/client.js';
import type { KubeClient, Kinds, NewObject } from '../../kube/port.js';

/** A stack of a test file's own, with Stowage as a process, and clients of a person who looks on. */
export interface LiveWorld {
  readonly stack: Stack;
  readonly kube: KubeClient;
  readonly cloud: CloudProxyControl;
  readonly temporal: Connection;
  /** Stops every process and removes what they wrote. */
  stop(): Promise<void>;
}

export async function startLiveWorld(name: string): Promise<LiveWorld> {
  const folder = mkdtempSync(join(tmpdir(), `stowage-${name}-`));
  const stack = await startStack({ folder, name, parts: stackParts });
  const kube = createKubeClient({ kubeconfig: stack.adminKubeconfig ?? '', userAgent: `${name}-test` });
  const temporal = await Connection.connect({ address: stack.temporalAddress ?? '' });
  return {
    stack,
    kube,
    cloud: new CloudProxyControl(stack.awsEndpoint ?? ''),
    temporal,
    stop: async () => {
      await temporal.close();
      kube.close();
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An EC2NodeClass that finds the subnets and security groups of the stack's cluster. */
export async function createNodeClass({ kube, stack }: LiveWorld, name: string, spec: object = {}): Promise<void> {
  await kube.create('EC2NodeClass', {
    metadata: { name },
    spec: { ...nodeClassSpec(stack.cluster), ...spec },
  } as unknown as NewObject<Kinds['EC2NodeClass']>);
}

export const within = (seconds: number): { withinMs: number } => ({ withinMs: seconds * 1000 });
