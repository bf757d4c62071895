import { afterAll, beforeAll } from '@jest/globals';
import { Client, type WorkflowHandle } from '@temporalio/client';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import { isTrue } from '../../core/conditions.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { onSharedWorld } from '../live/shared-world.js';
import { nodeOf, startLiveWorld, within, type LiveWorld } from '../live/world.js';

/** None fits beside another on a node that is there. */
export const large = { cpu: '6', memory: '6Gi' };

export const instanceOf = ({ status }: NodeClaim): string => status?.providerID?.split('/').at(-1) ?? '';

export const isInitialized = ({ status }: NodeClaim): boolean => isTrue(status?.conditions, 'Initialized');

/** The world of a test file, between the hooks that `containment` or `sharedContainment` sets. */
export class Containment {
  private running: { readonly world: LiveWorld; readonly client: Client } | undefined;

  enter(world: LiveWorld): void {
    this.running = { world, client: new Client({ connection: world.temporal }) };
  }

  get world(): LiveWorld {
    return this.up.world;
  }

  get client(): Client {
    return this.up.client;
  }

  get cluster(): string {
    return this.world.stack.cluster;
  }

  private get up(): NonNullable<typeof this.running> {
    if (this.running === undefined) throw new Error('the stack of the containment tests does not run yet');
    return this.running;
  }

  async claims(): Promise<NodeClaim[]> {
    return this.world.kube.list('NodeClaim');
  }

  workflow(id: string): WorkflowHandle {
    return this.client.workflow.getHandle(id);
  }

  /** Whether a run of the workflow is open. */
  async isOpen(id: string): Promise<boolean> {
    const found = await this.workflow(id)
      .describe()
      .catch(() => undefined);
    return found?.status.name === 'RUNNING';
  }

  /** Looks until it holds. */
  async until(what: string, holds: () => Promise<boolean>, seconds: number): Promise<void> {
    await observe(what, holds, within(seconds), () => this.describe());
  }

  /** The claim of which `holds`; there is to be one. */
  async claim(what: string, holds: (claim: NodeClaim) => boolean, seconds = 120): Promise<NodeClaim> {
    return observe(
      `A claim ${what}`,
      async () => (await this.claims()).find(holds),
      within(seconds),
      () => this.describe(),
    );
  }

  /** The node on which the pod of the Deployment runs, another one than `before`. */
  async runs(app: string, before?: string, seconds = 240): Promise<string> {
    const look = async (): Promise<string | undefined> => {
      const node = await nodeOf(this.world, app);
      return node === before ? undefined : node;
    };
    return observe(`The pod of ${app} running`, look, within(seconds), () => this.describe());
  }

  /** The claim of the node on which the pod of the Deployment runs, once it is initialized. */
  async claimUnder(app: string): Promise<NodeClaim> {
    const node = await this.runs(app);
    return this.claim(`of ${node}`, (claim) => claim.status?.nodeName === node && isInitialized(claim));
  }

  /** The machines that were launched for the claim, those that are gone included. */
  async machinesOf({ metadata: { uid } }: NodeClaim): Promise<{ id: string; state: string }[]> {
    const all = await this.world.cloud.instances();
    return all.filter(({ tags }) => tags['stowage.dev/nodeclaim-uid'] === uid).map(({ id, state }) => ({ id, state }));
  }

  async describe(): Promise<string> {
    const claims = await this.claims().catch(() => []);
    const conditions = ({ status }: NodeClaim): string =>
      (status?.conditions ?? []).map(({ type, status: value }) => `${type}=${value}`).join(' ');
    return claims.map((claim) => `${claim.metadata.name ?? ''} ${conditions(claim)}`).join('; ');
  }

  async stop(): Promise<void> {
    await this.running?.world.stop();
  }
}

/** The tests of the file are on a world that files pass on (test/live/shared-world.ts), once `prepare` has made what they begin with. */
export function sharedContainment(prepare: (world: LiveWorld) => Promise<void>): Containment {
  const on = new Containment();
  onSharedWorld(async (world) => {
    on.enter(world);
    await prepare(world);
  });
  return on;
}

/** A stack of its own for the tests of the file, once `prepare` has made what they begin with. */
export function containment(
  name: string,
  prepare: (world: LiveWorld) => Promise<void>,
  options: Parameters<typeof startLiveWorld>[1] = {},
): Containment {
  const on = new Containment();
  beforeAll(async () => {
    const world = await startLiveWorld(name, options);
    on.enter(world);
    await prepare(world);
  });
  afterAll(async () => on.stop());
  return on;
}
