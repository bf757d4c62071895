import { finalizers } from '../../../../api/labels.js';
import type { Kind } from '../../../../kube/port.js';
import { refOf } from '../../kube/fake-storage.js';
import type { FakeKube } from '../../kube/fake.js';
import { listed, minuteMs, pickOr } from './happening.js';

/** The taint of another controller, and its finalizer. */
const othersTaint = { key: 'example.com/upgrade', effect: 'NoSchedule' } as const;
const othersFinalizer = 'example.com/audit';

/** What other controllers do to the objects that Stowage keeps, and people who edit them. */
export const othersHappenings = listed([
  {
    name: 'another controller taints a node, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const node = pickOr(random, kube.kept('Node'));
      if (node === undefined) return;
      const { name = '' } = node.metadata;
      const { resourceVersion } = node.metadata;
      const spec = { taints: [...(node.spec?.taints ?? []), othersTaint] };
      void kube.patch('Node', { name }, { metadata: { resourceVersion }, spec });
      later(random.int(1, 30) * minuteMs, () => untaint(kube, name));
    },
  },
  {
    name: 'another controller holds an object by its finalizer, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const kind = random.pick(['Node', 'NodeClaim', 'Pod'] as const);
      const object = pickOr(
        random,
        kube.kept(kind).filter(({ metadata }) => metadata.deletionTimestamp === undefined),
      );
      if (object === undefined) return;
      const ref = refOf(object);
      const { resourceVersion, finalizers: present = [] } = object.metadata;
      void kube.patch(kind, ref, { metadata: { resourceVersion, finalizers: [...present, othersFinalizer] } });
      later(random.int(1, 30) * minuteMs, () => letGo(kube, kind, ref, othersFinalizer));
    },
  },
  {
    name: 'the finalizer of a NodeClaim or Node is removed by hand',
    weight: 2,
    happens: ({ random, invariants, cluster: { kube } }) => {
      const kind = random.pick(['Node', 'NodeClaim'] as const);
      const object = pickOr(random, kube.kept(kind));
      if (object === undefined) return;
      if (kind === 'NodeClaim') invariants.reasons.excuse(object.metadata.uid ?? '');
      letGo(kube, kind, refOf(object), finalizers.termination);
    },
  },
  {
    name: 'annotations of Stowage are removed from a NodeClaim or Node by hand',
    weight: 2,
    happens: ({ random, cluster: { kube } }) => {
      const kind = random.pick(['Node', 'NodeClaim'] as const);
      const object = pickOr(random, kube.kept(kind));
      const own = Object.keys(object?.metadata.annotations ?? {}).filter((key) => key.startsWith('stowage.dev/'));
      if (object === undefined || own.length === 0) return;
      const annotations = Object.fromEntries(random.some(own, 1).map((key) => [key, null]));
      void kube.patch(kind, refOf(object), { metadata: { annotations } });
    },
  },
  {
    name: 'a Node is removed by force, and its kubelet registers anew',
    weight: 2,
    happens: ({ random, later, cluster: { kube, machines } }) => {
      const node = pickOr(random, kube.kept('Node'));
      if (node === undefined) return;
      kube.remove('Node', refOf(node));
      later(random.int(1, 180) * 1000, () => machines.rejoin(node.spec?.providerID ?? ''));
    },
  },
  {
    name: 'the template of a NodePool changes, and back',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const pool = kube.kept('NodePool').find(({ metadata }) => metadata.name === 'default');
      const before = pool?.spec.template.metadata?.labels?.['revision'] ?? null;
      const revise = (revision: string | null): void =>
        void kube.patch(
          'NodePool',
          { name: 'default' },
          { spec: { template: { metadata: { labels: { revision } } } } },
        );
      revise(`r${random.int(0, 2 ** 31)}`);
      later(random.int(5, 300) * 1000, () => revise(before));
    },
  },
]);

/** Removes what other clients have put on objects. */
export function releaseAll(kube: FakeKube): void {
  for (const { metadata } of kube.kept('Node')) untaint(kube, metadata.name ?? '');
  for (const kind of ['Node', 'NodeClaim', 'Pod'] as const) {
    for (const object of kube.kept(kind)) letGo(kube, kind, refOf(object), othersFinalizer);
  }
}

function untaint(kube: FakeKube, name: string): void {
  const node = kube.kept('Node').find(({ metadata }) => metadata.name === name);
  const taints = node?.spec?.taints ?? [];
  if (!taints.some(({ key }) => key === othersTaint.key)) return;
  const spec = { taints: taints.filter(({ key }) => key !== othersTaint.key) };
  void kube.patch('Node', { name }, { spec });
}

function letGo(kube: FakeKube, kind: Kind, ref: ReturnType<typeof refOf>, finalizer: string): void {
  const object = kube
    .kept(kind)
    .find(({ metadata }) => metadata.name === ref.name && metadata.namespace === ref.namespace);
  const present = object?.metadata.finalizers ?? [];
  if (!present.includes(finalizer)) return;
  void kube.patch(kind, ref, { metadata: { finalizers: present.filter((each) => each !== finalizer) } });
}
