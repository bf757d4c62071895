import {
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  CreateTagsCommand,
  DeleteLaunchTemplateCommand,
  DescribeCapacityReservationsCommand,
  DescribeImagesCommand,
  DescribeInstancesCommand,
  DescribeInstanceStatusCommand,
  DescribeInstanceTypeOfferingsCommand,
  DescribeInstanceTypesCommand,
  DescribeLaunchTemplatesCommand,
  DescribePlacementGroupsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSpotPriceHistoryCommand,
  DescribeSubnetsCommand,
  EC2Client,
  RebootInstancesCommand,
  RunInstancesCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import type * as ec2 from '@aws-sdk/client-ec2';
import { DescribeClusterCommand, EKSClient } from '@aws-sdk/client-eks';
import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  DeleteInstanceProfileCommand,
  GetInstanceProfileCommand,
  IAMClient,
  ListInstanceProfilesCommand,
  RemoveRoleFromInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import type * as iam from '@aws-sdk/client-iam';
import { GetProductsCommand, PricingClient } from '@aws-sdk/client-pricing';
import type * as pricing from '@aws-sdk/client-pricing';
import {
  DeleteMessageBatchCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type * as sqs from '@aws-sdk/client-sqs';
import { GetParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import { type Caller, type CallerOptions, createCaller, type Exchange, watchExchanges } from './caller.js';
import { createAgents, get, type Agents, type NetworkOptions } from './http-agents.js';
import { createHash, createHmac } from 'node:crypto';
import { lookUp } from '../../core/own.js';

export interface CallsOptions extends NetworkOptions, CallerOptions {
  readonly region: string;
  /** Replaces AWS' own endpoints, for test beds and private gateways. */
  readonly endpoint?: string;
  /** Region that serves GetProducts, which few regions do. Default by partition. */
  readonly pricingRegion?: string;
  /** Receives all requests and responses of the SDK clients, for recordings. */
  readonly onExchange?: (exchange: Exchange) => void;
}

/** Every AWS call of the provider: limited, retried and named in one place. */
export function createCalls(options: CallsOptions): AwsCalls {
  const agents = createAgents(options);
  const config = {
    region: options.region,
    // The caller counts attempts under the shared limiter, instead of the SDK.
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: 60_000, throwOnRequestTimeout: true, ...agents },
    ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint }),
  };
  const clients = {
    ec2: new EC2Client(config),
    eks: new EKSClient(config),
    iam: new IAMClient(config),
    pricing: new PricingClient({ ...config, region: options.pricingRegion ?? pricingRegionOf(options.region) }),
    sqs: new SQSClient(config),
    ssm: new SSMClient(config),
  };
  for (const client of Object.values(clients)) withoutLog(client);
  const { onExchange } = options;
  if (onExchange !== undefined)
    for (const [service, client] of Object.entries(clients)) watchExchanges(client, service, onExchange);
  const call = createCaller(options);
  return {
    ...discoveryCalls(clients, call),
    ...fleetCalls(clients, call),
    ...otherCalls(clients, call, { ...options, agents }),
  };
}

/**
 * The SDK copies every request and response without sensitive fields for its logger, even if that drops them: an eighth
 * of the processor time of a response as large as that of DescribeInstanceTypes. `createCaller` reports calls instead.
 */
function withoutLog({ middlewareStack }: Clients[keyof Clients]): void {
  middlewareStack.remove('loggerMiddleware');
}

export type AwsCalls = ReturnType<typeof discoveryCalls> &
  ReturnType<typeof fleetCalls> &
  ReturnType<typeof otherCalls>;

interface Clients {
  readonly ec2: EC2Client;
  readonly eks: EKSClient;
  readonly iam: IAMClient;
  readonly pricing: PricingClient;
  readonly sqs: SQSClient;
  readonly ssm: SSMClient;
}

const discoveryCalls = (clients: Clients, call: Caller) => ({
  describeInstanceTypes: (input: ec2.DescribeInstanceTypesCommandInput) =>
    call('ec2:DescribeInstanceTypes', 'read', () => clients.ec2.send(new DescribeInstanceTypesCommand(input))),
  describeInstanceTypeOfferings: (input: ec2.DescribeInstanceTypeOfferingsCommandInput) =>
    call('ec2:DescribeInstanceTypeOfferings', 'read', () =>
      clients.ec2.send(new DescribeInstanceTypeOfferingsCommand(input)),
    ),
  describeSpotPriceHistory: (input: ec2.DescribeSpotPriceHistoryCommandInput) =>
    call('ec2:DescribeSpotPriceHistory', 'read', () => clients.ec2.send(new DescribeSpotPriceHistoryCommand(input))),
  describeSubnets: (input: ec2.DescribeSubnetsCommandInput) =>
    call('ec2:DescribeSubnets', 'read', () => clients.ec2.send(new DescribeSubnetsCommand(input))),
  describeSecurityGroups: (input: ec2.DescribeSecurityGroupsCommandInput) =>
    call('ec2:DescribeSecurityGroups', 'read', () => clients.ec2.send(new DescribeSecurityGroupsCommand(input))),
  describeImages: (input: ec2.DescribeImagesCommandInput) =>
    call('ec2:DescribeImages', 'read', () => clients.ec2.send(new DescribeImagesCommand(input))),
  describeCapacityReservations: (input: ec2.DescribeCapacityReservationsCommandInput) =>
    call('ec2:DescribeCapacityReservations', 'read', () =>
      clients.ec2.send(new DescribeCapacityReservationsCommand(input)),
    ),
  describePlacementGroups: (input: ec2.DescribePlacementGroupsCommandInput) =>
    call('ec2:DescribePlacementGroups', 'read', () => clients.ec2.send(new DescribePlacementGroupsCommand(input))),
});

