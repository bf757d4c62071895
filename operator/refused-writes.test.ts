import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../core/failures.js';
import { isTrue } from '../core/conditions.js';
import type { Kind } from '../kube/port.js';
import { createActivityWorld, nodeClass, nodePool } from '../test/builders/activity-world.js';
import type { ActivityWorld } from '../test/builders/activity-world.js';
import { operatorContext } from '../test/builders/operator-context.js';
import { until } from '../test/builders/until.js';
import type { OperatorContext } from './context.js';
import { resolveNodeClass, watchNodeClasses } from './node-classes.js';
import { watchNodeOverlays } from './node-overlays.js';
import { watchNodePools } from './node-pools.js';
import { reportingRefusals } from './refused-writes.js';

// Rule `events/write-refused`.
describe('operator writes that the API server refuses', () => {
  let world: ActivityWorld;
  const stops: (() => void)[] = [];
  const denied = new DomainError('Denied', 'policy says no', { status: 403 });
  const ready = { conditions: [{ type: 'Ready', status: 'True' as const }] };

  beforeEach(async () => {
    world = await createActivityWorld();
  });
  afterEach(() => {
    for (const stop of stops.splice(0)) stop();
    world.stop();
  });

  const context = (): OperatorContext =>
    operatorContext(
      world,
      { podsPending: () => Promise.resolve() },
      { gates: { ...world.deps.gates, NodeOverlay: true } },
    );
  const refuse = (is: (kind: Kind, name: string, body: object) => boolean): void => {
    const patch = world.kube.patch.bind(world.kube);
    world.kube.patch = ((...args: Parameters<typeof patch>) =>
      is(args[0], args[1].name, args[2]) ? Promise.reject(denied) : patch(...args)) as typeof patch;
  };
  const isMetadata = (body: object): boolean => !('status' in body);
  const isSeen = (condition: () => boolean): Promise<void> =>
    world.deps.cache.until(condition, AbortSignal.timeout(5000));
  const toldOf = (kind: string, name: string): boolean =>
    world.events.some(
      (event) =>
        event.reason === 'WriteRefused' &&
        event.regarding.kind === kind &&
        event.regarding.name === name &&
        event.message.includes('policy says no'),
    );

  test('a NodePool whose annotations are refused is Ready, and says so', async () => {
    world.kube.put('EC2NodeClass', { ...nodeClass('default'), status: ready });
    world.kube.put('NodePool', nodePool('default'));
    await world.synced();
    refuse((kind, _, body) => kind === 'NodePool' && isMetadata(body));
    stops.push(watchNodePools(context()));

    await isSeen(() => isTrue(world.deps.cache.get('NodePool', { name: 'default' })?.status?.conditions, 'Ready'));
    await until(() => toldOf('NodePool', 'default'));
  });

  test('a node class whose annotations are refused gets its status', async () => {
    world.kube.put('EC2NodeClass', nodeClass('default'));
    await world.synced();
    const resolution = { status: ready, annotations: { 'karpenter.k8s.aws/ec2nodeclass-hash': '1' } };
    const resolve = () => Promise.resolve({ ...resolution, requeueAfterMs: 1000, events: [] });
    const cloud = { ...world.deps.cloud, resolveNodeClass: resolve } as unknown as OperatorContext['cloud'];
    const own = { ...context(), cloud };
    refuse(
      (kind, _, body) => kind === 'EC2NodeClass' && 'annotations' in ((body as { metadata?: object }).metadata ?? {}),
    );

    await expect(resolveNodeClass(own, 'EC2NodeClass', 'default')).rejects.toThrow('policy says no');
    expect((await world.kube.get('EC2NodeClass', { name: 'default' }))?.status).toMatchObject(ready);
    stops.push(watchNodeClasses(own));
    await until(() => toldOf('EC2NodeClass', 'default'));
  });

  test('a call denied by the cloud is not reported as a refused write', async () => {
    const ofCloud = new DomainError('Denied', 'ec2:DescribeInstances: UnauthorizedOperation', { code: 'x' });
    const work = reportingRefusals(world.deps, 'NodeClaim', () => Promise.reject(ofCloud));
    await expect(work('c')).rejects.toThrow('UnauthorizedOperation');
    expect(world.events).toEqual([]);
  });

  test('a NodeOverlay whose status is refused does not stop the status of others', async () => {
    const overlay = (name: string) => ({ metadata: { name, generation: 1 }, spec: { requirements: [], price: '1' } });
    for (const name of ['a', 'b']) world.kube.put('NodeOverlay', overlay(name));
    await world.synced();
    refuse((kind, name) => kind === 'NodeOverlay' && name === 'a');
    stops.push(watchNodeOverlays(context()));

    const conditionsOf = (name: string) => world.kube.objects('NodeOverlay').find(({ metadata }) => metadata.name === name)?.status?.conditions; // prettier-ignore
    await until(() => isTrue(conditionsOf('b'), 'Ready'));
    expect(conditionsOf('a')).toBeUndefined();
    await until(() => toldOf('NodeOverlay', 'a'));
  });
});
