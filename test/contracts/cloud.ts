import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { NodeClaim } from '../../api/karpenter/node-claim.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { labels } from '../../api/labels.js';
import { pinnedValue } from '../../core/launch-options.js';
import type { CloudProvider, LaunchRequest, NodeClass } from '../../cloud/port.js';

/** What a provider brings to be tested with. */
export interface ContractSubject {
  readonly provider: CloudProvider;
  readonly pool: NodePool;
  /** Resolved and ready. */
  readonly nodeClass: NodeClass;
  /** A claim that some type of the catalogue can serve; `instanceTypes` narrows it. */
  readonly claim: (name: string, instanceTypes?: readonly string[]) => NodeClaim;
  /** Makes launches of one type fail for want of capacity, where the test bed can. */
  readonly exhaust?: (instanceType: string) => Promise<void> | void;
  /** Waits until the cloud shows an instance that it has launched; at once where it does not lag. */
  readonly shown?: (providerId: string) => Promise<void>;
  readonly close?: () => Promise<void> | void;
}

/** What every implementation of cloud/port.ts must do. `setUp` is called once; claims get names of their own. */
export function describeCloudProvider(name: string, setUp: () => Promise<ContractSubject> | ContractSubject): void {
  describe(`${name} as a cloud provider`, () => {
    let subject: ContractSubject;
    beforeAll(async () => {
      subject = await setUp();
    });
    afterAll(async () => {
      await subject.close?.();
    });

    const request = (claimName: string, instanceTypes?: readonly string[]): LaunchRequest => {
      const claim = subject.claim(claimName, instanceTypes);
      const clientToken = claim.metadata.uid ?? '';
      return { claim, nodeClass: subject.nodeClass, clientToken };
    };
    const launch = async (claimName: string, instanceTypes?: readonly string[]) => {
      const result = await subject.provider.launch(request(claimName, instanceTypes));
      if (!result.ok) throw new Error(`launch refused: ${result.error.message}`);
      await subject.shown?.(result.value.providerId);
      return result.value;
    };
    const catalogue = () => subject.provider.instanceTypes(subject.pool, subject.nodeClass);
    const gone = async (providerId: string): Promise<boolean> => {
      const instance = await subject.provider.get(providerId);
      return instance === undefined || instance.state === 'shutting-down';
    };

    test('every type requires its own name, and every offering its zone, capacity type and price', async () => {
      const types = await catalogue();
      expect(types.length).toBeGreaterThan(0);
      for (const type of types) {
        expect(pinnedValue(type.requirements, labels.instanceType)).toBe(type.name);
        expect(type.capacity.cpu).toBeGreaterThan(0);
        expect(type.capacity.memory).toBeGreaterThan(type.overhead.memory ?? 0);
        for (const offering of type.offerings) {
          expect(pinnedValue(offering.requirements, labels.zone)).toBeDefined();
          expect(['spot', 'on-demand', 'reserved']).toContain(pinnedValue(offering.requirements, labels.capacityType));
          expect(offering.price).toBeGreaterThanOrEqual(0);
        }
      }
    });

    const listed = async (): Promise<ReadonlySet<string>> =>
      new Set((await subject.provider.list()).map(({ providerId }) => providerId));
    /** Instances of other tests may end meanwhile: they are not counted. */
    const appearedSince = async (before: ReadonlySet<string>): Promise<readonly string[]> =>
      [...(await listed())].filter((providerId) => !before.has(providerId));

    test('a launched instance can be found and listed with what the launch returned', async () => {
      const launched = await launch('found');
      expect(launched.labels).toMatchObject({
        [labels.instanceType]: launched.instanceType,
        [labels.zone]: launched.zone,
        [labels.capacityType]: launched.capacityType,
      });
      expect(launched.allocatable.cpu).toBeGreaterThan(0);
      const { providerId, instanceId, instanceType, zone, capacityType } = launched;
      const found = await subject.provider.get(providerId);
      expect(found).toMatchObject({ providerId, instanceId, instanceType, zone, capacityType });
      expect((await subject.provider.list()).map((instance) => instance.providerId)).toContain(providerId);
    });

    test('a claim launched twice, one after the other or at once, has one instance', async () => {
      const before = await listed();
      const first = await launch('twice');
      const again = await Promise.all([launch('twice'), launch('twice')]);
      expect(again.map((launched) => launched.providerId)).toEqual([first.providerId, first.providerId]);
      expect(await appearedSince(before)).toEqual([first.providerId]);
    });

    test('terminate ends an instance, is harmless when repeated, and finds an unknown one gone', async () => {
      const { providerId } = await launch('terminated');
      expect(await subject.provider.terminate(providerId)).toBe('terminating');
      expect(await gone(providerId)).toBe(true);
      const isOver = (await subject.provider.get(providerId)) === undefined;
      expect(await subject.provider.terminate(providerId)).toBe(isOver ? 'gone' : 'terminating');
      const unknown = providerId.replace(/[^/]*$/, 'i-0123456789abcdef0');
      expect(await subject.provider.get(unknown)).toBeUndefined();
      expect(await subject.provider.terminate(unknown)).toBe('gone');
    });

    test('tags are added to an instance', async () => {
      const { providerId } = await launch('tagged');
      await subject.provider.tag(providerId, { Name: 'node-1' });
      expect((await subject.provider.get(providerId))?.tags.Name).toBe('node-1');
      await subject.provider.tag(providerId, { Name: 'node-2', 'karpenter.sh/nodeclaim': 'tagged' });
      expect((await subject.provider.get(providerId))?.tags.Name).toBe('node-1');
    });

    test('a claim that no type fits is refused as insufficient capacity', async () => {
      const claim = subject.claim('impossible');
      const requests = { cpu: '100000' };
      const impossible = { ...claim, spec: { ...claim.spec, resources: { requests } } };
      const result = await subject.provider.launch({ ...request('impossible'), claim: impossible });
      expect(result).toMatchObject({ ok: false, error: { kind: 'InsufficientCapacity' } });
    });

    test('a launch uses the types and resources that NodeOverlays give, and the instance shows them', async () => {
      const claim = subject.claim('overlaid');
      const fuse = 'smarter-devices/fuse';
      const requests = { ...claim.spec.resources?.requests, [fuse]: '2' };
      const asking = { ...request('overlaid'), claim: { ...claim, spec: { ...claim.spec, resources: { requests } } } };
      expect(await subject.provider.launch(asking)).toMatchObject({ ok: false });
      const overlaid: LaunchRequest['overlaid'] = (types) =>
        types.map((type) => ({ ...type, capacity: { ...type.capacity, [fuse]: 5 } }));
      const result = await subject.provider.launch({ ...asking, overlaid });
      expect(result).toMatchObject({ ok: true, value: { capacity: { [fuse]: 5 }, allocatable: { [fuse]: 5 } } });
      if (result.ok) await subject.shown?.(result.value.providerId);
    });

    test('without capacity a launch is refused and names the offerings, and no instance exists', async () => {
      if (subject.exhaust === undefined) return;
      const types = await catalogue();
      const victim = types.find((type) => type.offerings.some((offering) => offering.available))!.name;
      await subject.exhaust(victim);
      const before = await listed();
      const result = await subject.provider.launch(request('exhausted', [victim]));
      if (result.ok) throw new Error('launched although there is no capacity');
      expect(result.error.kind).toBe('InsufficientCapacity');
      expect(result.error.unavailable.map((offering) => offering.instanceType)).toContain(victim);
      expect(await appearedSince(before)).toEqual([]);
    });

    test('an offering marked unavailable is unavailable in the catalogue', async () => {
      const offered = (await catalogue()).flatMap((type) =>
        type.offerings.filter((offering) => offering.available).map((offering) => ({ type, offering })),
      );
      const { type, offering } = offered.at(-1)!;
      const zone = pinnedValue(offering.requirements, labels.zone) ?? '';
      const capacityType = pinnedValue(offering.requirements, labels.capacityType) ?? '';
      subject.provider.markUnavailable([{ instanceType: type.name, zone, capacityType, reason: 'test' }]);
      const now = (await catalogue()).find((candidate) => candidate.name === type.name);
      const same = now?.offerings.find(
        (candidate) =>
          pinnedValue(candidate.requirements, labels.zone) === zone &&
          pinnedValue(candidate.requirements, labels.capacityType) === capacityType,
      );
      expect(same?.available).toBe(false);
    });
  });
}
