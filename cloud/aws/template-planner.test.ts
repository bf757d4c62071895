import { describe, expect, test } from '@jest/globals';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { nodeClaim } from '../../test/builders/activity-world.js';
import type { LaunchRequest } from '../port.js';
import type { LaunchStage } from './launch-choice.js';
import type { TemplateInput } from './launch-template.js';
import type { TemplatePlannerOptions } from './template-planner.js';
import { TemplatePlanner } from './template-planner.js';
import { UserDataSizes } from './user-data-sizes.js';

const arch = { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] };
const offering = { requirements: [], price: 1, available: true };
const type = { name: 'm5.large', requirements: [arch], offerings: [offering], capacity: { pods: 29 }, overhead: {} };
const stage = { capacityType: 'on-demand', options: [{ type, offering }] } as unknown as LaunchStage;

/** What the launch template of a launch from a node class of this spec is made of; `clusterDns` is the address of the DNS service. */
async function planned(
  spec: object,
  { sizes = new UserDataSizes(), clusterDns = '', requests = {} } = {},
): Promise<TemplateInput | undefined> {
  let sent: TemplateInput | undefined;
  const planner = new TemplatePlanner({
    clusterName: 'test',
    region: 'us-west-2',
    reservedEnis: 0,
    templates: {
      ensure: (input: TemplateInput) => {
        sent = input;
        return Promise.resolve('lt-1');
      },
    },
    facts: {
      get: () => Promise.resolve({ clusterEndpoint: 'https://api', caBundle: 'eA==', serviceCidr: '10.0.0.0/16' }),
      clusterDns: () => Promise.resolve(clusterDns === '' ? undefined : clusterDns),
    },
    machines: () =>
      Promise.resolve({ infos: [{ InstanceType: 'm5.large', NitroEnclavesSupport: 'supported' }], zones: new Map() }),
    sizes,
  } as unknown as TemplatePlannerOptions);
  const nodeClass = {
    metadata: { name: 'default', generation: 1 },
    spec: { amiSelectorTerms: [{ id: 'ami-1' }], ...spec },
    status: { instanceProfile: 'profile', amis: [{ id: 'ami-1', name: 'an image', requirements: [arch] }] },
  } as unknown as EC2NodeClass;
  const claim = nodeClaim('c1', { spec: { resources: { requests } } });
  const request = { claim, nodeClass } as unknown as LaunchRequest & { nodeClass: EC2NodeClass };
  await planner.plan(request, stage);
  return sent;
}

const rendered = async (...given: Parameters<typeof planned>): Promise<string> =>
  (await planned(...given))?.userData ?? '';

test('the recorded size of user data is that of the text sent to EC2', async () => {
  const sizes = new UserDataSizes();
  const sent = await rendered({ amiFamily: 'AL2023', userData: `#!/bin/sh\n# ${'x'.repeat(15_000)}` }, { sizes });
  expect(sent).toContain('xxxx');
  expect(sizes.bytes.get('default')).toBe(Buffer.byteLength(sent));
  expect(sizes.warnings('default')).toMatchObject([{ type: 'Warning', reason: 'UserDataNearLimit' }]);
});

describe('the address of the DNS service', () => {
  const clusterDns = '172.20.0.10';

  test.each([
    ['AL2', `--dns-cluster-ip '${clusterDns}'`],
    ['AL2023', `clusterDNS:\n        - ${clusterDns}`],
    ['Bottlerocket', `cluster-dns-ip = "${clusterDns}"`],
    ['Windows2022', `-DNSClusterIP '${clusterDns}'`],
  ])('is given to %s nodes, which would guess it otherwise', async (amiFamily, option) => {
    await expect(rendered({ amiFamily }, { clusterDns })).resolves.toContain(option);
    await expect(rendered({ amiFamily })).resolves.not.toMatch(/dns-cluster-ip|cluster-dns-ip|DNSClusterIP|clusterDNS/);
  });

  test.each(['AL2', 'Windows2022'])('is that of the node class where it has one: %s', async (amiFamily) => {
    const sent = await rendered({ amiFamily, kubelet: { clusterDNS: ['10.9.9.9'] } }, { clusterDns });
    expect(sent).toContain('10.9.9.9');
    expect(sent).not.toContain(clusterDns);
  });
});

// Rule `labels/enclaves`.
test.each(['eks.amazonaws.com/nitro-sandbox', 'eks.amazonaws.com/nip-slots'])(
  'a request for %s enables enclaves',
  async (resource) => {
    const spec = { amiFamily: 'AL2023' };
    expect((await planned(spec, { requests: { [resource]: '1' } }))?.enclaves).toBe(true);
    expect((await planned(spec, { requests: { cpu: '1' } }))?.enclaves).toBe(false);
  },
);
