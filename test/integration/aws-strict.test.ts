import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isTrue } from '../../core/conditions.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { CloudInstance, CloudProvider } from '../../cloud/port.js';
import { addStrangers } from './strangers.js';
import {
  awsProvider,
  briefLags,
  claim,
  need,
  nodeClass,
  pool,
  requestFor,
  resolved,
  settled,
  useCloud,
} from './aws-subject.js';

const { stack, cloud } = useCloud();
const m5 = need('node.kubernetes.io/instance-type', 'm5.large');
const hour = 3_600_000;

let provider: CloudProvider;
let shift: (ms: number) => void;

const controller = (): string => 'arn:aws:sts::123456789012:assumed-role/StowageController/session';
const launch = async (ready: EC2NodeClass, own = claim([m5])): Promise<string> => {
  const result = await provider.launch(requestFor(own, ready));
  if (!result.ok) throw new Error(result.error.message);
  return result.value.providerId;
};
const shown = (providerId: string): Promise<readonly CloudInstance[]> =>
  settled(
    () => provider.list(),
    (all) => all.some((each) => each.providerId === providerId),
  );

beforeAll(async () => {
  await cloud().reset();
  ({ provider, shift } = awsProvider(stack(), { zonalShift: true, interruptionQueue: stack().cluster }));
});
afterAll(() => cloud().reset());

// Rule `node-classes/dry-run`.
test('a node class waits the seconds until EC2 knows its new instance profile, and then is Ready', async () => {
  const given = nodeClass(stack(), {}, 'brand-new');
  const { status, requeueAfterMs } = await provider.resolveNodeClass(given);
  expect(status).toMatchObject({
    conditions: expect.arrayContaining([
      expect.objectContaining({ type: 'ValidationSucceeded', status: 'Unknown', reason: 'InstanceProfileNotFound' }),
    ]),
  });
  expect(requeueAfterMs).toBeLessThanOrEqual(10_000);
  expect(isTrue((await resolved(provider, given)).status?.conditions, 'Ready')).toBe(true);
});

// Rule `settings/permissions`.
test('the IAM policy allows every call that Stowage makes, and no call that it does not make', async () => {
  await cloud().configure({ ...briefLags, capacityReservations: [] });
  const given = nodeClass(
    stack(),
    {
      capacityReservationSelectorTerms: [{ tags: { team: 'blue' } }],
      // The endpoint's facts come from EKS.
    },
    'whole-life',
  );
  await cloud().configure({
    placementGroups: [{ id: 'pg-0aaaaaaaaaaaaaaaa', name: 'together', strategy: 'spread' }],
  });
  const asksEks = awsProvider(stack(), {
    zonalShift: true,
    interruptionQueue: stack().cluster,
    clusterEndpoint: undefined,
    caBundle: undefined,
  });
  ({ provider, shift } = asksEks);
  const grouped = await resolved(
    provider,
    nodeClass(stack(), { placementGroupSelector: { name: 'together' } }, 'whole-life-grouped'),
  );
  const ready = await resolved(provider, given);
  expect([isTrue(ready.status?.conditions, 'Ready'), isTrue(grouped.status?.conditions, 'Ready')]).toEqual([
    true,
    true,
  ]);
  const spot = claim([m5, need('karpenter.sh/capacity-type', 'spot')]);
  const launched = [await launch(ready, spot), await launch(ready), await launch(grouped)];
  for (const providerId of launched) {
    await shown(providerId);
    await settled(() => provider.tag(providerId, { Name: 'node', 'karpenter.sh/nodeclaim': 'x' }).then(() => true));
  }
  await provider.rebootInstance!(launched[0]!);
  for (const providerId of launched) expect(await provider.terminate(providerId)).toBe('terminating');
  await receiveOne();
  for (const each of [ready, grouped]) await provider.cleanUpNodeClass(each);
  await provider.sweep!([], []);
  // What `stowage doctor` looks at.
  const account = provider.account!;
  await account.authenticate();
  expect([...(await account.permissions()).values()].filter((refused) => refused !== undefined)).toEqual([]);
  expect((await account.queue!.look()).waiting).toBeGreaterThanOrEqual(0);

  const { denials, used } = await cloud().permissions();
  expect(denials).toEqual([]);
  const policy = JSON.parse(readFileSync('deploy/iam-policy.json', 'utf8')) as { Statement: { Action: string[] }[] };
  const allowed = new Set(policy.Statement.flatMap(({ Action }) => Action));
  expect(Object.keys(used[controller()]!).sort()).toEqual([...allowed].sort());
});

/** Takes the first notice that there is, and with it the instance status. */
async function receiveOne(): Promise<void> {
  const stop = new AbortController();
  await cloud().recommendRebalance((await cloud().instances())[0]!.id);
  await provider.interruptions!.run(
    () => {
      stop.abort();
      return Promise.resolve();
    },
    stop.signal,
    () => stop.abort(),
  );
}

