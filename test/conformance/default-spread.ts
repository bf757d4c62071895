import type { LabelSelector, OwnerReference, Pod } from '../../api/kubernetes.js';
import { labels } from '../../api/labels.js';
import { selects } from '../../core/labels.js';
import { DefaultSpread } from '../../packing/compile/default-spread.js';
import type { ClusterObjects } from '../../packing/types.js';
import { about, gives, same, type Check, type ConformanceCase } from './conformance-case.js';

type Labels = Readonly<Record<string, string>>;
const zonal = { maxSkew: 1, topologyKey: labels.zone, whenUnsatisfiable: 'DoNotSchedule' } as const;
const metadata = (namespace = 'default') => ({ name: 'o', namespace });
const replicaSet = (selector: LabelSelector) => ({
  replicaSets: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', metadata: metadata(), spec: { selector } }],
});
const statefulSet = (selector: LabelSelector) => ({
  statefulSets: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: metadata(), spec: { selector } }],
});
const controller = (selector: Labels) => ({
  replicationControllers: [
    { apiVersion: 'v1', kind: 'ReplicationController', metadata: metadata(), spec: { selector: { ...selector } } },
  ],
});
const services = (...selectors: readonly (Labels | undefined)[]) => ({
  services: selectors.map((selector) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(),
    spec: selector === undefined ? {} : { selector: { ...selector } },
  })),
});

const pod = (own: Labels, owner?: Partial<OwnerReference>, namespace = 'default'): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'p',
    namespace,
    labels: { ...own },
    ...(owner && {
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'o', uid: 'o', controller: true, ...owner }],
    }),
  },
  spec: { containers: [] },
});

/** Which of some sets of labels the deduced selector selects; undefined where none is deduced. */
const selected = (
  objects: object,
  each: Pod,
  probes: readonly Labels[],
  expected: readonly boolean[] | undefined,
): Check =>
  gives(() => {
    const [constraint] = new DefaultSpread([zonal], objects as ClusterObjects).of(each);
    return constraint === undefined ? undefined : probes.map((probe) => selects(constraint.labelSelector, probe));
  }, expected);
const web = { app: 'web' };
const other = { app: 'other' };
const front = { tier: 'frontend' };
const both = { ...web, ...front };
const hashed = { ...web, 'pod-template-hash': 'abc' };

export const defaultSelectorCases: readonly ConformanceCase[] = about('selector of the default spread', [
  same(
    80,
    "is the ReplicaSet's, also where the pod has other labels",
    selected(replicaSet({ matchLabels: hashed }), pod({ ...hashed, extra: 'x' }, {}), [hashed, web], [true, false]),
  ),
  same(
    98,
    "is the StatefulSet's, without labels of single pods",
    selected(
      statefulSet({ matchLabels: web }),
      pod({ ...web, 'apps.kubernetes.io/pod-index': '0' }, { kind: 'StatefulSet' }),
      [web],
      [true],
    ),
  ),
  same(
    119,
    'has the expressions of the ReplicaSet',
    selected(
      replicaSet({ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['other'] }] }),
      pod(web, {}),
      [web, other, {}],
      [true, false, true],
    ),
  ),
  same(
    137,
    "is the ReplicationController's",
    selected(
      controller(web),
      pod(web, { apiVersion: 'v1', kind: 'ReplicationController' }),
      [web, other],
      [true, false],
    ),
  ),
  same(159, 'is none for an owner of another kind', selected({}, pod(web, { kind: 'Job' }), [], undefined)),
  same(
    166,
    'is none for an owner that is not the controller',
    selected(replicaSet({ matchLabels: web }), pod(web, { controller: false }), [], undefined),
  ),
  same(174, 'is none for a missing owner', selected({}, pod(web, {}), [], undefined)),
  same(
    185,
    'is that of the Service that selects the pod',
    selected(services(web), pod({ ...web, extra: 'x' }), [web, other], [true, false]),
  ),
  same(
    193,
    'combines two Services',
    selected(services(web, front), pod(both), [both, web, front], [true, false, false]),
  ),
  same(202, 'is none for a Service that does not select the pod', selected(services(other), pod(web), [], undefined)),
  same(206, 'is none for a Service without a selector', selected(services(undefined), pod(web), [], undefined)),
  same(211, 'is none for a Service with an empty selector', selected(services({}), pod(web), [], undefined)),
  same(
    [216, 314],
    'is none for a Service of another namespace',
    selected(services(web), pod(web, undefined, 'elsewhere'), [], undefined),
  ),
  same(
    224,
    'combines a Service and the owner',
    selected(
      { ...replicaSet({ matchLabels: hashed }), ...services(front) },
      pod({ ...hashed, ...front }, {}),
      [{ ...hashed, ...front }, hashed, front],
      [true, false, false],
    ),
  ),
  same(
    250,
    'of a ReplicationController replaces that of the Service',
    selected(
      { ...controller({ app: 'legacy' }), ...services(web) },
      pod(web, { apiVersion: 'v1', kind: 'ReplicationController' }),
      [{ app: 'legacy' }, web],
      [true, false],
    ),
  ),
  same(
    272,
    'of ReplicaSet and Service may contradict, and selects nothing',
    selected({ ...replicaSet({ matchLabels: other }), ...services(web) }, pod(web, {}), [web, other], [false, false]),
  ),
  same(
    298,
    'is one for pods of one owner with different labels',
    gives(() => {
      const spread = new DefaultSpread([zonal], {
        ...replicaSet({ matchLabels: web }),
        ...services(front),
      } as unknown as ClusterObjects);
      return [both, web].map((own) => selects(spread.of(pod(own, {}))[0]?.labelSelector, web));
    }, [false, true]),
  ),
  same(
    332,
    'is not needed by a pod with its own constraints',
    gives(() => {
      const own = pod(web, {});
      const spec = { ...own.spec, topologySpreadConstraints: [{ ...zonal, labelSelector: { matchLabels: web } }] };
      return new DefaultSpread([zonal], replicaSet({ matchLabels: web }) as unknown as ClusterObjects).of({
        ...own,
        spec,
      }).length;
    }, 0),
  ),
  same(
    351,
    'is not needed without a default',
    gives(
      () =>
        new DefaultSpread([], replicaSet({ matchLabels: web }) as unknown as ClusterObjects).of(pod(web, {})).length,
      0,
    ),
  ),
  same(
    [360, 377],
    'leaves the other fields of the default unchanged',
    gives(
      () => {
        const full = { ...zonal, maxSkew: 4, minDomains: 3, nodeTaintsPolicy: 'Honor' } as const;
        const [constraint] = new DefaultSpread(
          [full],
          replicaSet({ matchLabels: web }) as unknown as ClusterObjects,
        ).of(pod(web, {}));
        return constraint;
      },
      { ...zonal, maxSkew: 4, minDomains: 3, nodeTaintsPolicy: 'Honor', labelSelector: { matchLabels: web } },
    ),
  ),
  same(
    405,
    'differs for pods of different owners',
    gives(() => {
      const sets = ['one', 'two'].map((app) => ({
        metadata: { name: app, namespace: 'default' },
        spec: { selector: { matchLabels: { app } } },
      }));
      const spread = new DefaultSpread([zonal], { replicaSets: sets } as unknown as ClusterObjects);
      return ['one', 'two'].map((app) => spread.of(pod({ app }, { name: app }))[0]?.labelSelector);
    }, [{ matchLabels: { app: 'one' } }, { matchLabels: { app: 'two' } }]),
  ),
]);
