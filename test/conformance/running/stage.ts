import type { Kind, Kinds } from '../../../kube/port.js';
import type { EventToPublish } from '../../../kube/port.js';
import { Random } from '../../cases/random.js';
import { labels, taints } from '../../../api/labels.js';
import { formatResource } from '../../../core/quantities.js';
import type { InstanceType } from '../../../core/instance-type.js';
import { FakeCloud, type FakeCloudOptions } from '../../simulation/cloud/fake.js';
import { Outages } from '../../simulation/cluster/network.js';
import { SimulatedProcess } from '../../simulation/cluster/process.js';
import { VirtualTime } from '../../simulation/cluster/virtual-time.js';
import { addPool } from '../../simulation/cluster/world.js';
import { createFakeKube, type FakeKube } from '../../simulation/kube/fake.js';
import { SimulatedTemporal } from '../../simulation/temporal/engine.js';
import { SandboxFactory } from '../../simulation/temporal/sandbox.js';
import { catalogue } from '../../builders/activity-world.js';
import { testBundle } from '../../workflow/bundle.js';
import type { Check } from '../conformance-case.js';

/** When every case begins. */
export const startMs = Date.parse('2026-01-05T12:00:00Z');
export const second = 1000;
export const minute = 60 * second;

/** The whole product beside an API server, a cloud and a Temporal in memory, by a clock that a case advances. */
export interface Running {
  readonly kube: FakeKube;
  readonly cloud: FakeCloud;
  readonly events: readonly EventToPublish[];
  /** Metrics that were counted or observed: name and labels. */
  readonly measured: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly by: number;
  }[];
  readonly now: () => number;
  /** Lets time go on. */
  pass(milliseconds: number): Promise<void>;
  get<K extends Kind>(kind: K, name: string, namespace?: string): Kinds[K] | undefined;
  /** Reasons of the events about an object, in order, without repetition. */
  eventReasons(about?: string): readonly string[];
}

interface Options {
  /** Puts in what there is before the process starts. */
  readonly prepare?: (running: Running) => void;
  readonly types?: readonly InstanceType[];
  readonly cloud?: Partial<FakeCloudOptions>;
  /** Kubelets join and are ready half a minute after a launch. */
  readonly boots?: boolean;
  /** Of the NodePool named `default`. */
  readonly pool?: object;
}

let sandboxes: Promise<SandboxFactory> | undefined;
const code = (): Promise<SandboxFactory> =>
  (sandboxes ??= testBundle().then((bundle) => new SandboxFactory(bundle.code)));

/** Plays a case, whose answer has to be `expected`. */
export const running = (
  expected: unknown,
  play: (running: Running) => Promise<unknown>,
  options: Options = {},
): Check => ({ expected, outcome: async () => run(await code(), play, options) });

async function run(
  factory: SandboxFactory,
  play: (running: Running) => Promise<unknown>,
  options: Options,
): Promise<unknown> {
  let signs = 0;
  const time = new VirtualTime(startMs, () => signs);
  try {
    return await new Stage(factory, time, () => void (signs += 1), options).play(play);
  } finally {
    time.restore();
  }
}

class Stage {
  constructor(
    private readonly factory: SandboxFactory,
    private readonly time: VirtualTime,
    private readonly onCall: () => void,
    private readonly options: Options,
  ) {}

  async play(play: (running: Running) => Promise<unknown>): Promise<unknown> {
    const { time, options } = this;
    const world = this.world();
    addPool(world.kube, 'default', options.pool ?? { disruption: { consolidateAfter: 'Never' } });
    if (options.boots === true) boot(world);
    options.prepare?.(world);
    const { process, temporal } = this.process(world);
    await process.start();
    await world.pass(second);
    const answer = await play(world);
    process.kill();
    await time.settle();
    if (temporal.problems.length > 0) throw new Error(temporal.problems.join('\n'));
    return answer;
  }

  private world(): Running & { readonly heard: Heard } {
    const { time, options } = this;
    const now = (): number => time.now;
    const kube = createFakeKube({ now });
    const cloud = new FakeCloud({ types: options.types ?? catalogue, now, ...options.cloud });
    const events: EventToPublish[] = [];
    const measured: Running['measured'][number][] = [];
    const measure = (name: string, own: Readonly<Record<string, string>>, by = 1): void =>
      void measured.push({ name, labels: own, by });
    return {
      kube,
      cloud,
      events,
      measured,
      now,
      pass: (milliseconds) => time.advance(time.now + milliseconds),
      get: (kind, name, namespace) =>
        kube
          .objects(kind)
          .find(({ metadata }) => metadata.name === name && (namespace ?? metadata.namespace) === metadata.namespace),
      eventReasons: (about) => [
        ...new Set(
          events.filter(({ regarding }) => about === undefined || regarding.name === about).map(({ reason }) => reason),
        ),
      ],
      heard: {
        events: { publish: (event) => void events.push(event) },
        metrics: { count: measure, observe: measure, set: () => undefined },
      },
    };
  }

  private process(world: Running & { readonly heard: Heard }): {
    readonly process: SimulatedProcess;
    readonly temporal: SimulatedTemporal;
  } {
    const random = new Random(1);
    const faults = { latencyMs: () => 1, fateOf: () => 'runs' as const };
    const temporal = new SimulatedTemporal({ random, sandboxes: this.factory, faults });
    const outside = {
      ...{ kube: world.kube, cloud: world.cloud, temporal, random, heard: world.heard },

      outages: new Outages(),
      watchSilentMs: 2 ** 31 - 1,
      onCall: this.onCall,
    };
    return { process: new SimulatedProcess(outside, 'conformance'), temporal };
  }
}

function boot({ kube, cloud }: Running): void {
  cloud.onLaunch = ({ providerId, instanceId, labels: own, capacity, allocatable }) =>
    void setTimeout(() => {
      const written = (amounts: typeof capacity): Record<string, string> =>
        Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, formatResource(name, amount)]));
      kube.put('Node', {
        metadata: { name: instanceId, labels: { ...own, [labels.hostname]: instanceId } },
        spec: { providerID: providerId, taints: [{ ...taints.unregistered }] },
        status: {
          ...{ capacity: written(capacity), allocatable: written(allocatable) },
          conditions: [{ type: 'Ready', status: 'True' }],
        },
      });
    }, minute / 2);
}

type Heard = NonNullable<ConstructorParameters<typeof SimulatedProcess>[0]['heard']>;
