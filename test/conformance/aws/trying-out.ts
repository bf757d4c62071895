import type {
  CreateFleetCommandInput,
  CreateLaunchTemplateCommandInput,
  RunInstancesCommandInput,
} from '@aws-sdk/client-ec2';
import { awsLabels } from '../../../api/aws/labels.js';
import type { EC2NodeClassStatus } from '../../../api/aws/ec2-node-class.js';
import { labels } from '../../../api/labels.js';
import type { NodeSelectorRequirement } from '../../../api/kubernetes.js';
import { conditionOf } from '../../../core/conditions.js';
import { nodePool } from '../../builders/activity-world.js';
import { refusal } from '../../builders/aws-world.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { oneOf } from '../world.js';
import { account, type Given } from './account.js';
import { machine } from './machines.js';
import { plenty } from './validation.js';

/** Answers of calls one after the other, then that a dry run would have succeeded. */
interface Refusals {
  readonly template?: readonly Error[];
  readonly fleet?: readonly Error[];
  readonly instance?: readonly Error[];
}
interface Trial {
  readonly given?: Given;
  readonly refusals?: Refusals;
  /** What NodePools of the node class ask for. */
  readonly pools?: readonly (readonly NodeSelectorRequirement[])[];
  readonly withRole?: boolean;
}
interface Asked {
  readonly templates: CreateLaunchTemplateCommandInput[];
  readonly fleets: CreateFleetCommandInput[];
  readonly instances: RunInstancesCommandInput[];
}

/** A node class that is tried out, as often as is asked. */
function trial({ given = {}, refusals = {}, pools = [], withRole = false }: Trial) {
  const asked: Asked = { templates: [], fleets: [], instances: [] };
  const left = { template: [...(refusals.template ?? [])], fleet: [...(refusals.fleet ?? [])] };
  const instances = [...(refusals.instance ?? [])];
  const would = (): Error => refusal('DryRunOperation');
  const calls = {
    ...plenty,
    createLaunchTemplate: (input: CreateLaunchTemplateCommandInput) => {
      asked.templates.push(input);
      const error = left.template.shift();
      return error === undefined ? Promise.resolve({}) : Promise.reject(error);
    },
    createFleet: (input: CreateFleetCommandInput) => {
      asked.fleets.push(input);
      return Promise.reject(left.fleet.shift() ?? would());
    },
    runInstances: (input: RunInstancesCommandInput) => {
      asked.instances.push(input);
      return Promise.reject(instances.shift() ?? would());
    },
    getInstanceProfile: () => Promise.resolve({ InstanceProfile: { Roles: [{ RoleName: 'nodes' }] } }),
    ...given.calls,
  };
  const own = withRole ? {} : { role: undefined, instanceProfile: 'own' };
  const spec = { amiFamily: 'AL2023', amiSelectorTerms: [{ id: 'ami-1' }], ...own, ...given.spec };
  const world = account({ types: ['m5.large', 'm5.xlarge'], ...given, spec, calls });
  const all = pools.map((requirements, i) => {
    const made = nodePool(`pool-${i}`);
    const template = made.spec.template.spec;
    return { ...made, spec: { ...made.spec, template: { spec: { ...template, requirements } } } } as typeof made;
  });
  const nodeClass = { ...world.nodeClass, status: {} };
  const resolve = async (annotations?: Readonly<Record<string, string>>): Promise<EC2NodeClassStatus> => {
    const metadata = { ...nodeClass.metadata, ...(annotations && { annotations }) };
    const { status } = await world.provider.resolveNodeClass({ ...nodeClass, metadata }, all);
    return status;
  };
  return { asked, resolve, clock: world.clock };
}
const said = ({ conditions }: EC2NodeClassStatus, type = 'ValidationSucceeded'): string => {
  const found = conditionOf(conditions, type);
  return found?.status === 'False' ? `False/${found.reason ?? ''}` : (found?.status ?? 'none');
};
const says = (of: Trial, expected: string): Check => gives(async () => said(await trial(of).resolve()), expected);
/** The API server refuses such tags; what is held here is a node class that an older definition let through. */
const wrongTag = (at: number, title: string, key: string): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const world = account({
        types: ['m5.large'],
        spec: { amiFamily: 'AL2023', amiSelectorTerms: [{ id: 'ami-1' }], role: undefined, instanceProfile: 'own' },
        options: { disableDryRun: true },
        calls: plenty,
      });
      const spec = { ...world.nodeClass.spec, tags: { [key]: 'value' } };
      const { status } = await world.provider.resolveNodeClass({ ...world.nodeClass, spec, status: {} });
      return ['ValidationSucceeded', 'Ready'].map((type) => said(status as EC2NodeClassStatus, type).split('/')[0]);
    }, ['False', 'False']),
  );