const fleetCalls = (clients: Clients, call: Caller) => ({
  describeInstances: (input: ec2.DescribeInstancesCommandInput) =>
    call('ec2:DescribeInstances', input.InstanceIds === undefined ? 'read' : 'describeById', () =>
      clients.ec2.send(new DescribeInstancesCommand(input)),
    ),
  describeInstanceStatus: (input: ec2.DescribeInstanceStatusCommandInput) =>
    call('ec2:DescribeInstanceStatus', 'read', () => clients.ec2.send(new DescribeInstanceStatusCommand(input))),
  describeLaunchTemplates: (input: ec2.DescribeLaunchTemplatesCommandInput) =>
    call('ec2:DescribeLaunchTemplates', 'read', () => clients.ec2.send(new DescribeLaunchTemplatesCommand(input))),
  createLaunchTemplate: (input: ec2.CreateLaunchTemplateCommandInput) =>
    call('ec2:CreateLaunchTemplate', 'mutate', () => clients.ec2.send(new CreateLaunchTemplateCommand(input))),
  deleteLaunchTemplate: (input: ec2.DeleteLaunchTemplateCommandInput) =>
    call('ec2:DeleteLaunchTemplate', 'mutate', () => clients.ec2.send(new DeleteLaunchTemplateCommand(input))),
  /** Not retried here without a response: the launch first looks for the result of the lost call. */
  createFleet: (input: ec2.CreateFleetCommandInput) =>
    call('ec2:CreateFleet', 'launch', () => clients.ec2.send(new CreateFleetCommand(input)), false),
  runInstances: (input: ec2.RunInstancesCommandInput & { DryRun: true }) =>
    call('ec2:RunInstances', 'tryOut', () => clients.ec2.send(new RunInstancesCommand(input))),
  rebootInstances: (input: ec2.RebootInstancesCommandInput) =>
    call('ec2:RebootInstances', 'mutate', () => clients.ec2.send(new RebootInstancesCommand(input))),
  terminateInstances: (input: ec2.TerminateInstancesCommandInput) =>
    call('ec2:TerminateInstances', 'terminate', () => clients.ec2.send(new TerminateInstancesCommand(input))),
  createTags: (input: ec2.CreateTagsCommandInput) =>
    call('ec2:CreateTags', 'tag', () => clients.ec2.send(new CreateTagsCommand(input))),
});

