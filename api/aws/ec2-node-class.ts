import { z } from 'zod';
import type { Condition } from '../kubernetes.js';
import { dateTime, integer, nodeUpdates, plainConditions } from '../schema/fields.js';
import { annotate, withRules } from '../schema/rules.js';
import { defineResource, type Resource, type ResourceObject } from '../schema/resource.js';
import { blockDeviceMappings } from './block-devices.js';
import { networkInterfaces } from './network-interfaces.js';
import {
  amiSelectorTerms,
  capacityReservationSelectorTerms,
  placementGroupSelector,
  securityGroupSelectorTerms,
  subnetSelectorTerms,
} from './selector-terms.js';

const amiFamilies = ['AL2', 'AL2023', 'Bottlerocket', 'Custom', 'Windows2019', 'Windows2022', 'Windows2025'] as const;

/** Tag keys that Stowage sets. */
const ownTags = [
  'eks:eks-cluster-name',
  'karpenter.sh/nodepool',
  'karpenter.sh/nodeclaim',
  'karpenter.k8s.aws/ec2nodeclass',
] as const;

/** Those of the given tags that a node class may not set. */
export function restrictedTags(given: Readonly<Record<string, string>> = {}): readonly string[] {
  const own: readonly string[] = ownTags;
  return Object.keys(given).filter((key) => own.includes(key) || key.startsWith('kubernetes.io/cluster/'));
}

const tags = withRules(
  z.record(z.string(), z.string()),
  {
    message: 'tag keys may not be empty',
    cel: "self.all(k, k != '')",
    holds: (self) => !('' in self),
  },
  ...ownTags.map((own) => ({
    message: `tag ${own} is set by the system and may not be chosen`,
    cel: `self.all(k, k != '${own}')`,
    holds: (self: Record<string, string>) => !Object.hasOwn(self, own),
    culprit: () => own,
  })),
  {
    message: 'tags whose keys begin with kubernetes.io/cluster are set by the system and may not be chosen',
    cel: "self.all(k, !k.startsWith('kubernetes.io/cluster'))",
    holds: (self) => Object.keys(self).every((key) => !key.startsWith('kubernetes.io/cluster')),
    culprit: (self) => Object.keys(self).find((key) => key.startsWith('kubernetes.io/cluster')),
  },
);

const switchable = z.enum(['enabled', 'disabled']);

const metadataOptions = z.object({
  httpEndpoint: switchable.default('enabled').describe('Whether the instance metadata service is enabled.'),
  httpProtocolIPv6: switchable.default('disabled').describe('Whether it is enabled for IPv6.'),
  httpPutResponseHopLimit: integer({ min: 1, max: 64, format: 'int64' })
    .default(1)
    .describe('Hop limit of its responses.'),
  httpTokens: z.enum(['required', 'optional']).default('required').describe('Whether callers need a session token.'),
});

const connectionTracking = withRules(
  z.object({
    tcpEstablishedTimeout: integer({ min: 60, max: 432000 }).optional().describe('Seconds.'),
    udpStreamTimeout: integer({ min: 60, max: 180 }).optional().describe('Seconds.'),
    udpTimeout: integer({ min: 30, max: 60 }).optional().describe('Seconds.'),
  }),
  {
    message: 'at least one of tcpEstablishedTimeout, udpStreamTimeout and udpTimeout must be set',
    cel: 'has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)',
    holds: (self) =>
      self.tcpEstablishedTimeout !== undefined || self.udpStreamTimeout !== undefined || self.udpTimeout !== undefined,
  },
);

const notEmpty = (what: string): z.ZodString =>
  withRules(z.string(), { message: `${what} may not be empty`, cel: "self != ''", holds: (self) => self !== '' });

const aliasFamily = (alias: string): string => alias.split('@')[0] ?? '';

/**
 * The spec of an EC2NodeClass (node-classes/spec). The kubelet's rules are in `kubelet-rules.ts`, because a controller
 * checks them.
 */
