import { capacityBuffers } from '../../../api/autoscaling/capacity-buffer.js';
import { build } from '../../integration/crd-case-helpers.js';
import { about, gives, same, type ConformanceCase } from '../conformance-case.js';
import { casesOf } from './judge.js';

const spec = casesOf('CapacityBuffer', 'spec');
const podTemplateRef = { name: 'chunk' };
const scalableRef = { apiGroup: 'apps', kind: 'Deployment', name: 'web' };

/** pkg/apis/autoscaling/v1beta1/suite_test.go */
export const capacityBufferSchemaCases: readonly ConformanceCase[] = about('CapacityBuffer validation', [
  same(
    65,
    'the name of the kind',
    gives(() => {
      const { group, scope, names } = capacityBuffers.crd().spec;
      return [group, scope, names.kind, names.plural];
    }, ['autoscaling.x-k8s.io', 'Namespaced', 'CapacityBuffer', 'capacitybuffers']),
  ),
  spec(76, 'a template and a number', 'accepted', { podTemplateRef, replicas: 5 }),
  spec(92, 'a template and a number, once more', 'accepted', { podTemplateRef, replicas: 3 }),
  spec(102, 'a template and limits', 'accepted', { podTemplateRef, limits: { cpu: '4' } }),
  spec(112, 'a workload', 'accepted', { scalableRef, replicas: 5 }),
  spec(122, 'a workload of the core group', 'accepted', {
    scalableRef: { kind: 'ReplicationController', name: 'web' },
    replicas: 1,
  }),
  spec(132, 'a template and a workload', 'refused', { podTemplateRef, scalableRef, replicas: 3 }),
  spec(143, 'a template alone', 'refused', { podTemplateRef }),
  spec(152, 'fewer than none', 'refused', { podTemplateRef, replicas: -1 }),
  spec(162, 'a percentage below zero', 'refused', { scalableRef, percentage: -1 }),
  spec(172, 'a template without a name', 'refused', { podTemplateRef: { name: '' }, replicas: 1 }),
  spec(182, 'a workload without a kind', 'refused', { scalableRef: { ...scalableRef, kind: '' }, replicas: 1 }),
  spec(192, 'a workload without a name', 'refused', { scalableRef: { ...scalableRef, name: '' }, replicas: 1 }),
  spec(202, 'none', 'accepted', { podTemplateRef, replicas: 0 }),
  spec(212, 'no percent', 'accepted', { scalableRef, percentage: 0 }),
  same(
    222,
    'the strategy, where none is named',
    gives(() => {
      const parsed = capacityBuffers.parse(build('CapacityBuffer', { spec: { podTemplateRef, replicas: 1 } }));
      return parsed.ok && parsed.value.spec.provisioningStrategy;
    }, 'buffer.x-k8s.io/active-capacity'),
  ),
  spec(235, 'a number and a percentage', 'accepted', { scalableRef, replicas: 10, percentage: 20 }),
  spec(246, 'a workload alone', 'accepted', { scalableRef }),
]);
