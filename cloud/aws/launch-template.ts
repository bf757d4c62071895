import type {
  LaunchTemplate,
  LaunchTemplateBlockDeviceMappingRequest,
  RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type { BlockDeviceMapping } from '../../api/aws/block-devices.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { resolvedAmiFamily } from '../../api/aws/node-class-rules.js';
import { labels } from '../../api/labels.js';
import { isDomainError } from '../../core/failures.js';
import { digestOf } from '../../core/hash.js';
import { parseQuantity } from '../../core/quantities.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode } from './errors.js';
import { families } from './families.js';
import { allPages } from './pages.js';
import { Failures } from './sweeping.js';
import { tagList, tagRecord } from './tags.js';
import { nameOf } from '../../core/names.js';

/** The properties that distinguish launch templates of a node class (launch-templates/identity). */
export interface TemplateInput {
  readonly nodeClass: EC2NodeClass;
  readonly clusterName: string;
  readonly region: string;
  readonly imageId: string;
  readonly instanceProfile: string;
  readonly userData: string;
  readonly spot: boolean;
  /** Network cards with an EFA interface; 0 if pods request none. */
  readonly efaCards: number;
  /** The capacity reservation for the launch. */
  readonly reservation: string | undefined;
  /** The market type of that reservation, if not the default. */
  readonly market: 'capacity-block' | 'interruptible-capacity-reservation' | undefined;
  /** The placement group for the launch. */
  readonly placement: { readonly groupId?: string; readonly partition?: string };
  readonly tenancy: 'default' | 'dedicated';
  /** Whether pods request `eks.amazonaws.com/nitro-sandbox`. */
  readonly enclaves: boolean;
  /** Whether node addresses are IPv6. */
  readonly ipv6: boolean;
  /** Tags of the template itself, of network interfaces and of the spot request. */
  readonly tags: Readonly<Record<string, string>>;
}

const withoutIpv6Metadata = [
  'us-iso-east-1',
  'us-iso-west-1',
  'us-isob-east-1',
  'us-isof-east-1',
  'us-isof-south-1',
  'us-isob-west-1',
];

/** The content of a launch template; independent of instance type and zone. */
export function templateData(input: TemplateInput): RequestLaunchTemplateData {
  const { spec } = input.nodeClass;
  const { metadataOptions } = spec;
  const ipv6 = withoutIpv6Metadata.includes(input.region) ? {} : { HttpProtocolIpv6: metadataOptions.httpProtocolIPv6 };
  return {
    ImageId: input.imageId,
    IamInstanceProfile: { Name: input.instanceProfile },
    UserData: Buffer.from(input.userData).toString('base64'),
    BlockDeviceMappings: blockDevices(input.nodeClass),
    NetworkInterfaces: networkInterfaces(input),
    MetadataOptions: {
      HttpEndpoint: metadataOptions.httpEndpoint,
      ...ipv6,
      HttpPutResponseHopLimit: metadataOptions.httpPutResponseHopLimit,
      HttpTokens: metadataOptions.httpTokens,
      InstanceMetadataTags: 'disabled',
    },
    // Without this field an instance would use any matching open reservation.
    CapacityReservationSpecification:
      input.reservation === undefined
        ? { CapacityReservationPreference: 'none' }
        : {
            CapacityReservationPreference: 'capacity-reservations-only',
            CapacityReservationTarget: { CapacityReservationId: input.reservation },
          },
    ...(input.market === undefined ? {} : { InstanceMarketOptions: { MarketType: input.market } }),
    ...placementData(input),
    Monitoring: { Enabled: spec.detailedMonitoring ?? false },
    ...(spec.cpuOptions?.nestedVirtualization === undefined
      ? {}
      : { CpuOptions: { NestedVirtualization: spec.cpuOptions.nestedVirtualization } }),
    ...(input.enclaves ? { EnclaveOptions: { Enabled: true } } : {}),
    TagSpecifications: [
      { ResourceType: 'network-interface', Tags: tagList(input.tags) },
      ...(input.spot ? [{ ResourceType: 'spot-instances-request' as const, Tags: tagList(input.tags) }] : []),
    ],
  };
}

function placementData({ placement, tenancy }: TemplateInput): Pick<RequestLaunchTemplateData, 'Placement'> {
  const { groupId, partition } = placement;
  if (groupId === undefined && tenancy === 'default') return {};
  return {
    Placement: {
      ...(groupId === undefined ? {} : { GroupId: groupId }),
      ...(partition === undefined ? {} : { PartitionNumber: Number(partition) }),
      ...(tenancy === 'default' ? {} : { Tenancy: tenancy }),
    },
  };
}

function blockDevices(nodeClass: EC2NodeClass): LaunchTemplateBlockDeviceMappingRequest[] {
  const own = nodeClass.spec.blockDeviceMappings ?? [];
  return (own.length > 0 ? own : families[resolvedAmiFamily(nodeClass.spec)].blockDevices).map(blockDevice);
}

function blockDevice({ deviceName, ebs }: BlockDeviceMapping): LaunchTemplateBlockDeviceMappingRequest {
  return {
    DeviceName: deviceName,
    Ebs: {
      DeleteOnTermination: ebs?.deleteOnTermination,
      Encrypted: ebs?.encrypted,
      VolumeType: ebs?.volumeType,
      Iops: ebs?.iops,
      Throughput: ebs?.throughput,
      KmsKeyId: ebs?.kmsKeyID,
      SnapshotId: ebs?.snapshotID,
      VolumeInitializationRate: ebs?.volumeInitializationRate,
      VolumeSize: ebs?.volumeSize === undefined ? undefined : Math.ceil(parseQuantity(ebs.volumeSize) / 2 ** 30),
    },
  };
}

/**
 * The interfaces (launch-templates/interfaces): those listed in the node class; otherwise one EFA interface per card if
 * pods request EFA; otherwise one interface.
 */
function networkInterfaces(input: TemplateInput): RequestLaunchTemplateData['NetworkInterfaces'] {
  const { nodeClass, efaCards } = input;
  const groups = { Groups: (nodeClass.status?.securityGroups ?? []).map((group) => group.id) };
  const talking = { ...groups, ...addresses(input) };
  const publicly = nodeClass.spec.associatePublicIPAddress;
  const first = { ...talking, ...(publicly === undefined ? {} : { AssociatePublicIpAddress: publicly }) };
  const own = nodeClass.spec.networkInterfaces ?? [];
  if (own.length > 0) {
    return own.map(({ networkCardIndex, deviceIndex, interfaceType }) => ({
      // EC2 rejects an interface of type `efa-only` with IP settings.
      ...(interfaceType === 'efa-only' ? groups : networkCardIndex === 0 && deviceIndex === 0 ? first : talking),
      NetworkCardIndex: networkCardIndex,
      DeviceIndex: deviceIndex,
      InterfaceType: interfaceType,
    }));
  }
  if (efaCards === 0) return [{ ...first, DeviceIndex: 0 }];
  return Array.from({ length: efaCards }, (_, card) => ({
    ...(card === 0 ? first : talking),
    NetworkCardIndex: card,
    DeviceIndex: card === 0 ? 0 : 1,
    InterfaceType: 'efa',
  }));
}

/** Settings of every interface with IP addresses. */
function addresses({ nodeClass: { spec }, ipv6 }: TemplateInput): object {
  const tracking = spec.connectionTracking;
  return {
    ...(tracking === undefined
      ? {}
      : {
          ConnectionTrackingSpecification: {
            TcpEstablishedTimeout: tracking.tcpEstablishedTimeout,
            UdpStreamTimeout: tracking.udpStreamTimeout,
            UdpTimeout: tracking.udpTimeout,
          },
        }),
    ...(ipv6 ? { PrimaryIpv6: true, Ipv6AddressCount: 1 } : {}),
    ...(spec.ipPrefixCount === undefined ? {} : { [ipv6 ? 'Ipv6PrefixCount' : 'Ipv4PrefixCount']: spec.ipPrefixCount }),
  };
}

const cacheMs = 5 * 60_000;
const namePrefix = 'karpenter.k8s.aws/';

/** Managed node groups and users may tag their templates with the cluster's tag too. */
function isOurs({ LaunchTemplateName: name = '', Tags: tags }: LaunchTemplate): boolean {
  return name.startsWith(namePrefix) && tagRecord(tags)[labels.ec2NodeClass] !== undefined;
}

/**
 * Launch templates named by the hash of their content: equal launches share one, and a changed node class creates a new
 * one.
 */
export class LaunchTemplates {
  private readonly known: CachedByKey<string>;
  /** By template name: when this process last launched from it, and for which node class. */
  private readonly used = new Map<string, { readonly at: number; readonly nodeClass: string }>();

  constructor(
    private readonly calls: Pick<AwsCalls, 'createLaunchTemplate' | 'describeLaunchTemplates' | 'deleteLaunchTemplate'>,
    private readonly clusterName: string,
    private readonly clock: Clock,
  ) {
    this.known = new CachedByKey(clock, cacheMs);
  }

  /** The name of the template with this content; creates it if missing. */
  async ensure(input: TemplateInput): Promise<string> {
    const data = templateData(input);
    const name = `${namePrefix}${digestOf({ data, cluster: this.clusterName })}${digestOf(data)}`;
    this.used.set(name, { at: this.clock.now(), nodeClass: nameOf(input.nodeClass) });
    return this.known.get(name, async () => {
      try {
        await this.calls.createLaunchTemplate({
          LaunchTemplateName: name,
          LaunchTemplateData: data,
          TagSpecifications: [{ ResourceType: 'launch-template', Tags: tagList(input.tags) }],
        });
      } catch (error) {
        // Another worker created it first. The name identifies the content, so it is the same template.
        if (awsCode(error) !== 'InvalidLaunchTemplateName.AlreadyExistsException') throw error;
      }
      return name;
    });
  }

  /** Forgets that a template exists: the next launch creates it again. */
  forget(name: string): void {
    this.known.forget(name);
  }

  /**
   * Deletes the templates created for a node class, or those of any node class that are older and, as far as this
   * process knows, unused for longer than `unusedForMs`. EC2 does not report the last use; a launch whose template is
   * missing creates it again. Templates of other owners stay, even with the cluster's tag. EC2 lists a new template
   * some seconds late, so templates of the node class created by this process are deleted by name. Tries all of them,
   * then throws the first failure.
   */
  async cleanUp(which: { readonly nodeClass: string } | { readonly unusedForMs: number }): Promise<number> {
    const made =
      'nodeClass' in which
        ? { Name: `tag:${labels.ec2NodeClass}`, Values: [which.nodeClass] }
        : { Name: 'tag-key', Values: [labels.ec2NodeClass] };
    const templates = await allPages(
      'ec2:DescribeLaunchTemplates',
      (token) =>
        this.calls.describeLaunchTemplates({
          Filters: [{ Name: `tag:kubernetes.io/cluster/${this.clusterName}`, Values: ['owned'] }, made],
          MaxResults: 200,
          NextToken: token,
        }),
      (page) => page.LaunchTemplates,
    );
    const spared = 'unusedForMs' in which ? this.usedWithin(which.unusedForMs) : new Map<string, unknown>();
    const before = 'unusedForMs' in which ? this.clock.now() - which.unusedForMs : Number.POSITIVE_INFINITY;
    const due = templates.filter(
      (template) =>
        isOurs(template) &&
        (template.CreateTime?.getTime() ?? Number.POSITIVE_INFINITY) < before &&
        !spared.has(template.LaunchTemplateName ?? ''),
    );
    const listed = new Set(templates.map(({ LaunchTemplateName: name }) => name));
    const unlisted = 'nodeClass' in which ? this.usedFor(which.nodeClass).filter((name) => !listed.has(name)) : [];
    return this.deleteEach(due, unlisted);
  }

  /** Tries to delete all of them, then throws the first failure. */
  private async deleteEach(templates: readonly LaunchTemplate[], unlisted: readonly string[]): Promise<number> {
    const failed = new Failures();
    let deleted = 0;
    const drop = async (name: string, remove: () => Promise<boolean>): Promise<void> => {
      this.forget(name);
      await failed.collect(async () => {
        if (await remove()) deleted += 1;
        this.used.delete(name);
      });
    };
    for (const { LaunchTemplateId: id, LaunchTemplateName: name = '' } of templates)
      await drop(name, async () => {
        await this.calls.deleteLaunchTemplate({ LaunchTemplateId: id });
        return true;
      });
    for (const name of unlisted) await drop(name, () => this.deleteByName(name));
    failed.throwFirst();
    return deleted;
  }

  /**
   * Returns whether it existed. The permission depends on the template's tags, so it is denied for one that does not
   * exist.
   */
  private async deleteByName(name: string): Promise<boolean> {
    try {
      await this.calls.deleteLaunchTemplate({ LaunchTemplateName: name });
      return true;
    } catch (error) {
      if (isDomainError(error, 'NotFound') || isDomainError(error, 'Denied')) return false;
      throw error;
    }
  }

  private usedFor(nodeClass: string): string[] {
    return [...this.used].filter(([, use]) => use.nodeClass === nodeClass).map(([name]) => name);
  }

  private usedWithin(ms: number): ReadonlyMap<string, unknown> {
    for (const [name, { at }] of this.used) if (at < this.clock.now() - ms) this.used.delete(name);
    return this.used;
  }
}
