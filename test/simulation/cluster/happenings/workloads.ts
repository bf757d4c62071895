import { annotations } from '../../../../api/labels.js';
import { capacityBuffers } from '../../../../api/autoscaling/capacity-buffer.js';
import type { CapacityBuffer } from '../../../../api/autoscaling/capacity-buffer.js';
import type { ObjectMeta } from '../../../../api/kubernetes.js';
import { pod } from '../../../cases/objects.js';
import { addDedicatedPool, dedicatedApp } from '../ruled-workloads.js';
import type { Stage } from '../stage.js';
import { listed, minuteMs, pickOr } from './happening.js';

/** What happens to what runs. */
export const workloadHappenings = listed([
  {
    name: 'a Deployment is scaled',
    weight: 16,
    happens: ({ random, sets, plan }) => {
      const set = random.pick(sets);
      const wanted = random.int(plan.leastReplicas ?? 0, plan.replicas);
      void (wanted > set.replicas ? set.scaleUp(wanted, random.int(1, 200)) : set.scaleDown(wanted));
    },
  },
  {
    name: 'pods with rules of scheduling are scaled',
    weight: 8,
    happens: ({ random, ruled, plan, cluster: { kube } }) => {
      const workload = random.pick(ruled);
      if (workload.app === dedicatedApp) addDedicatedPool(kube);
      const wanted = random.int(0, Math.min(plan.replicas, 5));
      void (wanted > workload.replicas ? workload.scaleUp(wanted, random.int(1, 200)) : workload.scaleDown(wanted));
    },
  },
  {
    name: 'a PodDisruptionBudget changes, for some minutes',
    weight: 2,
    happens: ({ random, later, sets, budgets }) => {
      const { app } = random.pick(sets);
      void budgets.protect(app, random.int(0, 2));
      later(random.int(1, 30) * minuteMs, () => {
        if (app === budgetedApp) void budgets.protect(app, 1);
        else budgets.unprotect(app);
      });
    },
  },
  {
    name: 'pods must not be disrupted, for some minutes',
    weight: 2,
    happens: ({ random, later, cluster: { kube } }) => {
      const free = kube
        .kept('Pod')
        .filter((each) => each.metadata.annotations?.[annotations.doNotDisrupt] === undefined);
      const refs = random
        .some(free, 0)
        .slice(0, 4)
        .map(({ metadata: { name = '', namespace = '' } }) => ({ name, namespace }));
      const annotate = (value: string | null): void => {
        for (const ref of refs)
          void kube.patch('Pod', ref, { metadata: { annotations: { [annotations.doNotDisrupt]: value } } });
      };
      annotate('true');
      later(random.int(5, 60) * minuteMs, () => annotate(null));
    },
  },
  {
    name: 'a DaemonSet appears, for some minutes',
    weight: 1,
    happens: ({ random, later, daemons }) => {
      const name = `agent-${random.int(0, 2 ** 31)}`;
      daemons.add(name, { cpu: `${String(random.int(1, 4) * 50)}m`, memory: '128Mi' });
      later(random.int(5, 60) * minuteMs, () => daemons.remove(name));
    },
  },
  {
    name: 'volumes stay attached to a node, for some minutes',
    weight: 1,
    happens: ({ random, later, cluster: { kube } }) => {
      const nodeName = pickOr(random, kube.kept('Node'))?.metadata.name;
      if (nodeName === undefined) return;
      for (let volume = 0; volume < 3; volume++) {
        const name = `attachment-${random.int(0, 2 ** 31)}`;
        const source = { persistentVolumeName: `volume-of-${name}` };
        void kube.create('VolumeAttachment', {
          metadata: { name },
          spec: { attacher: 'ebs.csi.aws.com', nodeName, source },
        });
        later(random.int(1, 20) * minuteMs, () => void kube.delete('VolumeAttachment', { name }));
      }
    },
  },
  {
    name: 'a CapacityBuffer appears, for some minutes',
    weight: 1,
    happens: ({ random, later, sets, cluster: { kube } }) => {
      const ref = { name: `buffer-${random.int(0, 2 ** 31)}`, namespace: 'default' };
      const scalableRef = { apiGroup: 'apps', kind: 'ReplicaSet', name: random.pick(sets).app };
      const size = random.chance(0.5) ? { replicas: random.int(1, 5) } : { percentage: random.int(10, 100) };
      void kube.create('CapacityBuffer', bufferOf(ref, { scalableRef, ...size }));
      later(random.int(5, 40) * minuteMs, () => void kube.delete('CapacityBuffer', ref));
    },
  },
  {
    name: 'Jobs run, for some minutes',
    weight: 2,
    happens: (stage) => runJobs(stage),
  },
  {
    name: 'a pod that fits nowhere waits, for some minutes',
    weight: 1,
    happens: (stage) => waitInVain(stage),
  },
]);

/** The app that a PodDisruptionBudget protects from the start. */
export const budgetedApp = 'middle';

/** With its defaults, which an API server fills in. */
const bufferOf = (metadata: ObjectMeta, spec: object): CapacityBuffer =>
  capacityBuffers.mustParse({ apiVersion: 'autoscaling.x-k8s.io/v1beta1', kind: 'CapacityBuffer', metadata, spec });

/** It asks for more than any machine has. */
function waitInVain({ random, later, cluster: { kube } }: Stage): void {
  const name = `giant-${random.int(0, 2 ** 31)}`;
  const { metadata, ...rest } = pod(name, { app: 'giant' }, { cpu: '900', memory: '1Gi' });
  kube.put('Pod', {
    ...rest,
    metadata: { ...metadata, name, namespace: 'default', creationTimestamp: new Date(Date.now()).toISOString() },
    status: { phase: 'Pending' },
  });
  later(random.int(1, 20) * minuteMs, () => kube.remove('Pod', { name, namespace: 'default' }));
}

/** Pods that end by themselves, and are removed some time after that. */
function runJobs({ random, later, cluster: { kube } }: Stage): void {
  const forMs = random.int(1, 10) * minuteMs;
  for (let index = random.int(1, 6); index > 0; index--) {
    const ref = { name: `job-${random.int(0, 2 ** 31)}`, namespace: 'default' };
    const { metadata, ...rest } = pod(ref.name, { app: 'job' }, { cpu: '1', memory: '2Gi' });
    const creationTimestamp = new Date(Date.now()).toISOString();
    const own = { ...metadata, ...ref, creationTimestamp, ownerReferences: [] };
    kube.put('Pod', { ...rest, metadata: own, status: { phase: 'Pending' } });
    later(forMs, () => {
      const isRunning = kube.kept('Pod').some(({ metadata: { name }, status }) => name === ref.name && status?.phase === 'Running'); // prettier-ignore
      const conditions = [{ type: 'Ready', status: 'False', reason: 'PodCompleted' }];
      if (isRunning)
        void kube.patch('Pod', ref, { status: { phase: 'Succeeded', conditions } }, { subresource: 'status' });
      later(5 * minuteMs, () => kube.remove('Pod', ref));
    });
  }
}
