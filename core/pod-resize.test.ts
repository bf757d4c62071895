import { describe, expect, test } from '@jest/globals';
import type { Container, ContainerStatus, Pod } from '../api/kubernetes.js';
import { atLeast, withResizedRequests } from './pod-resize.js';

const pod = (cpu: string, status: Partial<ContainerStatus>, conditions: object[] = []): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', resources: { requests: { cpu } } }] },
  status: {
    containerStatuses: [{ name: 'c', ...status }],
    conditions: conditions as NonNullable<Pod['status']>['conditions'] & object,
  },
});
const has = (allocated: string, actual: string): Partial<ContainerStatus> => ({
  allocatedResources: { cpu: allocated },
  resources: { requests: { cpu: actual } },
});
const infeasible = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }];

// Rule `scheduling/pod-requests`.
describe('the requests of a container that is resized in place', () => {
  test.each<[string, Pod, string]>([
    ['the old amount, while it shrinks', pod('1', has('2', '2')), '2'],
    ['the actual amount, once less is allocated', pod('1', has('1', '2')), '2'],
    ['the new amount, while it grows', pod('3', has('1', '1')), '3'],
    ['the old amount, where the resize is infeasible', pod('3', has('1', '1'), infeasible), '1'],
    ['the amount in the spec, where the status has no actual one', pod('1', { allocatedResources: { cpu: '2' } }), '1'],
    ['the amount in the spec, where the status cannot be parsed', pod('1', has('many', 'some')), '1'],
  ])('are %s', (_, resized, expected) => {
    expect(withResizedRequests(resized).spec.containers[0]!.resources!.requests).toEqual({ cpu: expected });
  });

  test('of a sidecar are computed as those of a container', () => {
    const base = pod('1', {});
    const sidecars = {
      ...base,
      spec: { ...base.spec, initContainers: base.spec.containers },
      status: { initContainerStatuses: [{ name: 'c', ...has('4', '4') }] },
    };
    expect(withResizedRequests(sidecars).spec).toMatchObject({
      containers: [{ resources: { requests: { cpu: '1' } } }],
      initContainers: [{ resources: { requests: { cpu: '4' } } }],
    });
  });

  test('are unchanged, as the same object, without a resize', () => {
    const same = pod('1', has('1', '1'));
    expect(withResizedRequests(same)).toBe(same);
    expect(withResizedRequests({ ...same, status: {} }).spec).toBe(same.spec);
  });
});

// Rule `scheduling/pod-requests`.
describe('the requests of a pod with pod-level resources that is resized in place', () => {
  const whole = (cpu: string, allocated: string, actual: string, conditions?: object[]): Pod => {
    const base = pod('1', {}, conditions);
    return {
      ...base,
      spec: { ...base.spec, resources: { requests: { cpu } } },
      status: { ...base.status, ...has(allocated, actual) },
    };
  };
  test.each<[string, Pod, string]>([
    ['the old amount, while it shrinks', whole('500m', '6', '6'), '6'],
    ['the actual amount, once less is allocated', whole('500m', '500m', '6'), '6'],
    ['the new amount, while it grows', whole('3', '1', '1'), '3'],
    ['the old amount, where the resize is infeasible', whole('3', '1', '1', infeasible), '1'],
  ])('are %s', (_, resized, expected) => {
    expect(withResizedRequests(resized).spec.resources?.requests).toEqual({ cpu: expected });
  });

  test('are not pod-level where the pod has none', () => {
    const base = pod('1', {});
    const sum = { ...base, status: has('6', '6') };
    expect(withResizedRequests(sum)).toBe(sum);
  });
});

// Rule `scheduling/moved-pods`.
describe('a pod with pod-level resources, as its template creates it again', () => {
  const asks = { name: 'c', resources: { requests: { cpu: '1' } } };
  const limits = { cpu: '4' };
  const again = (container: Container, cpu: string): Pod => {
    const base = pod('1', {});
    const live = { ...base, spec: { containers: [container], resources: { requests: { cpu }, limits } } };
    return atLeast(live, { containers: [container], resources: { limits } });
  };
  test('requests what its containers do, not its pod-level limits', () => {
    expect(again(asks, '1').spec.resources?.requests).toEqual({ cpu: '1' });
  });

  test('requests its pod-level limits where no container asks', () => {
    expect(again({ name: 'c' }, '1').spec.resources?.requests).toEqual({ cpu: '4' });
  });
});
