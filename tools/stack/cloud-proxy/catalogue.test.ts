import { expect, test } from '@jest/globals';
import { Catalogue } from './catalogue.js';
import type { Moto } from './moto.js';
import { itemsOf, parseXml, textOf } from './xml.js';

const types = ['m5.large', 'm5d.large', 'c5.large'];
const lists: Readonly<Record<string, string>> = {
  DescribeInstanceTypes: 'instanceTypeSet',
  DescribeInstanceTypeOfferings: 'instanceTypeOfferingSet',
};

/** A region with these types in one zone; `asked` hears what it is asked for. */
function motoOf(asked: string[]): Moto {
  const item = (type: string): string =>
    `<item><instanceType>${type}</instanceType><location>us-west-2a</location></item>`;
  const ec2 = (action: string): Promise<unknown> => {
    asked.push(action);
    const set = lists[action]!;
    return Promise.resolve(
      parseXml(`<Response><requestId>1</requestId><${set}>${types.map(item).join('')}</${set}></Response>`),
    );
  };
  return { ec2 } as unknown as Moto;
}

test("the local cloud's region has the configured families in every list, and no other type", async () => {
  let families: string[] | null = ['m5'];
  const asked: string[] = [];
  const catalogue = new Catalogue(motoOf(asked), 'us-west-2', undefined, () => families);
  const seen = async (): Promise<object> => {
    const listed = await catalogue.answer('DescribeInstanceTypes', { MaxResults: '100' });
    return {
      listed: itemsOf(listed, 'instanceTypeSet').map((each) => textOf(each, 'instanceType')),
      machines: (await catalogue.machines()).map(({ name }) => name),
      zones: [...(await catalogue.zones()).keys()],
      pools: (await catalogue.pools()).map(({ machine }) => machine.name),
    };
  };
  const all = (names: string[]): object => ({ listed: names, machines: names, zones: names, pools: names });

  expect(await seen()).toEqual(all(['m5.large']));
  expect(await catalogue.machine('m5d.large')).toBeUndefined();
  await expect(catalogue.describe(['c5.large'])).rejects.toMatchObject({ code: 'InvalidInstanceType' });
  families = null;
  expect(await seen()).toEqual(all(types));
  const before = asked.length;
  families = ['m5'];
  expect(await seen()).toEqual(all(['m5.large']));
  expect(asked).toHaveLength(before);
});

test('the local cloud reads again what could not be read', async () => {
  let isAway = true;
  const moto = motoOf([]);
  const away = {
    ec2: (action: string) => (isAway ? Promise.reject(new Error('away')) : moto.ec2(action, {})),
  } as unknown as Moto;
  const catalogue = new Catalogue(away, 'us-west-2', undefined);
  await expect(catalogue.pools()).rejects.toThrow('away');
  isAway = false;
  expect((await catalogue.pools()).map(({ machine }) => machine.name)).toEqual(types);
});
