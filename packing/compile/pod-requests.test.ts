import { expect, test } from '@jest/globals';
import type { ResourceList } from '../../api/kubernetes.js';
import { podRequests, QuantityReader } from './pod-requests.js';

const name = 'hugepages-2Mi';

test.each<[string, { requests?: ResourceList; limits?: ResourceList } | undefined, string]>([
  ['the containers decide without pod-level resources', undefined, '4Mi'],
  ['pod-level requests decide', { requests: { [name]: '8Mi' }, limits: { [name]: '8Mi' } }, '8Mi'],
  ['pod-level limits are requests, for huge pages are never overcommitted', { limits: { [name]: '8Mi' } }, '8Mi'],
  ['pod-level resources of another kind leave the containers to decide', { limits: { cpu: '1' } }, '4Mi'],
])('huge pages: %s (scheduling/pod-requests)', (_, resources, expected) => {
  const quantities = new QuantityReader();
  const containers = [{ name: 'c', resources: { limits: { [name]: '4Mi' } } }];
  const requests = podRequests({ containers, ...(resources && { resources }) }, quantities);
  expect(requests.get(name)).toBe(quantities.read(name, expected));
});