const noIdentity = { types: ['m5.large'], options: { isolatedVpc: false } } satisfies Given;
const gone = refusal('NoSuchEntityException', 'no such profile', 'iam:GetInstanceProfile', 404);
const away = refusal('ServiceUnavailable', 'later', 'iam:GetInstanceProfile', 503);
const profile = (at: number, title: string, error: Error, expected: string): ConformanceCase =>
  same(
    at,
    title,
    says(
      {
        withRole: true,
        given: {
          ...noIdentity,
          calls: {
            getInstanceProfile: () => Promise.reject(error),
            createInstanceProfile: () => Promise.resolve({}),
            addRoleToInstanceProfile: () => Promise.reject(error),
          },
        },
      },
      expected,
    ),
  );

const cluster = (network: object) => () =>
  Promise.resolve({ cluster: { endpoint: 'https://x', kubernetesNetworkConfig: network, version: '1.32' } });
/** The service CIDR that nodes get; EKS is asked for it for AL2023 alone. */
const addresses = (at: number, network: object, expected: string): ConformanceCase =>
  same(
    at,
    `the addresses of services: ${expected}`,
    gives(async () => {
      const given: Given = {
        options: { serviceCidr: undefined, clusterDns: () => Promise.resolve(undefined) },
        calls: { describeCluster: cluster(network) },
      };
      const { resolve, asked } = trial({ given });
      const status = said(await resolve());
      const [template] = asked.templates;
      const text = Buffer.from(template?.LaunchTemplateData?.UserData ?? '', 'base64').toString();
      return [status, text.includes(expected)];
    }, ['True', true]),
  );
const otherFamily = (at: number, family: string, alias: string, version = '1.32'): ConformanceCase =>
  same(
    at,
    `EKS is not asked for ${family}`,
    gives(async () => {
      let asked = 0;
      const term = alias === '' ? { id: 'ami-1' } : { alias };
      const given: Given = {
        spec: { amiFamily: family, amiSelectorTerms: [term] },
        options: { serviceCidr: undefined, kubernetesVersion: () => Promise.resolve(version) },
        calls: {
          describeCluster: () => {
            asked += 1;
            return cluster({ serviceIpv4Cidr: '10.100.0.0/16' })();
          },
          getParameter: () => Promise.resolve({ Parameter: { Value: 'ami-1' } }),
        },
      };
      const { resolve } = trial({ given });
      return [said(await resolve()), asked];
    }, ['True', 0]),
  );

const conditionCases: readonly ConformanceCase[] = about('validation of a node class at run time', [
  profile(79, 'the role of the instance profile does not exist', gone, 'False/DependenciesNotReady'),
  profile(93, 'the instance profile is not visible yet', away, 'Unknown'),
  otherFamily(151, 'AL2', 'al2@latest'),
  otherFamily(152, 'Bottlerocket', 'bottlerocket@latest'),
  otherFamily(153, 'Windows2019', 'windows2019@latest'),
  otherFamily(154, 'Windows2022', 'windows2022@latest'),
  otherFamily(155, 'Windows2025', 'windows2025@latest', '1.35'),
  otherFamily(156, 'Custom', ''),
  addresses(158, { serviceIpv4Cidr: '10.100.0.0/16' }, '10.100.0.0/16'),
  addresses(167, { serviceIpv6Cidr: '2001:db8::/64' }, '2001:db8::/64'),
  wrongTag(222, "another cluster's tag", 'kubernetes.io/cluster/acluster'),
  wrongTag(223, 'the tag of a NodePool', 'karpenter.sh/nodepool'),
  wrongTag(224, "the tag of the cluster's name", 'eks:eks-cluster-name'),
  wrongTag(225, 'the tag of a node class', 'karpenter.k8s.aws/ec2nodeclass'),
  wrongTag(226, 'the tag of a NodeClaim', 'karpenter.sh/nodeclaim'),
  same(228, 'allowed tags', says({ given: { spec: { tags: { team: 'a' } } } }, 'True')),
  same(
    357,
    'user data that EC2 refuses as too large',
    says(
      { refusals: { template: [refusal('InvalidUserData.Malformed', 'User data is limited to 16384 bytes')] } },
      'False/UserDataSizeLimitExceeded',
    ),
  ),
  same(
    368,
    'malformed user data',
    gives(
      async () =>
        said(
          await trial({
            refusals: { template: [refusal('InvalidUserData.Malformed', 'Invalid BASE64 encoding of user data.')] },
          }).resolve(),
        ) === 'False/UserDataSizeLimitExceeded',
      false,
    ),
  ),
  same(
    452,
    'expressions while types are unknown',
    gives(async () => {
      const given: Given = {
        options: { kubeletExpressions: true },
        spec: { kubelet: { maxPods: 'min(110, default_enis * (ips_per_eni - 1))' } },
        calls: {
          describeInstanceTypes: () =>
            Promise.reject(refusal('ServiceUnavailable', 'later', 'ec2:DescribeInstanceTypes', 503)),
        },
      };
      return said(await trial({ given }).resolve());
    }, 'Unknown'),
  ),
]);

