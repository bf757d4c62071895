import { describe, expect, test } from '@jest/globals';
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import { fitsInterfaces } from './instance-types.js';

const card = (NetworkCardIndex: number, MaximumNetworkInterfaces: number) => ({
  NetworkCardIndex,
  MaximumNetworkInterfaces,
});
const info = (NetworkInfo: InstanceTypeInfo['NetworkInfo']): InstanceTypeInfo => ({ NetworkInfo });
const two = info({
  EnaSupport: 'required',
  NetworkCards: [card(0, 4), card(1, 2)],
  EfaInfo: { MaximumEfaInterfaces: 1 },
});
const at = (networkCardIndex: number, deviceIndex: number, interfaceType: 'interface' | 'efa-only' = 'interface') => ({
  networkCardIndex,
  deviceIndex,
  interfaceType,
});
const first = at(0, 0);

describe('whether a type has the interfaces that a node class lists', () => {
  test.each([
    ['none are listed', two, undefined, true],
    ['each has its card and place', two, [first, at(0, 3), at(1, 1)], true],
    ['a card is missing', two, [first, at(2, 0)], false],
    ['the card takes no more', two, [first, at(1, 2)], false],
    ['it takes one EFA interface', two, [first, at(1, 0, 'efa-only')], true],
    ['it takes no second EFA interface', two, [first, at(0, 1, 'efa-only'), at(1, 0, 'efa-only')], false],
    ['it has no EFA', info({ NetworkCards: [card(0, 4)] }), [first, at(0, 1, 'efa-only')], false],
    ['it has no ENA', info({ EnaSupport: 'unsupported', NetworkCards: [card(0, 4)] }), [first], false],
    ['EC2 says nothing of its cards', info(undefined), [first], false],
  ])('%s', (_, type, interfaces, fits) => {
    expect(fitsInterfaces(type, interfaces)).toBe(fits);
  });
});
