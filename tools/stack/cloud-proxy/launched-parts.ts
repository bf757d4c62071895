import { createHash } from 'node:crypto';
import type { BlockDevice, LaunchedInterface, LaunchFacts } from './launch-facts.js';
import { child, element, itemsOf, setChild, textOf, type XmlElement } from './xml.js';

/** An instance, with moto's item of it. */
interface Launched {
  readonly id: string;
  readonly facts: LaunchFacts;
  readonly item: XmlElement;
}

export interface InstanceVolume {
  readonly id: string;
  readonly disk: BlockDevice;
}

export interface InstanceInterface {
  readonly id: string;
  readonly asked: LaunchedInterface;
  readonly publicAddress?: string | undefined;
}

/** moto makes one disk and one interface, which are the first of those asked for; the others have ids of their own. */
const idOf = (prefix: string, ofMoto: string | undefined, { id }: Launched, index: number): string =>
  index === 0 && ofMoto !== undefined ? ofMoto : `${prefix}-${digest(`${id}/${prefix}/${index}`).slice(0, 17)}`;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The disks that an instance was launched with; none where its launch asked for none. */
export function volumesOf(instance: Launched): InstanceVolume[] {
  const ofMoto = textOf(itemsOf(instance.item, 'blockDeviceMapping')[0], 'ebs', 'volumeId');
  return (instance.facts.blockDevices ?? []).map((disk, index) => ({ id: idOf('vol', ofMoto, instance, index), disk }));
}

/** The interfaces that an instance was launched with; none where its launch asked for none. */
export function interfacesOf(instance: Launched): InstanceInterface[] {
  const ofMoto = textOf(itemsOf(instance.item, 'networkInterfaceSet')[0], 'networkInterfaceId');
  return (instance.facts.interfaces ?? []).map((asked, index) => ({
    id: idOf('eni', ofMoto, instance, index),
    asked,
    ...(asked.publicAddress === true && { publicAddress: publicAddressOf(instance.id) }),
  }));
}

/** One address for one instance. */
function publicAddressOf(id: string): string {
  const [a = 0, b = 0, c = 0] = Buffer.from(digest(id), 'hex');
  return `54.${a}.${b}.${c}`;
}

/** `tagSet` with these tags. */
export const tagSet = (tags: Readonly<Record<string, string>> = {}): XmlElement =>
  element(
    'tagSet',
    Object.entries(tags).map(([key, value]) => element('item', [element('key', key), element('value', value)])),
  );

/** What DescribeInstances says of disks and interfaces, where the launch asked for them. */
export function partOverlays(instance: Launched): XmlElement[] {
  const [volumes, interfaces] = [volumesOf(instance), interfacesOf(instance)];
  const address = interfaces[0]?.publicAddress;
  return [
    ...(volumes.length === 0
      ? []
      : [
          element(
            'blockDeviceMapping',
            volumes.map((each) => mapping(instance, each)),
          ),
        ]),
    ...(interfaces.length === 0
      ? []
      : [
          element(
            'networkInterfaceSet',
            interfaces.map((each, index) => interfaceItem(instance, each, index)),
          ),
        ]),
    ...(address === undefined ? [] : [element('ipAddress', address)]),
  ];
}

function mapping({ item }: Launched, { id, disk }: InstanceVolume): XmlElement {
  return element('item', [
    element('deviceName', disk.device),
    element('ebs', [
      element('attachTime', textOf(item, 'launchTime') ?? ''),
      element('deleteOnTermination', String(disk.deleteOnTermination)),
      element('status', 'attached'),
      element('volumeId', id),
    ]),
  ]);
}

const lowerFirst = (name: string): string => name.slice(0, 1).toLowerCase() + name.slice(1);

/** moto's item of the first interface, with what was asked for laid over it; the others are made like it. */
function interfaceItem(instance: Launched, { id, asked, publicAddress }: InstanceInterface, index: number): XmlElement {
  const [ofMoto] = itemsOf(instance.item, 'networkInterfaceSet');
  const made = structuredClone(ofMoto ?? element('item', []));
  layInterface(made, { id, asked, publicAddress });
  if (index > 0) {
    setChild(made, element('description', ''));
    setChild(made, element('ipv6AddressesSet', []));
  }
  return made;
}

/** What both DescribeInstances and DescribeNetworkInterfaces say of an interface. */
export function layInterface(item: XmlElement, { id, asked, publicAddress }: InstanceInterface): void {
  setChild(item, element('networkInterfaceId', id));
  setChild(item, element('interfaceType', asked.type));
  const attachment = child(item, 'attachment');
  if (attachment !== undefined) {
    setChild(attachment, element('deviceIndex', asked.device));
    setChild(attachment, element('networkCardIndex', asked.card));
    setChild(attachment, element('deleteOnTermination', 'true'));
  }
  if (publicAddress !== undefined) setChild(item, element('association', [element('publicIp', publicAddress)]));
  if (asked.type === 'efa-only')
    for (const name of ['privateIpAddress', 'privateDnsName'])
      item.children = item.children.filter((each) => each.name !== name);
  if (asked.tracking === undefined) return;
  const timeouts = Object.entries(asked.tracking).map(([name, value]) => element(lowerFirst(name), value));
  setChild(item, element('connectionTrackingConfiguration', timeouts));
}
