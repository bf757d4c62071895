import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { NetworkInterface } from '../../api/aws/network-interfaces.js';

/** Whether a type has room for the interfaces that a node class lists: ENA, network cards, devices and EFA. */
export function fitsInterfaces(
  { NetworkInfo: network }: InstanceTypeInfo,
  interfaces: readonly NetworkInterface[] | undefined,
): boolean {
  if (interfaces === undefined || interfaces.length === 0) return true;
  if (network === undefined || network.EnaSupport === 'unsupported') return false;
  const placesOf = new Map(
    network.NetworkCards?.map((card) => [card.NetworkCardIndex ?? 0, card.MaximumNetworkInterfaces ?? 0]),
  );
  const efaOnly = interfaces.filter(({ interfaceType }) => interfaceType === 'efa-only').length;
  return (
    interfaces.every(
      ({ networkCardIndex, deviceIndex }) => deviceIndex < (placesOf.get(networkCardIndex) ?? Number.NEGATIVE_INFINITY),
    ) && efaOnly <= (network.EfaInfo?.MaximumEfaInterfaces ?? 0)
  );
}
