import { expect, jest, test } from '@jest/globals';
import { flood, floodBodies } from '../../bench/interruptions.js';
import { useStack } from './shared-stack.js';

jest.setTimeout(180_000);

const { stack, cloud } = useStack(['cloud', 'temporal']);

// `npm run bench -- --interruptions` does the same with 15,000 and tells the time.
test('a flood of notices, repeated, mixed up, broken and unknown: one workflow for each instance, and an empty queue', async () => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });
  await cloud().reset();
  const { awsEndpoint = '', region, temporalAddress = '' } = stack();
  const count = 1500;
  const cluster = `flood-${process.pid}`;
  const result = await flood({ awsEndpoint, region, temporalAddress, cluster }, count);
  const { instances, ignored } = floodBodies(count);
  expect(result).toMatchObject({ messages: count, instances, workflows: instances });
  expect(result.ignored).toBeGreaterThanOrEqual(ignored);
  expect(instances).toBeLessThan(count - ignored);
});
