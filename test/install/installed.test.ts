import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Node, Pod } from '../../api/kubernetes.js';
import { observe } from '../../tools/stack/demo/observe.js';
import { deploymentOf } from '../../tools/stack/deployment.js';
import { createDefaultPool, isRunning, within } from '../live/world.js';
import { aarch64 } from './foreign-image.js';
import { versions } from './images.js';
import { nodeName } from './node.js';
import { cluster, namespace, sets, startInstallWorld, type InstallWorld } from './world.js';

// Stowage as a user installs it: images of the project's Dockerfile, its chart, pods of a real kubelet, under its own rights.
const lacks = process.env.STOWAGE_INSTALL_LACKS ?? 'it is started by npm run suite -- install';
const suite = lacks === '' ? describe : describe.skip;
const minutes = (count: number): number => count * 60_000;
/** What all roles in one process may take while nothing happens (docs/image.md). */
const restingMegabytes = 300;

let world: InstallWorld;
let stop = (): Promise<void> => Promise.resolve();
const say = (line: string): void => void process.stderr.write(`  ${line}\n`);

const podsOf = (component: string): Promise<Pod[]> =>
  world.kube.list('Pod', {
    namespace,
    labelSelector: `app.kubernetes.io/name=stowage,app.kubernetes.io/component=${component}`,
  });

const isReady = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;

async function ready(component: string, replicas: number): Promise<Pod[] | undefined> {
  const pods = await podsOf(component);
  return pods.length === replicas && pods.every(isReady) ? pods : undefined;
}

const whyNot = async (): Promise<string> => world.kubectl(['-n', namespace, 'describe', 'pods']);

async function launchFor(name: string): Promise<Node> {
  await world.kube.create('Deployment', deploymentOf(name, 1, { cpu: '3', memory: '4Gi' }));
  return observe(
    `a node for ${name}`,
    async () => {
      const pods = await world.kube.list('Pod', { namespace: 'default', labelSelector: `app=${name}` });
      const node = pods.find(isRunning)?.spec.nodeName;
      return node === undefined ? undefined : world.kube.get('Node', { name: node });
    },
    within(120),
  );
}

interface Check {
  readonly name: string;
  readonly state: string;
}

/** What `stowage doctor` says in a pod of the operator, with its rights and settings; its exit status says no more. */
async function doctor(...flags: readonly string[]): Promise<readonly Check[]> {
  const command = `stowage doctor -o json ${flags.join(' ')} || true`;
  const said = await world.kubectl(['-n', namespace, 'exec', 'deploy/stowage-operator', '--', 'sh', '-c', command]);
  return (JSON.parse(said) as { checks: readonly Check[] }).checks;
}

/** Megabytes that the process of the one Deployment takes once it takes no more than is promised. */
async function restingMemory(): Promise<number> {
  const read = ['-n', namespace, 'exec', 'deploy/stowage-stowage', '--', 'cat', '/proc/1/status'];
  return observe(
    `at most ${restingMegabytes} MB resident at rest`,
    async () => {
      const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(await world.kubectl(read)) ?? [];
      const megabytes = Math.round(Number(kilobytes) / 1024);
      return megabytes <= restingMegabytes ? megabytes : undefined;
    },
    within(120),
  );
}

async function install(verb: 'install' | 'upgrade', values: Readonly<Record<string, string>>): Promise<void> {
  const args = ['--namespace', namespace, '--wait', '--timeout', '5m', ...sets(values)];
  try {
    await world.helm([verb, 'stowage', 'deploy/chart', ...args]);
  } catch (error) {
    throw new Error(`${String(error)}\n${await whyNot()}`, { cause: error });
  }
}

