import { expect, test } from '@jest/globals';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { nodeClaim } from '../../test/builders/activity-world.js';
import type { LaunchRequest } from '../port.js';
import type { LaunchStage } from './launch-choice.js';
import type { TemplatePlannerOptions } from './template-planner.js';
import { TemplatePlanner } from './template-planner.js';
import { UserDataSizes } from './user-data-sizes.js';

test('what is rendered for a launch is measured as EC2 gets it', async () => {
  const sizes = new UserDataSizes();
  let sent = '';
  const planner = new TemplatePlanner({
    clusterName: 'test',
    region: 'us-west-2',
    reservedEnis: 0,
    templates: {
      ensure: ({ userData }: { userData: string }) => {
        sent = userData;
        return Promise.resolve('lt-1');
      },
    },
    facts: {
      get: () => Promise.resolve({ clusterEndpoint: 'https://api', caBundle: 'eA==', serviceCidr: '10.0.0.0/16' }),
    },
    machines: () => Promise.reject(new Error('not asked')),
    sizes,
  } as unknown as TemplatePlannerOptions);
  const arch = { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] };
  const nodeClass = {
    metadata: { name: 'default', generation: 1 },
    spec: {
      amiFamily: 'AL2023',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      userData: `#!/bin/sh\n# ${'x'.repeat(15_000)}`,
    },
    status: { instanceProfile: 'profile', amis: [{ id: 'ami-1', name: 'al2023', requirements: [arch] }] },
  } as unknown as EC2NodeClass;
  const offering = { requirements: [], price: 1, available: true };
  const type = { name: 'm5.large', requirements: [arch], offerings: [offering], capacity: { pods: 29 }, overhead: {} };
  const request = { claim: nodeClaim('c1'), nodeClass } as unknown as LaunchRequest & { nodeClass: EC2NodeClass };

  await planner.plan(request, { capacityType: 'on-demand', options: [{ type, offering }] } as unknown as LaunchStage);

  expect(sent).toContain('xxxx');
  expect(sizes.bytes.get('default')).toBe(Buffer.byteLength(sent));
  expect(sizes.news('default')).toMatchObject([{ type: 'Warning', reason: 'UserDataNearLimit' }]);
});