const unauthorized = (message = 'You are not authorized'): Error =>
  refusal('UnauthorizedOperation', message, 'ec2:Some', 403);
/** A refusal that holds for half an hour, and what it says. */
const denied = (at: number, title: string, refusals: Refusals, reason: string, words: string): ConformanceCase =>
  same(
    at,
    title,
    gives(async () => {
      const { resolve, clock } = trial({ refusals });
      const first = await resolve();
      const again = said(await resolve());
      clock.time += 31 * 60_000;
      const message = conditionOf(first.conditions, 'ValidationSucceeded')?.message ?? '';
      return [said(first), message.includes(words), again, said(await resolve())];
    }, [`False/${reason}`, true, `False/${reason}`, 'True']),
  );
const four = (error: Error): readonly Error[] => [error, error, error];
const noProfile = refusal(
  'InvalidParameterValue',
  'Value (own) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name',
  'ec2:RunInstances',
);
const boundary = 'with an explicit deny in a permissions boundary';
const control = 'with an explicit deny in a service control policy';

const permissionCases: readonly ConformanceCase[] = about('dry runs without permission', [
  denied(
    556,
    'no permission to launch fleets',
    { fleet: [unauthorized()] },
    'CreateFleetAuthCheckFailed',
    'not authorized',
  ),
  denied(
    562,
    'no permission to run instances',
    { instance: four(unauthorized()) },
    'RunInstancesAuthCheckFailed',
    'not authorized',
  ),
  denied(
    568,
    'no permission to make launch templates',
    { template: [unauthorized()] },
    'CreateLaunchTemplateAuthCheckFailed',
    'not authorized',
  ),
  denied(574, 'a permissions boundary', { fleet: [unauthorized(boundary)] }, 'CreateFleetAuthCheckFailed', boundary),
  denied(
    581,
    'a service control policy',
    { instance: four(unauthorized(control)) },
    'RunInstancesAuthCheckFailed',
    control,
  ),
  same(
    589,
    'one subnet cannot decide, another is tried',
    says({ refusals: { instance: [refusal('InternalError', 'words', 'ec2:RunInstances', 500)] } }, 'True'),
  ),
  same(
    598,
    'a named instance profile that does not exist',
    gives(async () => {
      const status = await trial({ refusals: { instance: four(noProfile) } }).resolve();
      return [said(status), conditionOf(status.conditions, 'ValidationSucceeded')?.message?.includes('own')];
    }, ['False/InstanceProfileNotFound', true]),
  ),
  same(
    613,
    'an instance profile that was just created',
    says({ withRole: true, refusals: { instance: four(noProfile) } }, 'Unknown'),
  ),
]);

/** The type, and the tenancy, that are tried out. */
const tries = (of: Trial, look: (asked: Asked) => unknown, expected: unknown): Check =>
  gives(async () => {
    const { resolve, asked } = trial(of);
    await resolve();
    return look(asked);
  }, expected);
