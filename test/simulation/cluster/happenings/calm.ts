import { annotations, labels } from '../../../../api/labels.js';
import { workflowIds } from '../../../../core/ids.js';
import { reconsiderSignal } from '../../../../workflows/messages.js';
import { clusterName } from '../process.js';
import { refOf } from '../../kube/fake-storage.js';
import type { Stage } from '../stage.js';
import { defaultSpec, staticPool, staticSpec } from '../pools.js';
import { addDedicatedPool, dedicatedApp } from '../ruled-workloads.js';
import { addNodeClass, addPool } from '../world.js';
import { liftHolds } from './orders.js';
import { releaseAll } from './others.js';
import { budgetedApp } from './workloads.js';

/** Ends all faults, and also those that had ended already: a restored cluster may have brought them back. */
export function calm(stage: Stage): void {
  const { cluster, sets, budgets, daemons, temporal } = stage;
  const { kube, cloud, machines } = cluster;
  cloud.replenish();
  cloud.endReservations();
  cloud.setNotReady('default');
  machines.neverJoins = 0;
  daemons.clear();
  for (const { app } of sets) if (app !== budgetedApp) budgets.unprotect(app);
  void budgets.protect(budgetedApp, 1);
  for (const kind of [
    'DisruptionPause',
    'DisruptionPolicy',
    'NodeOverlay',
    'CapacityBuffer',
    'VolumeAttachment',
  ] as const) {
    for (const each of kube.kept(kind)) void kube.delete(kind, refOf(each));
  }
  // A restored cluster may be of a time between two NodePools of a name.
  for (const [name, spec] of Object.entries({ default: defaultSpec, [staticPool]: staticSpec })) {
    if (kube.kept('NodePool').every(({ metadata }) => metadata.name !== name))
      addPool(kube, name, spec, `pool-${name}-calm`);
  }
  if (stage.ruled.some(({ app, replicas }) => app === dedicatedApp && replicas > 0)) addDedicatedPool(kube);
  void kube.patch('NodePool', { name: 'default' }, { spec: { ...defaultSpec, limits: null } });
  void kube.patch('NodePool', { name: staticPool }, { spec: { limits: null } });
  const free = { metadata: { annotations: { [annotations.doNotDisrupt]: null } }, spec: { unschedulable: null } };
  for (const node of kube.kept('Node')) void kube.patch('Node', refOf(node), free);
  for (const { metadata } of kube.kept('Node')) machines.startKubelet(metadata.name ?? '');
  // What was refused is not refused for ever.
  const deciding = temporal.find(workflowIds.disrupt(clusterName));
  if (deciding !== undefined) temporal.signal(deciding, reconsiderSignal.name, [{ actor: 'ann', all: true }]);
  liftHolds(stage);
  const nodeClass = kube.kept('EC2NodeClass')[0];
  if (nodeClass?.metadata.deletionTimestamp !== undefined || nodeClass === undefined) addNodeClass(kube, 'class-calm');
  releaseAll(kube);
  removeExtraPools(stage);
  releasePods(stage);
}

function removeExtraPools({ cluster: { kube } }: Stage): void {
  const isExtra = (name: string | undefined): boolean => name?.startsWith('extra-') === true;
  for (const { metadata } of kube.kept('NodePool')) {
    if (isExtra(metadata.name)) void kube.delete('NodePool', { name: metadata.name ?? '' });
  }
  for (const { metadata } of kube.kept('NodeClaim')) {
    if (isExtra(metadata.labels?.[labels.nodePool])) void kube.delete('NodeClaim', { name: metadata.name ?? '' });
  }
}

/** Those that were to be left alone for some minutes, or that fit nowhere. */
function releasePods({ cluster: { kube } }: Stage): void {
  for (const { metadata } of kube.kept('Pod')) {
    const ref = { name: metadata.name ?? '', namespace: metadata.namespace ?? 'default' };
    const app = metadata.labels?.['app'];
    if (app === 'giant' || app === 'job') kube.remove('Pod', ref);
    else if (app !== 'protected' && metadata.annotations?.[annotations.doNotDisrupt] !== undefined) {
      void kube.patch('Pod', ref, { metadata: { annotations: { [annotations.doNotDisrupt]: null } } });
    }
  }
}