suite(`installed by its chart${lacks === '' ? '' : ` (skipped: ${lacks})`}`, () => {
  let began = 0;
  let values: Record<string, string> = {};

  beforeAll(async () => {
    world = await startInstallWorld(say);
    ({ stop } = world);
    values = { ...world.values, 'temporal.address': world.temporalAddress };
  }, minutes(20));

  afterAll(async () => {
    await stop();
  }, minutes(10));

  test('two builds of the image have the same layers', () => {
    const [first, again] = world.images.layers;

    expect(first.length).toBeGreaterThan(1);
    expect(again).toEqual(first);
  });

  test('the image for arm64 is built here, and all its binaries are for arm64', () => {
    const { architecture, programs } = world.images.arm64;

    expect(architecture).toBe('arm64');
    expect(programs.map(({ path }) => path)).toEqual(['releases/aarch64-unknown-linux-gnu/index.node']);
    expect(programs.map(({ machine }) => machine)).toEqual([aarch64]);
  });

  test(
    'two operators and two workers become ready on a node that Stowage does not manage',
    async () => {
      began = Date.now();
      await world.kubectl(['create', 'namespace', namespace]);
      await install('install', values);
      const pods = [...((await ready('operator', 2)) ?? []), ...((await ready('worker', 2)) ?? [])];

      expect(pods.map(({ spec }) => spec.nodeName)).toEqual([nodeName, nodeName, nodeName, nodeName]);
      say(`ready ${Math.round((Date.now() - began) / 1000)} s after helm install began`);
    },
    minutes(6),
  );

  test(
    'a pending pod gets its first node',
    async () => {
      await createDefaultPool(world);
      const node = await launchFor('web');

      expect(node.metadata.labels).toMatchObject({ 'karpenter.sh/nodepool': 'default' });
      say(`first node ${Math.round((Date.now() - began) / 1000)} s after helm install began`);
      say(await world.kubectl(['get', 'pods', '-A', '-o', 'wide']));
    },
    minutes(4),
  );

  test(
    'stowage doctor, run in a pod, finds nothing wrong',
    async () => {
      const checks = await doctor();

      expect(checks.filter(({ state }) => state !== 'ok' && state !== 'skipped')).toEqual([]);
      expect(checks.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['permissions', 'definitions', 'temporal', 'cloud-launch', 'interruption-queue']),
      );
    },
    minutes(3),
  );

  test.each([
    ['a Temporal that does not answer', '--temporal-address=127.0.0.1:9', 'temporal'],
    ['a Temporal namespace that is not there', '--temporal-namespace=elsewhere', 'temporal-namespace'],
    ['a region that is not the cluster’s', '--aws-region=eu-west-1', 'cloud-region'],
    ['a queue that is not there', '--interruption-queue=elsewhere', 'interruption-queue'],
  ])(
    'stowage doctor, run in a pod, names %s',
    async (_, flag, check) => {
      const failed = (await doctor(flag)).filter(({ state }) => state === 'failed').map(({ name }) => name);

      expect(failed).toContain(check);
    },
    minutes(3),
  );

  test(
    'after all pods of Stowage are killed at once they start again, and nodes are launched',
    async () => {
      const before = new Set((await world.kube.list('Pod', { namespace })).map(({ metadata }) => metadata.uid));
      await world.kubectl(['-n', namespace, 'delete', 'pods', '--all', '--grace-period=0', '--force']);
      await observe(
        'new pods',
        async () => {
          const pods = [...((await ready('operator', 2)) ?? []), ...((await ready('worker', 2)) ?? [])];
          return pods.length === 4 && pods.every(({ metadata }) => !before.has(metadata.uid));
        },
        within(120),
        whyNot,
      );
      const node = await launchFor('after-the-kill');

      expect(node.metadata.name).not.toBe(nodeName);
    },
    minutes(5),
  );

  test(
    'helm upgrade during a disruption: the same workflow goes on in the new version',
    async () => {
      const { kube, client } = world;
      const held = await launchFor('held');
      await kube.create('PodDisruptionBudget', {
        metadata: { name: 'held', namespace: 'default' },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'held' } } },
      });
      // Its status may name the node after the pod runs there.
      const claim = await observe(
        'the NodeClaim of its node',
        async () => (await kube.list('NodeClaim')).find(({ status }) => status?.nodeName === held.metadata.name),
        within(60),
      );
      const workflowId = `${cluster}/terminate/${claim.metadata.uid ?? ''}`;
      await kube.delete('NodeClaim', { name: claim.metadata.name ?? '' });
      const running = await observe(
        'the drain of its node',
        () =>
          client.workflow
            .getHandle(workflowId)
            .describe()
            .then(
              ({ runId }) => runId,
              () => undefined,
            ),
        within(60),
      );

      await install('upgrade', { ...values, 'image.tag': versions[1] });
      const pods = [...(await podsOf('operator')), ...(await podsOf('worker'))].filter(
        ({ metadata }) => metadata.deletionTimestamp === undefined,
      );
      const images = new Set(pods.flatMap(({ spec }) => spec.containers.map(({ image }) => image)));
      expect([...images]).toEqual([`stowage:${versions[1]}`]);
      expect(await kube.get('NodeClaim', { name: claim.metadata.name ?? '' })).toBeDefined();

      await kube.delete('PodDisruptionBudget', { name: 'held', namespace: 'default' });
      await observe(
        'the end of the drained node',
        async () => (await kube.get('NodeClaim', { name: claim.metadata.name ?? '' })) === undefined,
        within(180),
      );
      // The claim goes before its workflow has said so.
      const ended = await observe(
        'the end of its workflow',
        async () => {
          const { status } = await client.workflow.getHandle(workflowId, running).describe();
          return status.name === 'RUNNING' ? undefined : status.name;
        },
        within(60),
      );
      expect(ended).toBe('COMPLETED');
    },
    minutes(8),
  );

  test(
    'helm uninstall leaves no Schedule, workflow, finalizer or taint, and says that the nodes stay',
    async () => {
      const { kube, client } = world;
      // What the drain evicted has a node again: none is launched meanwhile.
      await observe(
        'every pod running',
        async () => (await kube.list('Pod', { namespace: 'default' })).every(isRunning),
        within(120),
      );
      const managed = await kube.list('Node', { labelSelector: 'karpenter.sh/nodepool' });
      expect(managed.length).toBeGreaterThan(0);
      const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;
      await kube.patch('Node', { name: managed[0]!.metadata.name ?? '' }, { spec: { taints: [disrupted] } });

      await world.helm(['uninstall', 'stowage', '--namespace', namespace, '--wait', '--timeout', '5m']);

      const said = await world.kubectl([
        '-n',
        namespace,
        'logs',
        '--selector',
        'job-name=stowage-uninstall',
        '--tail=-1',
      ]);
      say(said);
      expect(said).toContain(`Left on purpose: ${managed.length} nodes`);
      const schedules: string[] = [];
      for await (const { scheduleId } of client.schedule.list()) schedules.push(scheduleId);
      expect(schedules).toEqual([]);
      const query = `ExecutionStatus = 'Running'`;
      const workflows: string[] = [];
      for await (const { workflowId } of client.workflow.list({ query })) workflows.push(workflowId);
      expect(workflows).toEqual([]);
      const nodes = await kube.list('Node', { labelSelector: 'karpenter.sh/nodepool' });
      const objects = [...nodes, ...(await kube.list('NodeClaim')), ...(await kube.list('EC2NodeClass'))];
      expect(objects.flatMap(({ metadata }) => metadata.finalizers ?? [])).toEqual([]);
      expect(nodes.flatMap(({ spec }) => (spec?.taints ?? []).map(({ key }) => key))).toEqual([]);
      expect(nodes.length).toBe(managed.length);
    },
    minutes(8),
  );

  test(
    'the trial installation runs one process per pod with its own Temporal',
    async () => {
      const trial = { ...world.values, mode: 'single', 'temporal.trial.enabled': 'true', 'worker.replicas': '1' };
      await install('install', { ...trial, clusterName: 'trial', 'temporal.trial.persistence.enabled': 'false' });

      expect(await ready('stowage', 1)).toHaveLength(1);
      say(`all roles in one process take ${await restingMemory()} MB`);
      await world.helm(['uninstall', 'stowage', '--namespace', namespace, '--wait', '--timeout', '5m']);
    },
    minutes(8),
  );
});
