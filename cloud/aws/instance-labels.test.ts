import { expect, test } from '@jest/globals';
import { instanceLabels } from './instance-labels.js';

const enclaves = 'karpenter.k8s.aws/nitro-sandbox';

// Rule `labels/enclaves`.
test.each([
  ['supported', 'true'],
  ['unsupported', 'false'],
  [undefined, 'false'],
] as const)('Nitro enclaves %s: the label has the value %s', (support, value) => {
  const info = { InstanceType: 'm6i.xlarge' as const, ...(support !== undefined && { NitroEnclavesSupport: support }) };
  expect(instanceLabels(info)[enclaves]).toBe(value);
});
