import { param, struct, structs, type Params } from './query.js';

/** What moto drops of a launch and the proxy lays over its answers. */
export interface LaunchFacts {
  lifecycle?: 'spot' | undefined;
  securityGroups?: { id: string; name: string }[] | undefined;
  instanceProfileArn?: string | undefined;
  userData?: string | undefined;
  clientToken?: string | undefined;
  /** Tags that EC2 itself sets, such as aws:ec2:fleet-id. */
  systemTags?: Record<string, string>;
  metadataOptions?: Record<string, string>;
  monitoring?: boolean;
  /** Whether its first interface has an IPv6 address. */
  ipv6?: boolean;
  capacityReservationId?: string | undefined;
  placement?: { groupId: string; groupName: string; partition?: number | undefined } | undefined;
  nestedVirtualization?: string | undefined;
  /** Named by its id in place of its address. */
  namedByResource?: boolean;
  blockDevices?: BlockDevice[];
  interfaces?: LaunchedInterface[];
  /** Tags of what is made with the instance, by type of resource. */
  tagsOf?: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

export interface BlockDevice {
  device: string;
  sizeGiB: number;
  type: string;
  encrypted: boolean;
  iops?: number;
  throughput?: number;
  deleteOnTermination: boolean;
}

export interface LaunchedInterface {
  card: number;
  device: number;
  /** `interface`, `efa` or `efa-only`. */
  type: string;
  /** Whether it has a public address; undefined where its subnet decides. */
  publicAddress?: boolean;
  /** Timeouts of tracked connections, as they were asked for. */
  tracking?: Readonly<Record<string, string>>;
}

const numberAt = (params: Params, ...path: string[]): number | undefined => {
  const value = param(params, ...path);
  return value === undefined ? undefined : Number(value);
};

/** The disks that a launch asks for. */
export function blockDevicesOf(data: Params): BlockDevice[] {
  return structs(data, 'BlockDeviceMapping').map((mapping) => {
    const [iops, throughput] = ['Iops', 'Throughput'].map((name) => numberAt(mapping, 'Ebs', name));
    return {
      device: param(mapping, 'DeviceName') ?? '',
      sizeGiB: numberAt(mapping, 'Ebs', 'VolumeSize') ?? 0,
      type: param(mapping, 'Ebs', 'VolumeType') ?? 'gp2',
      encrypted: param(mapping, 'Ebs', 'Encrypted') === 'true',
      ...(iops !== undefined && { iops }),
      ...(throughput !== undefined && { throughput }),
      deleteOnTermination: param(mapping, 'Ebs', 'DeleteOnTermination') !== 'false',
    };
  });
}

/** The interfaces that a launch asks for, the first one first. */
export function interfacesOf(data: Params): LaunchedInterface[] {
  const asked = structs(data, 'NetworkInterface').map((each): LaunchedInterface => {
    const publicly = param(each, 'AssociatePublicIpAddress');
    const timeouts = Object.entries(struct(each, 'ConnectionTrackingSpecification')).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as const] : [],
    );
    return {
      card: numberAt(each, 'NetworkCardIndex') ?? 0,
      device: numberAt(each, 'DeviceIndex') ?? 0,
      type: param(each, 'InterfaceType') ?? 'interface',
      ...(publicly !== undefined && { publicAddress: publicly === 'true' }),
      ...(timeouts.length > 0 && { tracking: Object.fromEntries(timeouts) }),
    };
  });
  return asked.sort((left, right) => left.card - right.card || left.device - right.device);
}

/** The tags that a request gives to what it makes, by type of resource. */
export function tagsByType(params: Params): Record<string, Record<string, string>> {
  const tags: Record<string, Record<string, string>> = {};
  for (const specification of structs(params, 'TagSpecification')) {
    const type = param(specification, 'ResourceType') ?? '';
    const own = structs(specification, 'Tag').map((tag) => [param(tag, 'Key') ?? '', param(tag, 'Value') ?? '']);
    tags[type] = { ...tags[type], ...(Object.fromEntries(own) as Record<string, string>) };
  }
  return tags;
}
