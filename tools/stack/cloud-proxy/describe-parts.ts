import { AwsError } from './aws-error.js';
import type { Cloud } from './cloud.js';
import { paged } from './ec2-answers.js';
import { passes, tagValues, type FilterValues } from './filters.js';
import type { Instance } from './instances.js';
import {
  interfacesOf,
  layInterface,
  tagSet,
  volumesOf,
  type InstanceInterface,
  type InstanceVolume,
} from './launched-parts.js';
import { filtersOf, strings, type Params } from './query.js';
import { child, element, itemsOf, setChild, textOf, type XmlElement } from './xml.js';

/** A kind of resource that launches make along with instances, and of which moto makes one an instance. */
interface Kind<Part extends { readonly id: string }> {
  readonly action: string;
  readonly set: string;
  readonly idName: string;
  /** The parameter that asks for some by id. */
  readonly asked: string;
  readonly notFound: string;
  readonly tagType: string;
  partsOf(instance: Instance): Part[];
  /** moto's item, or a new one, as it was asked for. */
  lay(item: XmlElement, part: Part, instance: Instance): void;
}

const volumes: Kind<InstanceVolume> = {
  ...{ action: 'DescribeVolumes', set: 'volumeSet', idName: 'volumeId', asked: 'VolumeId' },
  ...{ notFound: 'InvalidVolume.NotFound', tagType: 'volume', partsOf: volumesOf },
  lay(item, { id, disk }, { id: instanceId, item: { children } }) {
    const placed = children.find(({ name }) => name === 'placement');
    const said = {
      ...{
        volumeId: id,
        size: disk.sizeGiB,
        volumeType: disk.type,
        encrypted: String(disk.encrypted),
        iops: disk.iops,
      },
      ...{ throughput: disk.throughput, availabilityZone: textOf(placed, 'availabilityZone'), status: 'in-use' },
    };
    for (const [name, value] of Object.entries(said)) if (value !== undefined) setChild(item, element(name, value));
    const attachment = [
      ...[element('volumeId', id), element('instanceId', instanceId), element('device', disk.device)],
      ...[element('status', 'attached'), element('deleteOnTermination', String(disk.deleteOnTermination))],
    ];
    setChild(item, element('attachmentSet', [element('item', attachment)]));
  },
};

const interfaces: Kind<InstanceInterface> = {
  ...{ action: 'DescribeNetworkInterfaces', set: 'networkInterfaceSet', idName: 'networkInterfaceId' },
  ...{ asked: 'NetworkInterfaceId', notFound: 'InvalidNetworkInterfaceID.NotFound', tagType: 'network-interface' },
  partsOf: interfacesOf,
  lay(item, part, instance) {
    const shown = itemsOf(instance.item, 'networkInterfaceSet').find(
      (each) => textOf(each, 'networkInterfaceId') === part.id,
    );
    for (const each of structuredClone(shown)?.children ?? []) setChild(item, each);
    const attachment = child(item, 'attachment');
    if (attachment !== undefined) setChild(attachment, element('instanceId', instance.id));
    layInterface(item, part);
  },
};

/** All of a kind: moto's, those of instances as they were asked for, and those that moto did not make. */
async function everyPart<Part extends { readonly id: string }>(cloud: Cloud, kind: Kind<Part>): Promise<XmlElement[]> {
  const items = itemsOf(await cloud.moto.ec2(kind.action, {}), kind.set);
  const byId = new Map(items.map((item) => [textOf(item, kind.idName) ?? '', item]));
  for (const instance of cloud.instances.all().filter(({ state }) => state !== 'terminated')) {
    for (const part of kind.partsOf(instance)) {
      const item = byId.get(part.id) ?? element('item', []);
      kind.lay(item, part, instance);
      setChild(item, tagSet({ ...instance.facts.tagsOf?.[kind.tagType], ...tagsIn(item) }));
      byId.set(part.id, item);
    }
  }
  return [...byId.values()];
}

const tagsIn = (item: XmlElement): Record<string, string> =>
  Object.fromEntries(itemsOf(item, 'tagSet').map((tag) => [textOf(tag, 'key') ?? '', textOf(tag, 'value') ?? '']));

const simpleFilters: Readonly<Record<string, readonly string[]>> = {
  'volume-id': ['volumeId'],
  'volume-type': ['volumeType'],
  'network-interface-id': ['networkInterfaceId'],
  'interface-type': ['interfaceType'],
  'subnet-id': ['subnetId'],
  'vpc-id': ['vpcId'],
  'availability-zone': ['availabilityZone'],
  status: ['status'],
};

function filterValues(item: XmlElement): FilterValues {
  const tags = new Map(Object.entries(tagsIn(item)));
  return (name) => {
    if (name === 'attachment.instance-id') {
      const attachments = [child(item, 'attachment'), ...itemsOf(item, 'attachmentSet')];
      return attachments.flatMap((each) => textOf(each, 'instanceId') ?? []);
    }
    const path = simpleFilters[name];
    if (path === undefined) return tagValues(name, tags);
    return [textOf(item, ...path)].filter((value) => value !== undefined);
  };
}

const describe =
  <Part extends { readonly id: string }>(kind: Kind<Part>) =>
  async (cloud: Cloud, params: Params): Promise<XmlElement> => {
    const ids = strings(params, kind.asked);
    const every = await everyPart(cloud, kind);
    const missing = ids.find((id) => !every.some((item) => textOf(item, kind.idName) === id));
    if (missing !== undefined) throw new AwsError(kind.notFound, `The ID '${missing}' does not exist`);
    const found = every
      .filter((item) => ids.length === 0 || ids.includes(textOf(item, kind.idName) ?? ''))
      .filter((item) => passes(filtersOf(params), filterValues(item)));
    const bounds = { minimum: 5, maximum: 1000, standard: Number.MAX_SAFE_INTEGER };
    return paged(kind.action, kind.set, found, params, bounds);
  };

/** DescribeVolumes. */
export const describeVolumes = describe(volumes);

/** DescribeNetworkInterfaces. */
export const describeNetworkInterfaces = describe(interfaces);

/** DescribeSpotInstanceRequests: those that fleets made, each with the instance that fulfilled it. */
export function describeSpotInstanceRequests(cloud: Cloud, params: Params): Promise<XmlElement> {
  const ids = strings(params, 'SpotInstanceRequestId');
  const items = cloud.instances
    .all()
    .filter(({ facts }) => facts.lifecycle === 'spot')
    .map(spotRequest)
    .filter((item) => ids.length === 0 || ids.includes(textOf(item, 'spotInstanceRequestId') ?? ''));
  const set = 'spotInstanceRequestSet';
  return Promise.resolve(
    paged('DescribeSpotInstanceRequests', set, items, params, { minimum: 5, maximum: 1000, standard: 1000 }),
  );
}

function spotRequest({ id, state, item, facts }: Instance): XmlElement {
  const isOver = state === 'terminated' || state === 'shutting-down';
  return element('item', [
    element('spotInstanceRequestId', textOf(item, 'spotInstanceRequestId') ?? ''),
    element('instanceId', id),
    element('state', isOver ? 'closed' : 'active'),
    element('type', 'one-time'),
    tagSet(facts.tagsOf?.['spot-instances-request']),
  ]);
}
