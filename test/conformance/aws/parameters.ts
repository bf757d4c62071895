import type { DescribeImagesCommandInput } from '@aws-sdk/client-ec2';
import type { EC2NodeClassStatus } from '../../../api/aws/ec2-node-class.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { account, now } from './account.js';

const hour = 3_600_000;

/** Whether the images of an alias are others once Systems Manager names others, hours after their deprecation, if they have any. */
const moves = (alias: string, isDeprecated: boolean, expected: boolean): Check =>
  gives(async () => {
    let release = 'old';
    let deprecated: string | undefined;
    const { provider, nodeClass, clock } = account({
      types: ['m5.large'],
      options: { disableDryRun: true },
      calls: {
        getParameter: (name: string) => {
          const arch = name.includes('arm64') ? 'arm64' : 'amd64';
          return Promise.resolve({ Parameter: { Value: `ami-${arch}-${release}` } });
        },
        describeImages: ({ Filters = [] }: DescribeImagesCommandInput) => {
          const ids = Filters.flatMap(({ Values = [] }) => Values);
          const shown = ids.map((ImageId) => ({
            ...{ ImageId, Name: ImageId, State: 'available', CreationDate: '2026-01-01T00:00:00Z' },
            Architecture: ImageId.includes('arm64') ? 'arm64' : 'x86_64',
            ...(ImageId.endsWith('old') && deprecated !== undefined && { DeprecationTime: deprecated }),
          }));
          return Promise.resolve({ Images: shown });
        },
      },
    });
    const spec = { ...nodeClass.spec, amiSelectorTerms: [{ alias }] } as typeof nodeClass.spec;
    const look = async (): Promise<readonly string[]> => {
      const { amis = [] } = (await provider.resolveNodeClass({ ...nodeClass, spec, status: {} }))
        .status as EC2NodeClassStatus;
      return amis.map(({ id }) => id);
    };
    const before = await look();
    if (isDeprecated) deprecated = new Date(now - hour / 2).toISOString();
    release = 'new';
    clock.time += hour;
    // What is found to be deprecated at one look is asked for anew at the next.
    await look();
    clock.time += hour;
    const after = await look();
    return [before.length > 0, after.every((id) => id.endsWith('new'))];
  }, [true, expected]);

/** pkg/controllers/providers/ssm/invalidation/suite_test.go */
export const parameterCases: readonly ConformanceCase[] = about('invalidated SSM parameters', [
  same(84, 'the parameter of images that are not deprecated is kept', moves('al2023@latest', false, false)),
  same(
    102,
    'the parameter of a release is kept though its images are deprecated',
    moves('al2023@v20241024', true, false),
  ),
  same(122, 'the latest release is read again once its images are deprecated', moves('al2023@latest', true, true)),
]);
