import { changesFor, type Places } from '../../../activities/provisioning/buffers.js';
import { resolveBuffer, type BufferObjects } from '../../../packing/compile/buffers.js';
import { about, gives, notApplicable, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { buffer, podTemplateRef, objectsOf, scalableRef, one, whole, resolves, sized, missing } from './made.js';

const nothing = { existing: 0, launched: 0 };
type Outcome = Parameters<typeof changesFor>[0];
/** What Provisioning comes to say. */
export const provisioning = (expected: string, resolved: Outcome, places: Places = nothing): Check =>
  gives(() => {
    const [, change] = changesFor(resolved, places);
    return `${change!.status}/${change!.reason ?? ''}`;
  }, expected);
const readiness = (expected: string, spec: object, objects: BufferObjects = objectsOf({ spec: one }, 10)): Check =>
  gives(() => {
    const [change] = changesFor(resolveBuffer(objects, buffer(spec)), nothing);
    return `${change!.status}/${change!.reason ?? ''}`;
  }, expected);
const refresh = 'every look resolves all buffers';
export const noCache = 'virtual pods are made for each plan and kept nowhere';

/** pkg/controllers/capacitybuffer/suite_test.go */
export const bufferResolutionCases: readonly ConformanceCase[] = about('resolving a capacity buffer', [
  same(73, 'with an existing PodTemplate', readiness('True/Resolved', whole)),
  same(121, 'with a missing PodTemplate', readiness('False/PodTemplateNotFound', whole, {})),
  same(144, 'with a Deployment', sized(2, { scalableRef, percentage: 20 })),
  same(198, 'with a missing Deployment', readiness('False/ScalableRefNotFound', { scalableRef, replicas: 1 }, {})),
  same(223, 'with a StatefulSet', sized(5, { scalableRef: { ...scalableRef, kind: 'StatefulSet' }, percentage: 50 })),
  same(
    274,
    'with a kind that is no workload of apps',
    resolves(
      { scalableRef: { apiGroup: 'batch', kind: 'Job', name: 'chunk' }, percentage: 20 },
      missing('ResolutionFailed'),
    ),
  ),
  same(
    293,
    'with a group other than apps',
    resolves({ scalableRef: { ...scalableRef, apiGroup: 'batch' }, percentage: 20 }, missing('ResolutionFailed')),
  ),
  same(312, 'with a workload without replicas, which has one', sized(1, { scalableRef, percentage: 100 }, one, null)),
  same(373, 'with a number', sized(7, { podTemplateRef, replicas: 7 })),
  same(384, 'with a number above the limits', sized(3, { podTemplateRef, replicas: 10, limits: { cpu: '3' } })),
  same(396, 'with a number below the limits', sized(3, { podTemplateRef, replicas: 3, limits: { cpu: '10' } })),
  same(408, 'with limits alone', sized(5, { podTemplateRef, limits: { cpu: '5' } })),
  same(419, 'with a percentage', sized(2, { scalableRef, percentage: 20 })),
  same(429, 'with a number above the percentage', sized(5, { scalableRef, percentage: 20, replicas: 5 })),
  same(440, 'with a percentage above the number', sized(8, { scalableRef, percentage: 80, replicas: 5 })),
  same(452, 'with both above the limits', sized(4, { scalableRef, percentage: 80, replicas: 5, limits: { cpu: '4' } })),
  same(465, 'with a percentage of one replica', sized(1, { scalableRef, percentage: 10 }, one, 1)),
  notApplicable([[569, 650]], 'the cache of virtual pods', noCache),
  notApplicable([[668, 728]], 'which buffers a PodTemplate concerns', refresh),
]);
