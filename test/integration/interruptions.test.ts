import { expect, test } from '@jest/globals';
import { floodOf, mixes } from '../cases/interruption-mixes.js';
import { flood } from '../../tools/bench/interruptions.js';
import { useStack } from './shared-stack.js';

const { stack, cloud } = useStack(['cloud', 'temporal']);

// `npm run bench -- --interruptions` does the same with 15,000 and prints the time.
test.each(mixes)(
  'a flood of notices (%s), repeated, shuffled, broken and of other clusters: one workflow per instance, and an empty queue',
  async (mix) => {
    // Its cluster and queue are none that the policy of the stack's Stowage names.
    Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });
    await cloud().reset();
    const { awsEndpoint = '', region, temporalAddress = '' } = stack();
    const count = 1000;
    const cluster = `flood-${mix}-${process.pid}`;
    const result = await flood({ awsEndpoint, region, temporalAddress, cluster }, count, mix);
    const { noticed, ignored } = floodOf(count, mix);
    expect(result).toMatchObject({ messages: count, instances: noticed, workflows: noticed });
    expect(result.ignored).toBeGreaterThanOrEqual(ignored);
    expect(noticed).toBeLessThan(count - ignored);
  },
);