const otherCalls = (clients: Clients, call: Caller, options: ReadOptions) => ({
  getInstanceProfile: (input: iam.GetInstanceProfileCommandInput) =>
    call('iam:GetInstanceProfile', 'other', () => clients.iam.send(new GetInstanceProfileCommand(input))),
  createInstanceProfile: (input: iam.CreateInstanceProfileCommandInput) =>
    call('iam:CreateInstanceProfile', 'other', () => clients.iam.send(new CreateInstanceProfileCommand(input))),
  addRoleToInstanceProfile: (input: iam.AddRoleToInstanceProfileCommandInput) =>
    call('iam:AddRoleToInstanceProfile', 'other', () => clients.iam.send(new AddRoleToInstanceProfileCommand(input))),
  removeRoleFromInstanceProfile: (input: iam.RemoveRoleFromInstanceProfileCommandInput) =>
    call('iam:RemoveRoleFromInstanceProfile', 'other', () =>
      clients.iam.send(new RemoveRoleFromInstanceProfileCommand(input)),
    ),
  deleteInstanceProfile: (input: iam.DeleteInstanceProfileCommandInput) =>
    call('iam:DeleteInstanceProfile', 'other', () => clients.iam.send(new DeleteInstanceProfileCommand(input))),
  listInstanceProfiles: (input: iam.ListInstanceProfilesCommandInput) =>
    call('iam:ListInstanceProfiles', 'other', () => clients.iam.send(new ListInstanceProfilesCommand(input))),
  getParameter: (name: string) =>
    call('ssm:GetParameter', 'other', () => clients.ssm.send(new GetParameterCommand({ Name: name }))),
  getProducts: (input: pricing.GetProductsCommandInput) =>
    call('pricing:GetProducts', 'other', () => clients.pricing.send(new GetProductsCommand(input))),
  describeCluster: (name: string) =>
    call('eks:DescribeCluster', 'other', () => clients.eks.send(new DescribeClusterCommand({ name }))),
  /** EC2's clock, milliseconds since the epoch. Any response has it, also an error. */
  time: async () => {
    const { region, endpoint = `https://ec2.${region}.${dnsSuffixOf(region)}`, agents } = options;
    const { date = '' } = await get(new URL(endpoint), {}, agents);
    const at = Date.parse(date);
    return Number.isFinite(at) ? at : undefined;
  },
  /**
   * ARC zonal shift, for which no client package is installed: one signed GET, with the credentials of the EC2 client.
   */
  getManagedResource: (arn: string) =>
    call('arc-zonal-shift:GetManagedResource', 'other', () => managedResource(clients.ec2, options, arn)),
  getQueueUrl: (name: string) =>
    call('sqs:GetQueueUrl', 'queue', () => clients.sqs.send(new GetQueueUrlCommand({ QueueName: name }))),
  getQueueAttributes: (input: sqs.GetQueueAttributesCommandInput) =>
    call('sqs:GetQueueAttributes', 'queue', () => clients.sqs.send(new GetQueueAttributesCommand(input))),
  receiveMessages: (input: sqs.ReceiveMessageCommandInput, signal: AbortSignal) =>
    call(
      'sqs:ReceiveMessage',
      'queue',
      () => clients.sqs.send(new ReceiveMessageCommand(input), { abortSignal: signal }),
      false,
    ),
  deleteMessages: (input: sqs.DeleteMessageBatchCommandInput) =>
    call('sqs:DeleteMessage', 'queue', () => clients.sqs.send(new DeleteMessageBatchCommand(input))),
});

interface ZonalShift {
  readonly appliedStatus?: string;
  readonly awayFrom?: string;
  /** Seconds since the epoch. */
  readonly expiryTime?: number;
}

/** The used part of the ARC response. */
export interface ManagedResource {
  readonly zonalShifts?: readonly ZonalShift[];
  readonly autoshifts?: readonly { readonly appliedStatus?: string; readonly awayFrom?: string }[];
}

interface ReadOptions extends CallsOptions {
  readonly agents: Agents;
}

async function managedResource(client: EC2Client, options: ReadOptions, arn: string): Promise<ManagedResource> {
  const { region, endpoint = `https://arc-zonal-shift.${region}.${dnsSuffixOf(region)}`, clock } = options;
  const url = new URL(`/managedresources/${encodeURIComponent(arn)}`, endpoint);
  const credentials = await client.config.credentials();
  // With the clock offset that the EC2 client has corrected.
  const now = clock.now() + client.config.systemClockOffset;
  const headers = signedHeaders({ url, region, service: 'arc-zonal-shift', credentials, now });
  const { status, errorType, text } = await get(url, headers, options.agents);
  if (status === 200) return JSON.parse(text) as ManagedResource;
  const name = errorType?.split(':')[0] ?? 'Unknown';
  throw Object.assign(new Error(text.slice(0, 200)), { name, $metadata: { httpStatusCode: status } });
}

const dnsSuffixes: readonly (readonly [prefix: string, suffix: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
];

/** The domain of AWS endpoints in the partition of a region. */
export function dnsSuffixOf(region: string): string {
  return dnsSuffixes.find(([prefix]) => region.startsWith(prefix))?.[1] ?? 'amazonaws.com';
}

/** Regions that serve GetProducts, by partition and distance. */
function pricingRegionOf(region: string): string {
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return 'us-east-1';
}

interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

interface SignedGet {
  readonly url: URL;
  readonly region: string;
  readonly service: string;
  readonly credentials: AwsCredentials;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/**
 * Headers of a GET without query, signed by Signature Version 4. For services without an installed client package;
 * everything else uses the SDK.
 */
export function signedHeaders({ url, region, service, credentials, now }: SignedGet): Record<string, string> {
  const time = new Date(now).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/${region}/${service}/aws4_request`;
  const sent: Record<string, string> = {
    'x-amz-date': time,
    ...(credentials.sessionToken === undefined ? {} : { 'x-amz-security-token': credentials.sessionToken }),
  };
  const headers: Record<string, string> = { host: url.host, ...sent };
  const names = Object.keys(headers).sort();
  // The path is encoded once more for the signature, as required by every service except S3.
  const path = url.pathname.split('/').map(encodeURIComponent).join('/');
  const canonical = [
    'GET',
    path,
    '',
    ...names.map((name) => `${name}:${lookUp(headers, name) ?? ''}`),
    '',
    names.join(';'),
    sha256(''),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  const signature = hmac(key, toSign).toString('hex');
  return {
    ...sent,
    authorization: `AWS4-HMAC-SHA256 Credential=${credentials.accessKeyId}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}
