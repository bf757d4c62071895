import { nodePools } from '../../../api/karpenter/node-pool.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import type { Node, Pod } from '../../../api/kubernetes.js';
import { labels } from '../../../api/labels.js';
import { isTrue } from '../../../core/conditions.js';
import type { ClusterCache, KubeClient } from '../../../kube/port.js';
import type { CloudProxyControl } from '../cloud-proxy/control.js';
import { deploymentOf } from '../deployment.js';

const namespace = 'default';
const patienceMs = 1_800_000;

export interface LaneWorld {
  readonly kube: KubeClient;
  readonly cloud: CloudProxyControl;
  readonly cache: ClusterCache;
}

export interface PoolOptions {
  readonly types: readonly string[];
  readonly capacityType?: 'spot' | 'on-demand';
  /** What `spec.template.spec` says besides. */
  readonly template?: object;
  /** What `spec` says besides. */
  readonly spec?: object;
}

/** A NodePool and the Deployments that only its nodes may run: what happens in one lane concerns no other. */
export class Lane {
  constructor(
    private readonly world: LaneWorld,
    readonly pool: string,
  ) {}

  get cloud(): CloudProxyControl {
    return this.world.cloud;
  }

  async createPool({ types, capacityType = 'on-demand', template, spec }: PoolOptions): Promise<void> {
    const requirements = [
      { key: labels.capacityType, operator: 'In', values: [capacityType] },
      { key: labels.instanceType, operator: 'In', values: [...types] },
    ];
    const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
    const made = nodePools.mustParse({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name: this.pool },
      spec: {
        template: { spec: { requirements, nodeClassRef, expireAfter: 'Never', ...template } },
        disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '50%' }] },
        ...spec,
      },
    });
    await this.world.kube.create('NodePool', { metadata: { name: this.pool }, spec: made.spec });
  }

  async changePool(spec: object): Promise<void> {
    await this.world.kube.patch('NodePool', { name: this.pool }, { spec });
  }

  /** A Deployment without replicas; at most one of its pods may be away at a time. */
  async deploy(app: string, cpu: string): Promise<void> {
    const name = this.nameOf(app);
    const { metadata, spec } = deploymentOf(name, 0, { cpu, memory: '256Mi' });
    const { template } = spec;
    const nodeSelector = { [labels.nodePool]: this.pool };
    await this.world.kube.create('Deployment', {
      metadata,
      spec: { ...spec, template: { ...template, spec: { ...template.spec, nodeSelector } } },
    });
    await this.world.kube.create('PodDisruptionBudget', {
      metadata: { name, namespace },
      spec: { maxUnavailable: 1, selector: { matchLabels: { app: name } } },
    });
  }

  /** Asks for so many pods, and waits for none. */
  async ask(app: string, replicas: number): Promise<void> {
    await this.world.kube.patch('Deployment', { name: this.nameOf(app), namespace }, { spec: { replicas } });
  }

  /** Resolves when so many pods run and no other is there. */
  async scale(app: string, replicas: number): Promise<void> {
    await this.ask(app, replicas);
    await this.until(`${replicas} pods of ${app}`, () => this.runs(app, replicas));
  }

  /** Whether drains of its nodes have to leave its pods where they are. */
  async hold(app: string, isHeld: boolean): Promise<void> {
    const spec = { maxUnavailable: isHeld ? 0 : 1 };
    await this.world.kube.patch('PodDisruptionBudget', { name: this.nameOf(app), namespace }, { spec });
  }

  runs(app: string, replicas: number): boolean {
    const pods = this.podsOf(app);
    return pods.length === replicas && pods.every(isRunning);
  }

  podsOf(app: string): Pod[] {
    return this.world.cache.all('Pod').filter(({ metadata }) => metadata.labels?.['app'] === this.nameOf(app));
  }

  get claims(): NodeClaim[] {
    return this.world.cache.all('NodeClaim').filter(({ metadata }) => metadata.labels?.[labels.nodePool] === this.pool);
  }

  get nodes(): Node[] {
    return this.world.cache.all('Node').filter(({ metadata }) => metadata.labels?.[labels.nodePool] === this.pool);
  }

  /** So many nodes, all of them up, and none that goes. */
  has(count: number, type?: string): boolean {
    const { claims } = this;
    return (
      claims.length === count &&
      this.nodes.length === count &&
      claims.every(
        ({ metadata, status }) =>
          metadata.deletionTimestamp === undefined &&
          isTrue(status?.conditions, 'Initialized') &&
          (type === undefined || metadata.labels?.[labels.instanceType] === type),
      )
    );
  }

  get instanceIds(): string[] {
    return this.claims.map(({ status }) => status?.providerID?.split('/').at(-1) ?? '');
  }

  async deleteNode(): Promise<void> {
    await this.world.kube.delete('Node', { name: this.nodes[0]?.metadata.name ?? '' });
  }

  /** Its first node has been broken for an hour, its kubelet says. */
  async breakNode(): Promise<void> {
    const at = new Date(Date.now() - 3_600_000).toISOString();
    const condition = { type: 'AcceleratedHardwareReady', status: 'False', reason: 'Broken', message: '' };
    const name = this.nodes[0]?.metadata.name ?? '';
    const node = await this.world.kube.get('Node', { name });
    const conditions = [
      ...(node?.status?.conditions ?? []),
      { ...condition, lastTransitionTime: at, lastHeartbeatTime: at },
    ];
    await this.world.kube.patch('Node', { name }, { status: { conditions } }, { subresource: 'status' });
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    try {
      await this.world.cache.until(condition, AbortSignal.timeout(patienceMs));
    } catch (error) {
      throw new Error(`${this.pool}: ${what} was not seen within ${patienceMs / 1000} s. ${this.describe()}`, {
        cause: error,
      });
    }
  }

  private describe(): string {
    const claims = this.claims.map(({ metadata, status }) => [
      metadata.name,
      metadata.deletionTimestamp,
      status?.conditions,
    ]);
    const pods = this.world.cache
      .all('Pod')
      .filter(({ metadata }) => metadata.labels?.['app']?.startsWith(this.pool) === true)
      .map(({ metadata, spec, status }) => [metadata.name, spec.nodeName, status?.phase]);
    return JSON.stringify({ claims, pods });
  }

  private nameOf(app: string): string {
    return `${this.pool}-${app}`;
  }
}

const isRunning = ({ status, metadata }: Pod): boolean =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined;
