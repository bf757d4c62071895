import { expect, test } from '@jest/globals';
import { listOf } from './query.js';
import { refuseTooMuch } from './server.js';

const tags = (count: number, Value = 'x') => listOf(Array.from({ length: count }, (_, i) => ({ Key: `k${i}`, Value })));
const specified = (count: number, value?: string) => ({
  TagSpecification: listOf([{ ResourceType: 'instance', Tag: tags(count, value) }]),
});
const configs = (count: number, overrides: number) => ({
  LaunchTemplateConfigs: listOf(
    Array.from({ length: count }, () => ({
      Overrides: listOf(Array.from({ length: overrides }, () => ({ SubnetId: 's' }))),
    })),
  ),
});
const userData = (bytes: number) => ({ LaunchTemplateData: { UserData: Buffer.alloc(bytes).toString('base64') } });

test.each([
  ['CreateFleet', configs(50, 6), undefined],
  ['CreateFleet', configs(51, 1), 'InvalidParameterValue'],
  ['CreateFleet', configs(50, 7), 'InvalidParameterValue'],
  ['CreateFleet', specified(50), undefined],
  ['CreateFleet', specified(51), 'TagLimitExceeded'],
  ['CreateTags', { Tag: tags(51) }, 'TagLimitExceeded'],
  ['CreateTags', { Tag: listOf([{ Key: 'AWS:x', Value: '' }]) }, 'InvalidParameterValue'],
  ['CreateTags', { Tag: listOf([{ Key: '👍'.repeat(65), Value: '' }]) }, 'InvalidParameterValue'],
  ['RunInstances', specified(1, 'x'.repeat(257)), 'InvalidParameterValue'],
  ['CreateLaunchTemplate', { LaunchTemplateData: specified(51) }, 'TagLimitExceeded'],
  ['CreateLaunchTemplate', userData(16_384), undefined],
  ['CreateLaunchTemplate', userData(16_385), 'InvalidUserData.Malformed'],
])("request limits: %s accepts EC2's maximum and refuses more (%#)", (action, params, code) => {
  let refused: unknown;
  try {
    refuseTooMuch(action, params);
  } catch (error) {
    refused = (error as { code?: string }).code;
  }
  expect(refused).toBe(code);
});
