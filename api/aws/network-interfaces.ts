import { z } from 'zod';
import { integer } from '../schema/fields.js';
import { withRules } from '../schema/rules.js';

const unique = (keys: readonly string[]): boolean => new Set(keys).size === keys.length;

export const networkInterfaces = withRules(
  z
    .array(
      z.object({
        networkCardIndex: integer({ min: 0 }).describe('Network card.'),
        deviceIndex: integer({ min: 0 }).describe('Device on the card.'),
        interfaceType: z.enum(['interface', 'efa-only']).describe('Whether it carries IP traffic.'),
      }),
    )
    .max(150),
  {
    message: "network card 0 needs an interface of type 'interface' at device 0",
    cel: "self.size() == 0 || self.exists(i, i.networkCardIndex == 0 && i.deviceIndex == 0 && i.interfaceType == 'interface')",
    holds: (list) =>
      list.length === 0 ||
      list.some((each) => each.networkCardIndex === 0 && each.deviceIndex === 0 && each.interfaceType === 'interface'),
  },
  {
    message: 'each pair of networkCardIndex and deviceIndex may occur only once',
    cel: 'self.all(i, self.filter(j, j.networkCardIndex == i.networkCardIndex && j.deviceIndex == i.deviceIndex).size() == 1)',
    holds: (list) => unique(list.map(({ networkCardIndex, deviceIndex }) => `${networkCardIndex}/${deviceIndex}`)),
  },
  {
    message: 'each network card may have one efa-only interface',
    cel: "self.all(i, i.interfaceType != 'efa-only' || self.filter(j, j.networkCardIndex == i.networkCardIndex && j.interfaceType == 'efa-only').size() == 1)",
    holds: (list) =>
      unique(
        list
          .filter(({ interfaceType }) => interfaceType === 'efa-only')
          .map(({ networkCardIndex }) => String(networkCardIndex)),
      ),
  },
);

export type NetworkInterface = z.output<typeof networkInterfaces>[number];
