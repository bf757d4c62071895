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
    ['each has its network card and a free slot', two, [first, at(0, 3), at(1, 1)], true],
    ['the type lacks a network card', two, [first, at(2, 0)], false],
    ['a network card has too few slots', two, [first, at(1, 2)], false],
    ['the type takes one EFA interface and one is listed', two, [first, at(1, 0, 'efa-only')], true],
    [
      'the type takes one EFA interface and two are listed',
      two,
      [first, at(0, 1, 'efa-only'), at(1, 0, 'efa-only')],
      false,
    ],
    ['the type has no EFA', info({ NetworkCards: [card(0, 4)] }), [first, at(0, 1, 'efa-only')], false],
    ['the type has no ENA', info({ EnaSupport: 'unsupported', NetworkCards: [card(0, 4)] }), [first], false],
    ['EC2 does not describe its network cards', info(undefined), [first], false],
  ])('where %s', (_, type, interfaces, fits) => {
    expect(fitsInterfaces(type, interfaces)).toBe(fits);
  });
});