const ec2NodeClassSpec = withRules(
  z.object({
    subnetSelectorTerms: subnetSelectorTerms.describe('Which subnets nodes may be in; any term suffices.'),
    securityGroupSelectorTerms: securityGroupSelectorTerms.describe('Which security groups nodes get.'),
    capacityReservationSelectorTerms: capacityReservationSelectorTerms
      .optional()
      .describe('Which capacity reservations may be used.'),
    placementGroupSelector: placementGroupSelector.optional().describe('The placement group of the nodes.'),
    associatePublicIPAddress: z.boolean().optional().describe('Whether nodes get public addresses.'),
    ipPrefixCount: integer({ min: 0 }).optional().describe('How many IPv4 prefixes the first interface gets.'),
    amiSelectorTerms: amiSelectorTerms.describe('Which machine images may be used; any term suffices.'),
    amiFamily: z
      .enum(amiFamilies)
      .optional()
      .describe('Format of the user data and default disks; an alias implies it.'),
    userData: z
      .string()
      .optional()
      .describe('User data that is merged with the generated part or used unchanged, depending on the family.'),
    role: notEmpty('role').optional().describe('IAM role of the nodes; an instance profile is created for it.'),
    instanceProfile: notEmpty('instanceProfile').optional().describe('Instance profile of the nodes.'),
    tags: tags.optional().describe('Tags of all resources created in EC2.'),
    kubelet: annotate(z.record(z.string(), z.unknown()), { 'x-kubernetes-preserve-unknown-fields': true })
      .optional()
      .describe('KubeletConfiguration of the nodes (kubelet.config.k8s.io/v1beta1).'),
    blockDeviceMappings: blockDeviceMappings.optional().describe('Disks of the nodes.'),
    instanceStorePolicy: z.enum(['RAID0']).optional().describe('How local disks are used.'),
    detailedMonitoring: z.boolean().optional().describe('Whether detailed monitoring is enabled.'),
    metadataOptions: metadataOptions.prefault({}).describe('Access to instance metadata.'),
    networkInterfaces: networkInterfaces.optional().describe('Network interfaces, instead of the default one.'),
    cpuOptions: z
      .object({ nestedVirtualization: switchable.optional().describe('Whether nested virtualization is enabled.') })
      .optional()
      .describe('CPU options.'),
    connectionTracking: connectionTracking.optional().describe('Idle timeouts of tracked connections.'),
    context: z.string().optional().describe('Reserved by EC2; passed to CreateFleet.'),
  }),
  {
    message: "exactly one of 'role' and 'instanceProfile' must be set",
    cel: 'has(self.role) != has(self.instanceProfile)',
    holds: ({ role, instanceProfile }) => (role === undefined) !== (instanceProfile === undefined),
  },
  {
    message: "amiFamily must be the family of the alias, or 'Custom'",
    cel: "!has(self.amiFamily) || self.amiFamily == 'Custom' || self.amiSelectorTerms.all(t, !has(t.alias) || t.alias.find('^[^@]+') == self.amiFamily.lowerAscii())",
    holds: ({ amiFamily, amiSelectorTerms: terms }) =>
      amiFamily === undefined ||
      amiFamily === 'Custom' ||
      terms.every(({ alias }) => alias === undefined || aliasFamily(alias) === amiFamily.toLowerCase()),
    field: 'amiFamily',
  },
  {
    message: 'amiFamily must be set where amiSelectorTerms has no alias',
    cel: 'has(self.amiFamily) || self.amiSelectorTerms.exists(t, has(t.alias))',
    holds: ({ amiFamily, amiSelectorTerms: terms }) =>
      amiFamily !== undefined || terms.some(({ alias }) => alias !== undefined),
    field: 'amiFamily',
  },
);

