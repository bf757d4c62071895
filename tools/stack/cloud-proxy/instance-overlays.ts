import type { LaunchFacts } from './launch-facts.js';
import { partOverlays } from './launched-parts.js';
import { child, element, itemsOf, setChild, textOf, type XmlElement } from './xml.js';

/** moto names every machine by its address, and as us-east-1 does. */
export function correctDnsName(item: XmlElement, region: string, { namedByResource }: LaunchFacts): void {
  const address = textOf(item, 'privateIpAddress');
  if (address === undefined) return;
  const own = namedByResource === true ? textOf(item, 'instanceId') : `ip-${address.replaceAll('.', '-')}`;
  const domain = region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`;
  setChild(item, element('privateDnsName', `${own ?? ''}.${domain}`));
}

/** What a launch asked for and moto does not say. */
export function overlays(
  facts: LaunchFacts,
  instance: { readonly id: string; readonly item: XmlElement },
): XmlElement[] {
  const { lifecycle, securityGroups, instanceProfileArn, clientToken, metadataOptions, monitoring } = facts;
  const found: XmlElement[] = [];
  if (lifecycle !== undefined) {
    found.push(element('instanceLifecycle', lifecycle));
    found.push(element('spotInstanceRequestId', `sir-${instance.id.slice(-8)}`));
  }
  if (securityGroups !== undefined) {
    const items = securityGroups.map(({ id, name }) =>
      element('item', [element('groupId', id), element('groupName', name)]),
    );
    found.push(element('groupSet', items));
    const interfaces = itemsOf(instance.item, 'networkInterfaceSet');
    for (const each of interfaces) setChild(each, element('groupSet', items));
  }
  if (instanceProfileArn !== undefined) {
    const id = `AIPA${instance.id.slice(2, 18).toUpperCase()}`;
    found.push(element('iamInstanceProfile', [element('arn', instanceProfileArn), element('id', id)]));
  }
  if (clientToken !== undefined) found.push(element('clientToken', clientToken));
  if (facts.ipv6 === true) {
    const address = element('ipv6Address', ipv6Of(instance.id));
    found.push(address);
    const [first] = itemsOf(instance.item, 'networkInterfaceSet');
    if (first !== undefined) setChild(first, element('ipv6AddressesSet', [element('item', [address])]));
  }
  if (metadataOptions !== undefined) {
    const options = Object.entries(metadataOptions).map(([name, value]) => element(name, value));
    found.push(element('metadataOptions', [element('state', 'applied'), ...options]));
  }
  if (monitoring === true) found.push(element('monitoring', [element('state', 'enabled')]));
  if (facts.capacityReservationId !== undefined) found.push(...reservationElements(facts.capacityReservationId));
  if (facts.placement !== undefined) found.push(placementElement(facts.placement, instance.item));
  if (facts.nestedVirtualization !== undefined)
    found.push(element('cpuOptions', [element('nestedVirtualization', facts.nestedVirtualization)]));
  // Last: they are made of moto's one interface, which has its groups and its IPv6 address by now.
  return [...found, ...partOverlays({ ...instance, facts })];
}

/** One address for one instance: its id's last digits are its own. */
function ipv6Of(id: string): string {
  return `2600:1f14:0:${id.slice(-16).replace(/(.{4})(?=.)/g, '$1:')}`;
}

function reservationElements(id: string): XmlElement[] {
  const target = element('capacityReservationTarget', [element('capacityReservationId', id)]);
  return [
    element('capacityReservationId', id),
    element('capacityReservationSpecification', [
      element('capacityReservationPreference', 'capacity-reservations-only'),
      target,
    ]),
  ];
}

function placementElement(
  { groupId, groupName, partition }: NonNullable<LaunchFacts['placement']>,
  item: XmlElement,
): XmlElement {
  const own = [
    element('groupId', groupId),
    element('groupName', groupName),
    ...(partition === undefined ? [] : [element('partitionNumber', partition)]),
  ];
  const names = new Set(own.map(({ name }) => name));
  const rest = (child(item, 'placement')?.children ?? []).filter(({ name }) => !names.has(name));
  return element('placement', [...rest, ...own]);
}