const typeOf = ({ instances }: Asked): unknown => instances[0]?.InstanceType;
const tenancyOf = ({ templates }: Asked): unknown => templates[0]?.LaunchTemplateData?.Placement?.Tenancy ?? 'default';
const windows = (at: number, family: string, version = '1.32'): ConformanceCase =>
  same(
    at,
    `m5.large for ${family}`,
    tries(
      {
        given: {
          types: ['t3.large', 'm5.large', 'm5.metal'],
          spec: { amiFamily: family, amiSelectorTerms: [{ alias: `${family.toLowerCase()}@latest` }] },
          options: { kubernetesVersion: () => Promise.resolve(version) },
          calls: { getParameter: () => Promise.resolve({ Parameter: { Value: 'ami-1' } }) },
        },
      },
      typeOf,
      'm5.large',
    ),
  );
const tenancy = (at: number, title: string, pools: NonNullable<Trial['pools']>, expected: string): ConformanceCase =>
  same(at, title, tries({ pools }, tenancyOf, expected));
const ofTenancy = (...values: readonly string[]): NonNullable<Trial['pools']> => [
  [oneOf(awsLabels.instanceTenancy, ...values)],
];
const named = (...names: readonly string[]): NonNullable<Trial['pools']> => [[oneOf(labels.instanceType, ...names)]];
const a1 = machine('a1.large', { arm: true });
const list = {
  networkInterfaces: [
    [0, 0, 'interface'],
    [0, 1, 'efa-only'],
    [1, 0, 'efa-only'],
  ].map(([networkCardIndex, deviceIndex, interfaceType]) => ({ networkCardIndex, deviceIndex, interfaceType })),
};

const choiceCases: readonly ConformanceCase[] = about('type and image of a dry run', [
  windows(639, 'Windows2019'),
  windows(640, 'Windows2022'),
  windows(641, 'Windows2025', '1.35'),
  same(
    645,
    'NodePools whose types do not fit the image',
    tries(
      {
        given: { types: ['m5.large', a1], prices: { 'm5.large': 0.096, 'a1.large': 0.01 } },
        pools: [[oneOf(awsLabels.instanceFamily, 'a1')]],
      },
      typeOf,
      'm5.large',
    ),
  ),
  same(
    677,
    'interfaces that few types have',
    tries({ given: { types: ['m5.large', 'p5.48xlarge'], spec: list } }, typeOf, 'p5.48xlarge'),
  ),
  same(
    743,
    'a type without GPUs first, of those that NodePools allow',
    tries(
      { given: { types: ['t3.large', 'm5.xlarge', 'g4dn.8xlarge'] }, pools: named('m5.xlarge', 'g4dn.8xlarge') },
      typeOf,
      'm5.xlarge',
    ),
  ),
  same(
    770,
    'a GPU type where NodePools allow no other',
    tries({ given: { types: ['t3.large', 'g4dn.8xlarge'] }, pools: named('g4dn.8xlarge') }, typeOf, 'g4dn.8xlarge'),
  ),
  tenancy(798, 'default tenancy without a NodePool', [], 'default'),
  tenancy(804, 'default tenancy without a requirement', [[]], 'default'),
  tenancy(850, 'default tenancy', ofTenancy('default'), 'default'),
  tenancy(853, 'either tenancy', ofTenancy('default', 'dedicated'), 'dedicated'),
  tenancy(856, 'dedicated tenancy', ofTenancy('dedicated'), 'dedicated'),
  same(
    861,
    'an annotation repeats the dry run',
    gives(async () => {
      const { resolve, asked } = trial({});
      await resolve();
      await resolve();
      const before = asked.instances.length;
      await resolve({ testing: 'validation' });
      return [before, asked.instances.length];
    }, [1, 2]),
  ),
  notApplicable(
    876,
    'what is known of a node class that is gone',
    'verdicts are kept by what the node class says and its UID',
  ),
  same(
    891,
    'dry runs are switched off',
    gives(async () => {
      const { resolve, asked } = trial({ given: { options: { disableDryRun: true } } });
      const status = said(await resolve());
      return [status, asked.templates.length + asked.fleets.length + asked.instances.length];
    }, ['True', 0]),
  ),
]);

/** pkg/controllers/nodeclass/validation_test.go, what is tried out. */
export const trialCases: readonly ConformanceCase[] = [...conditionCases, ...permissionCases, ...choiceCases];
