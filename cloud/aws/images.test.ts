import { describe, expect, test } from '@jest/globals';
import type { Image } from '@aws-sdk/client-ec2';
import { refusal, steppingClock } from '../../test/builders/aws-world.js';
import type { AwsCalls } from './calls.js';
import { Images } from './images.js';

const now = Date.parse('2026-11-20T00:00:00Z');

/** A region with these images and SSM parameters; `parameters` may be changed on the way. */
function region(images: readonly Image[], parameters: Record<string, string> = {}) {
  const clock = steppingClock(now);
  const calls = {
    describeImages: ({ Filters = [] }: { Filters?: { Name?: string; Values?: string[] }[] }) => {
      const ids = Filters.find(({ Name }) => Name === 'image-id')?.Values;
      return Promise.resolve({
        Images: images.filter(({ ImageId = '' }) => ids === undefined || ids.includes(ImageId)),
      });
    },
    getParameter: (name: string) =>
      parameters[name] === undefined
        ? Promise.reject(refusal('ParameterNotFound', name, 'ssm:GetParameter'))
        : Promise.resolve({ Parameter: { Value: parameters[name] } }),
  } as unknown as AwsCalls;
  const all = new Images({ calls, clock, kubernetesVersion: () => Promise.resolve('1.34') });
  return {
    clock,
    resolve: (...terms: object[]) => all.resolve({ amiSelectorTerms: terms }),
  };
}

const image = (ImageId: string, created: string, more: Partial<Image> = {}): Image => ({
  ImageId,
  Name: ImageId,
  Architecture: 'x86_64',
  CreationDate: `${created}T00:00:00Z`,
  ...more,
});
const byTag = { tags: { team: 'a' } };

describe('of images that fit the same types', () => {
  test('the newest is used, though EC2 gives it a date of deprecation in some years', async () => {
    const { resolve } = region([
      image('ami-old', '2026-01-01'),
      image('ami-new', '2026-06-01', { DeprecationTime: '2028-06-01T00:00:00Z' }),
    ]);
    await expect(resolve(byTag)).resolves.toMatchObject([{ id: 'ami-new' }]);
  });

  test('one that is not deprecated comes before a newer one that is', async () => {
    const { resolve } = region([
      image('ami-old', '2026-01-01'),
      image('ami-new', '2026-06-01', { DeprecationTime: '2026-11-01T00:00:00Z' }),
    ]);
    await expect(resolve(byTag)).resolves.toMatchObject([{ id: 'ami-old' }]);
  });
});

test('tags of an image are no requirements, and an image of an unknown architecture is left out', async () => {
  const Tags = [{ Key: 'karpenter.k8s.aws/instance-family', Value: 'm5' }];
  const { resolve } = region([
    image('ami-1', '2026-01-01', { Tags }),
    image('ami-mac', '2026-02-01', { Architecture: 'x86_64_mac' }),
  ]);
  await expect(resolve(byTag)).resolves.toEqual([
    { id: 'ami-1', name: 'ami-1', requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }] },
  ]);
});

describe('SSM parameters', () => {
  const path = '/aws/service/bottlerocket/aws-k8s-1.34/x86_64/latest/image_id';

  test('an SSM parameter that does not exist yet is read again', async () => {
    const parameters: Record<string, string> = {};
    const { resolve } = region([image('ami-1', '2026-01-01')], parameters);
    await expect(resolve({ alias: 'bottlerocket@latest' })).resolves.toEqual([]);
    parameters[path] = 'ami-1';
    await expect(resolve({ alias: 'bottlerocket@latest' })).resolves.toMatchObject([{ id: 'ami-1' }, { id: 'ami-1' }]);
  });

  test('a parameter whose image is deprecated is read again before a day has passed', async () => {
    const parameters = { [path]: 'ami-1' };
    const old = image('ami-1', '2026-01-01', { DeprecationTime: '2026-11-20T01:00:00Z' });
    const { resolve, clock } = region([old, image('ami-2', '2026-11-19')], parameters);
    await resolve({ alias: 'bottlerocket@latest' });
    parameters[path] = 'ami-2';
    await expect(resolve({ alias: 'bottlerocket@latest' })).resolves.toMatchObject([{ id: 'ami-1' }, { id: 'ami-1' }]);
    clock.time += 2 * 3_600_000;
    await resolve({ alias: 'bottlerocket@latest' });
    await expect(resolve({ alias: 'bottlerocket@latest' })).resolves.toMatchObject([{ id: 'ami-2' }, { id: 'ami-2' }]);
  });

  test('a parameter of the user without an image id selects nothing', async () => {
    const { resolve } = region([image('ami-1', '2026-01-01')], { '/mine': 'none yet' });
    await expect(resolve({ ssmParameter: '/mine' })).resolves.toEqual([]);
  });

  test('Bottlerocket’s plain image serves Neuron types, too', async () => {
    const { resolve } = region([image('ami-1', '2026-01-01')], { [path]: 'ami-1' });
    const keys = (await resolve({ alias: 'bottlerocket@latest' })).map(({ requirements }) =>
      requirements.map(({ key, operator }) => `${key} ${operator}`),
    );
    expect(keys).toContainEqual(['kubernetes.io/arch In', 'karpenter.k8s.aws/instance-accelerator-count Exists']);
  });
});
