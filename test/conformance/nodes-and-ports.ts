import type { Taint } from '../../api/kubernetes.js';
import { plans } from './plans.js';
import { about, notApplicable, same, type Check, type ConformanceCase } from './conformance-case.js';
import { node, pod, type PodOptions } from './world.js';

const port = (hostPort: number, hostIP?: string, protocol?: string): PodOptions => ({
  ports: [{ hostPort, ...(hostIP && { hostIP }), ...(protocol && { protocol }) }],
});
const together = (a: PodOptions, b: PodOptions, nodes: number): Check =>
  plans({ objects: [pod('a', a), pod('b', b)] }, { nodes });

export const hostPortCases: readonly ConformanceCase[] = about('host ports of two pods', [
  notApplicable(30, 'the text of a port', "texts are the project's own"),
  same(41, 'conflict where they are equal', together(port(4443, '10.0.0.0'), port(4443, '10.0.0.0'), 2)),
  same(
    54,
    'conflict where an address is absent or 0.0.0.0',
    together(port(4443, '10.0.0.0'), port(4443, '0.0.0.0'), 2),
  ),
  same([], 'conflict where an address is ::', together(port(4443, '10.0.0.0'), port(4443, '::'), 2)),
  same(
    74,
    'do not conflict with different protocols',
    together(port(4443, '10.0.0.0', 'TCP'), port(4443, '10.0.0.0', 'SCTP'), 1),
  ),
  same(88, 'do not conflict with different ports', together(port(4443, '10.0.0.0'), port(443, '10.0.0.0'), 1)),
]);

/** Whether a node that starts with the taint takes a pod. */
const starting = (taint: Taint, takes: boolean): Check =>
  plans(
    { objects: [node('n', { initialized: false, taints: [taint] }), pod()] },
    takes ? { nodes: 0, existing: { n: 1 } } : { nodes: 1, existing: {} },
  );

export const ephemeralTaintCases: readonly ConformanceCase[] = about('taints that go by themselves', [
  same(26, 'include not-ready', starting({ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }, true)),
  same(
    33,
    'include those of readiness.k8s.io',
    starting({ key: 'readiness.k8s.io/my-rule', effect: 'NoSchedule' }, true),
  ),
  same(40, 'include every effect', starting({ key: 'readiness.k8s.io/another', effect: 'NoExecute' }, true)),
  same(47, 'exclude others', starting({ key: 'example.com/some-taint', effect: 'NoSchedule' }, false)),
  same(
    54,
    'exclude those with the name inside',
    starting({ key: 'my-readiness.k8s.io/bar', effect: 'NoSchedule' }, false),
  ),
  notApplicable(61, 'no taint at all', 'a nil pointer'),
]);
