import { describe, expect, test } from '@jest/globals';
import { statusAnswer } from './instance-status.js';
import type { InstanceHealth, InstanceState } from './instances.js';
import { listOf, type Params } from './query.js';
import { element, itemsOf, textOf } from './xml.js';

const instance = (id: string, health: InstanceHealth = {}, state: InstanceState = 'running') => ({
  ...{ id, health, state },
  item: element('item', [element('placement', [element('availabilityZone', 'us-east-1a')])]),
});
const all = [
  instance('i-well'),
  instance('i-system', { systemStatus: 'impaired' }),
  instance('i-kubelet', { instanceStatus: 'impaired' }),
  instance('i-retired', { events: [{ code: 'instance-retirement' }] }),
  instance('i-stopped', {}, 'stopped'),
];
const filter = (name: string, ...values: string[]): Params => ({
  Filter: listOf([{ Name: name, Value: listOf(values) }]),
});
const found = (params: Params): (string | undefined)[] =>
  itemsOf(statusAnswer(all, params), 'instanceStatusSet').map((item) => textOf(item, 'instanceId'));
const refusal = (params: Params): unknown => {
  try {
    return found(params);
  } catch (error) {
    return (error as { code?: string }).code;
  }
};

describe('DescribeInstanceStatus', () => {
  test.each([
    [filter('system-status.status', 'impaired'), ['i-system']],
    [filter('instance-status.status', 'impaired'), ['i-kubelet']],
    [filter('instance-status.reachability', 'failed'), ['i-kubelet']],
    [filter('event.code', 'instance-stop', 'instance-retirement'), ['i-retired']],
    [filter('event.code', 'instance-stop'), []],
    [{}, ['i-well', 'i-system', 'i-kubelet', 'i-retired']],
    [{ IncludeAllInstances: 'true', ...filter('system-status.status', 'not-applicable') }, ['i-stopped']],
  ])('%j selects these instances', (params, ids) => {
    expect(found(params)).toEqual(ids);
  });

  test.each([
    [filter('tag:karpenter.sh/nodepool', '*'), 'InvalidParameterValue'],
    [{ InstanceId: listOf(['i-well']), MaxResults: '1000' }, 'InvalidParameterCombination'],
    [{ MaxResults: '4' }, 'InvalidParameterValue'],
  ])('%j is refused as by EC2', (params, code) => {
    expect(refusal(params)).toBe(code);
  });
});
