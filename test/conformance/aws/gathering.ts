import type { InstanceStatus } from '@aws-sdk/client-ec2';
import { Batcher } from '../../../cloud/aws/instances.js';
import { zoneOf } from '../../../cloud/aws/launch-choice.js';
import { readStatus } from '../../../cloud/aws/status-poll.js';
import { UnavailableOfferings, type RefusedOffering } from '../../../core/unavailable-offerings.js';
import { refusal, steppingClock } from '../../builders/aws-world.js';
import { about, differs, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { zone1 } from '../world.js';
import { account, now, type Given } from './account.js';
import { InstancesOfAccount, providerIdOf } from './instances-of-account.js';

type Call = 'describeInstances' | 'terminateInstances';
const ids = Array.from({ length: 5 }, (_, i) => `i-${i}`);
/** What comes of calls for several instances at once, and of how many EC2 hears. */
const together = (
  call: Call,
  expected: unknown,
  {
    names = ids,
    missing = [],
    calls = {},
  }: { names?: readonly string[]; missing?: readonly string[]; calls?: Given['calls'] } = {},
): Check =>
  gives(async () => {
    const ec2 = new InstancesOfAccount();
    for (const id of names) if (!missing.includes(id)) ec2.put(id);
    const { provider } = account({ types: ['m5.large'], calls: { ...ec2.calls, ...calls } });
    const ask = async (id: string): Promise<string> => {
      if (call === 'terminateInstances') return provider.terminate(providerIdOf(id));
      return (await provider.get(providerIdOf(id))) === undefined ? 'gone' : 'there';
    };
    const outcomes = await Promise.allSettled(names.map(ask));
    const results = outcomes.map((each) => (each.status === 'fulfilled' ? each.value : 'failed'));
    return [results, (ec2.asked[call] ?? 0) > 1 ? 'several' : ec2.asked[call]];
  }, expected);
const all = (answer: string): readonly string[] => ids.map(() => answer);
const away = (): Promise<never> => Promise.reject(refusal('InternalError', 'words', 'ec2:Some', 500));

/** pkg/batcher/describeinstances_test.go */
export const describingCases: readonly ConformanceCase[] = about('batched DescribeInstances', [
  same(41, 'parallel descriptions share a call', together('describeInstances', [all('there'), 1])),
  same(
    67,
    'a single instance is described',
    together('describeInstances', [all('there'), 1], { names: ids.map(() => 'i-0') }),
  ),
  same(
    95,
    'a missing instance does not affect the others',
    together('describeInstances', [['there', 'there', 'gone', 'there', 'there'], 'several'], { missing: ['i-2'] }),
  ),
  same(
    153,
    'a failed call fails for all callers',
    together('describeInstances', [all('failed'), undefined], { calls: { describeInstances: away } }),
  ),
]);

/** pkg/batcher/terminateinstances_test.go */
export const terminatingCases: readonly ConformanceCase[] = about('batched TerminateInstances', [
  same(41, 'parallel terminations share a call', together('terminateInstances', [all('terminating'), 1])),
  same(
    67,
    'a single instance is terminated',
    together('terminateInstances', [all('terminating'), 1], { names: ids.map(() => 'i-0') }),
  ),
  same(
    93,
    'a missing instance does not affect the others',
    together('terminateInstances', [['terminating', 'terminating', 'gone', 'terminating', 'terminating'], 'several'], {
      missing: ['i-2'],
    }),
  ),
  same(
    136,
    'a failed call fails for all callers',
    together('terminateInstances', [all('failed'), undefined], { calls: { terminateInstances: away } }),
  ),
]);

const ownCall = 'each claim has its own call, since each has its own token';
const three = async (given: Given): Promise<{ fleets: number; outcomes: readonly string[] }> => {
  const world = account({ types: ['m5.large'], ...given });
  const outcomes = await Promise.all(
    [1, 2, 3].map(async () => {
      const result = await world.launch();
      return result.ok ? result.value.instanceId : result.error.kind;
    }),
  );
  return { fleets: world.sent.fleets.length, outcomes };
};
const own = (
  at: number,
  title: string,
  given: Given,
  look: (of: Awaited<ReturnType<typeof three>>) => unknown,
  expected: unknown,
): ConformanceCase =>
  differs(
    at,
    title,
    'launch/one-request-a-claim',
    ownCall,
    gives(async () => look(await three(given)), expected),
  );

/** pkg/batcher/createfleet_test.go */
export const fleetCases: readonly ConformanceCase[] = about('batched CreateFleet', [
  own(41, 'equal launches', {}, ({ fleets, outcomes }) => [fleets, new Set(outcomes).size], [3, 3]),
  same(
    80,
    'different launches are separate calls',
    gives(async () => {
      const world = account({ types: ['m5.large', 'm5.xlarge'] });
      for (const capacityType of ['spot', 'on-demand']) await world.launch({ capacityTypes: [capacityType] });
      return world.sent.fleets.length;
    }, 2),
  ),
  same(
    150,
    'a refusal reaches every launch',
    gives(async () => {
      const errors = [{ ErrorCode: 'InsufficientInstanceCapacity', ErrorMessage: 'none' }];
      return (await three({ errors })).outcomes;
    }, ['InsufficientCapacity', 'InsufficientCapacity', 'InsufficientCapacity']),
  ),
  notApplicable(238, 'fewer instances than were asked for', 'a request is for one instance, which is there or not'),
]);

const metrics = 'descriptions and terminations are gathered without metrics of their own, as docs/metrics.md says';
/** pkg/batcher/suite_test.go */
export const batcherCases: readonly ConformanceCase[] = about('batches of calls', [
  notApplicable(62, 'how many batches run at once', 'a batch holds no thread: calls are limited by their rate'),
  same(
    77,
    'three hundred requests at once are one call',
    gives(async () => {
      const batches: number[] = [];
      const window = { idleMs: 100, maxMs: 1000, maxItems: 500 };
      const batcher = new Batcher<number, number>(window, steppingClock(now), (asked) => {
        batches.push(asked.length);
        return Promise.resolve(asked);
      });
      const answers = await Promise.all(Array.from({ length: 300 }, (_, i) => batcher.add(i)));
      return [batches, answers.every((answer, i) => answer === i)];
    }, [[300], true]),
  ),
  notApplicable([93, 111], 'metrics of batches', metrics),
]);

const offering = (instanceType: string, zone: string, capacityType: string): RefusedOffering => ({
  ...{ instanceType, zone, capacityType },
  reason: 'InsufficientInstanceCapacity',
});
const a = offering('m5.large', '1a', 'on-demand');
const b = offering('m5.xlarge', '1b', 'spot');
const c = offering('m5.xlarge', '1a', 'on-demand');
/** Which of these are left alone after each step. */
const closed = (
  of: readonly RefusedOffering[],
  ...steps: readonly RefusedOffering[]
): readonly (readonly boolean[])[] => {
  const offerings = new UnavailableOfferings(() => now);
  const look = (): readonly boolean[] =>
    of.map(({ capacityType, instanceType, zone }) => offerings.get(capacityType, instanceType, zone) !== undefined);
  return [
    look(),
    ...steps.map((step) => {
      offerings.add([step]);
      return look();
    }),
  ];
};
/** pkg/cache/suite_test.go */
export const unavailableCases: readonly ConformanceCase[] = about('unavailable offerings', [
  same(
    [48, 68],
    'only the refused offering',
    gives(
      () => closed([a, b], a, offering('m5.large', '1b', 'on-demand'), b),
      [
        [false, false],
        [true, false],
        [true, false],
        [true, true],
      ],
    ),
  ),
  same(
    94,
    'a refused capacity type',
    gives(
      () => closed([a, c, b], offering('*', '*', 'spot'), offering('*', '*', 'on-demand')),
      [
        [false, false, false],
        [false, false, true],
        [true, true, true],
      ],
    ),
  ),
  same(
    115,
    'a subnet without addresses closes its zone to every type',
    gives(async () => {
      const Overrides = { InstanceType: 'm5.large', AvailabilityZone: zone1, SubnetId: 'subnet-1' } as const;
      const error = { ErrorCode: 'InsufficientFreeAddressesInSubnet', ErrorMessage: 'none' };
      const world = account({
        types: ['m5.large', 'm5.xlarge'],
        errors: [{ ...error, LaunchTemplateAndOverrides: { Overrides } }],
      });
      await world.launch();
      return (await world.types()).map(({ offerings }) => [
        ...new Set(offerings.filter(({ available }) => !available).map((each) => zoneOf({ offering: each } as never))),
      ]);
    }, [[zone1], [zone1]]),
  ),
  same(
    155,
    'the list of offerings changes with them',
    gives(() => {
      const offerings = new UnavailableOfferings(() => now);
      const versions = [offerings.version];
      for (const each of [a, b, offering('*', '*', 'spot')]) {
        offerings.add([each]);
        versions.push(offerings.version);
      }
      return new Set(versions).size;
    }, 4),
  ),
]);

const since = new Date(now - 3_600_000);
const impaired = {
  Status: 'impaired' as const,
  Details: [{ Status: 'failed' as const, Name: 'reachability' as const, ImpairedSince: since }],
};
const healthy: InstanceStatus = {
  InstanceId: 'i-1',
  SystemStatus: { Status: 'initializing' },
  InstanceStatus: { Status: 'insufficient-data' },
};
const Events = [{ Code: 'instance-retirement' as const }];
const reads = (at: number, title: string, status: InstanceStatus, expected: readonly string[]): ConformanceCase =>
  same(
    at,
    title,
    gives(() => readStatus(status, now).map(({ kind }) => kind), expected),
  );
/** pkg/providers/instancestatus/suite_test.go */
export const statusCases: readonly ConformanceCase[] = about('status of an instance', [
  reads(
    102,
    'everything that is impaired is read',
    {
      InstanceId: 'i-1',
      InstanceStatus: impaired,
      SystemStatus: impaired,
      AttachedEbsStatus: { Status: 'impaired' },
      Events,
    },
    ['instance_status', 'system_status', 'event_status'],
  ),
  reads(131, 'a healthy instance has nothing', healthy, []),
  reads(152, 'a scheduled event of a healthy instance is read', { ...healthy, Events }, ['event_status']),
]);
