import { setTimeout as sleep } from 'node:timers/promises';
import type { EC2NodeClass, EC2NodeClassStatus } from '../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import type { CloudProvider, LaunchedInstance } from '../../cloud/port.js';
import { isTrue } from '../../core/conditions.js';
import { isTransient } from '../../core/failures.js';
import type { InstanceType } from '../../core/instance-type.js';
import type { Bound, Purse } from './purse.js';
import { nodeClassOf, poolName, type ClassName, type Target } from './target.js';

/** What is not the provider's fault: the account has no money, room or capacity for a step. */
export class NotPossible extends Error {
  override readonly name = 'NotPossible';
}

/** The machine types that a launch may choose from. */
export interface Choice {
  readonly capacityType: 'on-demand' | 'spot' | 'reserved';
  readonly types: readonly string[];
  /** Of the dearest. */
  readonly perHour: number;
}

const pool = { metadata: { name: poolName } } as NodePool;
/** Room for more than one pool of capacity, and no dear one among them. */
const mostTypes = 12;
const leastMemory = 2 * 2 ** 30;
/** From the end of a step to that of its machines. */
export const endingMinutes = 10;

/** What the suite launches, each claim's price held against the purse until its machine has ended. */
export class Machines {
  readonly #running = new Map<string, number>();
  #holds: Bound[] = [];
  #count = 0;

  constructor(
    readonly provider: CloudProvider,
    readonly purse: Purse,
    private readonly target: Target,
    private readonly now: () => number,
  ) {}

  /** A node class of the suite once it is Ready. Throws what keeps it from that. */
  async ready(name: ClassName, signal: AbortSignal): Promise<EC2NodeClass> {
    const given = nodeClassOf(this.target, name);
    for (;;) {
      const { status, annotations, requeueAfterMs } = await this.provider.resolveNodeClass(given);
      const { conditions = [] } = status as EC2NodeClassStatus;
      if (isTrue(conditions, 'Ready')) return { ...given, metadata: { ...given.metadata, annotations }, status };
      const refused = conditions.filter(({ type, status: is }) => type !== 'Ready' && is === 'False');
      if (refused.length > 0)
        throw new Error(
          refused.map(({ type, reason, message }) => `${type} ${reason ?? ''}: ${message ?? ''}`).join('; '),
        );
      await sleep(Math.min(requeueAfterMs, this.target.pollMs), undefined, { signal });
    }
  }

  /**
   * The cheapest types that can be had and that `accepts` takes; prices that could not be read are waited for. Throws `NotPossible` when there
   * are none.
   */
  async cheapest(
    nodeClass: EC2NodeClass,
    capacityType: Choice['capacityType'],
    signal: AbortSignal,
    accepts: (type: InstanceType) => boolean = () => true,
  ): Promise<Choice> {
    for (;;) {
      const types = (await this.provider.instanceTypes(pool, nodeClass)).filter(
        (type) => (type.capacity['memory'] ?? 0) >= leastMemory && accepts(type),
      );
      const cheapest = cheapestOf(types, capacityType);
      if (cheapest !== undefined) return cheapest;
      if (types.length === 0 || signal.aborted) throw new NotPossible(`no instance type can be had ${capacityType}`);
      await sleep(this.target.pollMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Sets money for machines of this choice aside. Throws `NotPossible` when it is not there. */
  hold(choice: Choice, machines: number, minutes: number): void {
    const bound = { machines, perHour: choice.perHour, minutes: minutes + endingMinutes };
    const reason = this.purse.hold(bound);
    if (reason !== undefined) throw new NotPossible(reason);
    this.#holds.push(bound);
  }

  /** A claim that no other run and no other launch has. */
  claim(choice: Choice, requests: Readonly<Record<string, string>> = { cpu: '100m' }): NodeClaim {
    const name = `${poolName}-${this.target.run}-${++this.#count}`;
    return {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name, uid: name, labels: { [labels.nodePool]: poolName } },
      spec: {
        requirements: [
          { key: labels.instanceType, operator: 'In', values: [...choice.types] },
          { key: labels.capacityType, operator: 'In', values: [choice.capacityType] },
        ],
        resources: { requests: { ...requests } },
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: poolName },
        expireAfter: 'Never',
      },
    };
  }

  /** Launches for a claim. Throws `NotPossible` when there is no capacity. */
  async launch(nodeClass: EC2NodeClass, choice: Choice, claim: NodeClaim): Promise<LaunchedInstance> {
    const clientToken = claim.metadata.uid ?? '';
    const result = await this.provider.launch({ claim, nodeClass, clientToken, firstAttempt: true });
    if (!result.ok) throw new NotPossible(result.error.message);
    this.#running.set(result.value.providerId, this.now());
    this.purse.started(result.value.providerId, choice.perHour);
    return result.value;
  }

  /** Ends everything that was launched and has not ended, and waits until it has. Returns what ended. */
  async endAll(signal: AbortSignal): Promise<string[]> {
    const ids = [...this.#running.keys()];
    await Promise.all(ids.map((id) => this.#end(id, signal)));
    for (const bound of this.#holds) this.purse.release(bound);
    this.#holds = [];
    return ids;
  }

  async #end(providerId: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const state = await patiently(() => this.provider.terminate(providerId, this.#running.get(providerId)));
      if (state !== undefined) break;
      await sleep(this.target.pollMs, undefined, { signal });
    }
    while ((await patiently(() => this.provider.get(providerId).then((found) => found ?? 'gone'))) !== 'gone')
      await sleep(this.target.pollMs, undefined, { signal });
    this.#running.delete(providerId);
    this.purse.ended(providerId);
  }
}

/** Undefined for what EC2 does not know yet. */
async function patiently<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}

function cheapestOf(types: readonly InstanceType[], capacityType: Choice['capacityType']): Choice | undefined {
  const priced = types
    .map((type) => ({ name: type.name, price: dearestOf(type, capacityType) }))
    .filter((type): type is { name: string; price: number } => type.price !== undefined)
    .sort((left, right) => left.price - right.price || (left.name < right.name ? -1 : 1))
    .slice(0, mostTypes);
  const dearest = priced.at(-1);
  return dearest && { capacityType, types: priced.map(({ name }) => name), perHour: dearest.price };
}

function dearestOf(type: InstanceType, capacityType: string): number | undefined {
  const prices = type.offerings
    .filter(
      ({ available, requirements }) =>
        available &&
        requirements.some(({ key, values }) => key === labels.capacityType && values?.[0] === capacityType),
    )
    .map(({ price }) => price);
  return prices.length === 0 ? undefined : Math.max(...prices);
}