// Rules `node-classes/deletion`, `launch-templates/unused-are-deleted`.
test("other owners' resources in the account stay, also with tags of the cluster", async () => {
  const { region, cluster, awsEndpoint } = stack();
  const strangers = await addStrangers({ region, cluster, endpoint: awsEndpoint! }, `strict-${process.pid}`);
  const ready = await resolved(provider, nodeClass(stack(), {}, 'among-strangers'));
  const own = await launch(ready);
  const listed = (await shown(own)).map(({ instanceId }) => instanceId);
  expect(listed.filter((id) => strangers.instances.includes(id))).toEqual([]);
  await cloud().clearRequests();
  for (let look = 0; look < 2; look++) {
    shift(2 * hour);
    await provider.sweep!([ready], []);
  }
  await provider.cleanUpNodeClass(ready);
  const changed = (await cloud().requests({})).filter(({ action }) => /^(Delete|Remove|Terminate)/.test(action));
  const text = JSON.stringify(changed.map(({ params }) => params));
  for (const name of [...strangers.profiles, ...strangers.templates]) expect(text).not.toContain(name);
  expect(await Promise.all(strangers.instances.map((id) => cloud().isRunning(id)))).toEqual([true, true]);
});

test('an instance with termination protection is reported, and the others of its TerminateInstances call end', async () => {
  const ready = await resolved(provider, nodeClass(stack(), {}, 'protected'));
  const ids = await Promise.all([1, 2, 3].map(() => launch(ready)));
  for (const id of ids) await shown(id);
  const [kept = ''] = ids;
  await cloud().configure({ protectedInstances: { [kept.split('/').at(-1)!]: 'termination' } });
  const outcome = await Promise.allSettled(ids.map((id) => provider.terminate(id)));
  expect(outcome.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(outcome[0]).toMatchObject({ reason: { message: expect.stringContaining('disableApiTermination') } });
});

test('an IPv6 cluster of EKS: its nodes have a primary IPv6 address and the service CIDR', async () => {
  await cloud().configure({ ...briefLags, ipFamily: 'ipv6' });
  const ipv6 = awsProvider(stack(), { clusterEndpoint: undefined, caBundle: undefined }).provider;
  const ready = await resolved(ipv6, nodeClass(stack(), {}, 'over-ipv6'));
  expect(isTrue(ready.status?.conditions, 'Ready')).toBe(true);
  const templates = await cloud().requests({ service: 'ec2', action: 'CreateLaunchTemplate' });
  const { LaunchTemplateData: data } = templates.at(-1)!.params as { LaunchTemplateData: Record<string, unknown> };
  expect(data).toMatchObject({ NetworkInterface: { '1': { PrimaryIpv6: 'true', Ipv6AddressCount: '1' } } });
  expect(Buffer.from(String(data['UserData']), 'base64').toString()).toContain('fd00:10:100::/108');
});

// Rule `instance-types/whole-price`.
test('the price of a node is that of its instance, volumes and public address', async () => {
  await cloud().configure(briefLags);
  const priceUnder = async (spec: Partial<EC2NodeClass['spec']>, name: string): Promise<number> => {
    const ready = await resolved(provider, nodeClass(stack(), spec, name));
    const type = (await provider.instanceTypes(pool, ready)).find((each) => each.name === 'm5.large')!;
    return type.offerings.find(({ requirements }) => requirements[0]!.values?.[0] === 'on-demand')!.price;
  };
  const bare = { amiFamily: 'Custom' as const, associatePublicIPAddress: false };
  const machine = await priceUnder(bare, 'machine-alone');
  const { onDemand } = await cloud().prices('m5.large');
  expect(machine).toBe(onDemand);
  expect(await priceUnder({ associatePublicIPAddress: false }, 'with-disk')).toBeCloseTo(machine + (20 * 0.08) / 730);
  expect(await priceUnder({ ...bare, associatePublicIPAddress: true }, 'with-address')).toBeCloseTo(machine + 0.005);
});

// Rule `instance-types/built-in-prices`.
test('without a Pricing API list prices are used', async () => {
  await cloud().configure({ pricing: false });
  const away = awsProvider(stack());
  const ready = await resolved(away.provider, nodeClass(stack(), {}, 'unpriced'));
  const type = (await away.provider.instanceTypes(pool, ready)).find(({ name }) => name === 'm5.large');
  expect(type?.offerings.filter(({ available }) => available)).toHaveLength(6);
  expect(away.provider.priceList?.source).toBe('estimate');
  expect(away.problems.filter((problem) => problem.includes('built in'))).toHaveLength(1);
});
