import type { PodSpec, ResourceList } from '../api/kubernetes.js';
import { lookUp } from './own.js';

/**
 * What a pod requests as a whole, in place of the sum of its containers (scheduling/pod-requests). Pod-level limits
 * stand in for requests as the API server sets them: where no container asks, and for huge pages, which are never
 * overcommitted. Templates and objects from files lack these defaults.
 */
export function podLevelRequests({ containers, initContainers = [], resources }: PodSpec): ResourceList {
  if (resources === undefined) return {};
  const { requests = {}, limits = {} } = resources;
  const asks = (name: string): boolean =>
    [...containers, ...initContainers].some(
      (each) => (lookUp(each.resources?.requests, name) ?? lookUp(each.resources?.limits, name)) !== undefined,
    );
  const standIn = Object.entries(limits).filter(
    ([name]) => lookUp(requests, name) === undefined && (name.startsWith('hugepages-') || !asks(name)),
  );
  return Object.fromEntries([...Object.entries(requests), ...standIn]);
}