const amiRequirement = z.object({
  key: z.string().describe('The label key.'),
  operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte']).describe('The operator.'),
  values: annotate(z.array(z.string()), { 'x-kubernetes-list-type': 'atomic' }).optional().describe('The values.'),
});

const reservationStatus = z.object({
  availabilityZone: z.string().describe('Zone.'),
  endTime: dateTime.optional().describe('When the reservation ends.'),
  id: z
    .string()
    .regex(/^cr-[0-9a-z]+$/)
    .describe('Id.'),
  instanceMatchCriteria: z.enum(['open', 'targeted']).describe('Which instances may use it.'),
  instanceType: z.string().describe('Instance type.'),
  ownerID: z
    .string()
    .regex(/^[0-9]{12}$/)
    .describe('Owning account.'),
  reservationType: z.enum(['default', 'capacity-block']).default('default').describe('Kind of reservation.'),
  interruptible: z.boolean().optional().describe('Whether EC2 may reclaim its instances.'),
  state: z.enum(['active', 'expiring']).default('active').describe('Whether it is about to end.'),
});

const ec2NodeClassStatus = z.object({
  subnets: z
    .array(
      z.object({
        id: z.string().describe('Id.'),
        zone: z.string().describe('Zone name.'),
        zoneID: z.string().optional().describe('Zone id, the same in every account.'),
      }),
    )
    .optional()
    .describe('Subnets found, most free addresses first.'),
  securityGroups: z
    .array(z.object({ id: z.string().describe('Id.'), name: z.string().optional().describe('Name.') }))
    .optional()
    .describe('Security groups found.'),
  amis: z
    .array(
      z.object({
        id: z.string().describe('Id.'),
        name: z.string().optional().describe('Name.'),
        deprecated: z.boolean().optional().describe('Whether its owner deprecated it.'),
        requirements: z.array(amiRequirement).describe('Which instance types it fits.'),
      }),
    )
    .optional()
    .describe('Machine images found, newest first.'),
  capacityReservations: z.array(reservationStatus).optional().describe('Capacity reservations found.'),
  instanceProfile: z.string().optional().describe('The instance profile in use.'),
  updates: nodeUpdates,
  conditions: plainConditions.optional().describe('Conditions of the class.'),
});

export type EC2NodeClassSpec = z.output<typeof ec2NodeClassSpec>;
export type AmiFamily = (typeof amiFamilies)[number];
export type ResolvedSubnet = NonNullable<EC2NodeClassStatus['subnets']>[number];
export type ResolvedSecurityGroup = NonNullable<EC2NodeClassStatus['securityGroups']>[number];
export type ResolvedAmi = NonNullable<EC2NodeClassStatus['amis']>[number];
export type ResolvedCapacityReservation = NonNullable<EC2NodeClassStatus['capacityReservations']>[number];

export type EC2NodeClassStatus = Omit<z.output<typeof ec2NodeClassStatus>, 'conditions'> & {
  conditions?: Condition[] | undefined;
};

/** An EC2NodeClass as stored by the API server, with defaults. */
export type EC2NodeClass = ResourceObject<EC2NodeClassSpec, EC2NodeClassStatus>;

/** EC2NodeClass `karpenter.k8s.aws/v1`: parsing, defaulting, validation and manifest (node-classes/spec). */
export const ec2NodeClasses: Resource<EC2NodeClass> = defineResource<
  typeof ec2NodeClassSpec,
  typeof ec2NodeClassStatus,
  EC2NodeClass
>({
  group: 'karpenter.k8s.aws',
  version: 'v1',
  kind: 'EC2NodeClass',
  plural: 'ec2nodeclasses',
  shortNames: ['ec2nc', 'ec2ncs'],
  categories: ['karpenter'],
  description: 'EC2NodeClass defines how EC2 instances are launched: images, networks, disks, permissions.',
  spec: ec2NodeClassSpec,
  status: ec2NodeClassStatus,
  printerColumns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Role', type: 'string', jsonPath: '.spec.role', priority: 1 },
  ],
});
