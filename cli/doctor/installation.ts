import type { LimiterClock } from '../../kube/limiter.js';
import type { KubeClient } from '../../kube/port.js';
import { karpenterLease } from '../../process/settings.js';
import type { Settings } from '../../process/settings.js';
import { cloudCheck, cloudPermissionsCheck, credentialsCheck, launchCheck, queueCheck } from './account.js';
import type { AccountOf } from './account.js';
import { clusterAutoscalerCheck, karpenterCheck, operatorCheck } from './autoscalers.js';
import type { Check } from './check.js';
import { clockCheck } from './clock.js';
import { clusterNameCheck } from './cluster-name.js';
import { definitionsCheck } from './definitions.js';
import { namespaceCheck, searchAttributesCheck, taskQueuesCheck, temporalCheck } from './engine.js';
import { kubernetesCheck } from './kubernetes.js';
import { permissionsCheck } from './permissions.js';
import { regionCheck } from './region.js';
import { imagesCheck, nodeClassesCheck, nodeClassKinds, nodePoolsCheck } from './pools.js';
import type { EngineReader } from './ports.js';

export interface Installation {
  readonly settings: Settings;
  readonly kube: Pick<KubeClient, 'get' | 'list' | 'create' | 'serverVersion' | 'serverTime'>;
  readonly engine: EngineReader;
  readonly accountOf: AccountOf;
  readonly clock: LimiterClock;
}

/** All checks of an installation, dependencies first. */
export function installationChecks(installation: Installation): readonly Check[] {
  return [...inKubernetes(installation), ...inTemporal(installation), ...inCloud(installation)];
}

function inKubernetes({ settings, kube, clock }: Installation): Check[] {
  const kind = nodeClassKinds[settings.CLOUD_PROVIDER];
  const { LEADER_ELECTION_NAMESPACE: namespace, LEADER_ELECTION_NAME: name } = settings;
  const lease = karpenterLease(settings);
  return [
    kubernetesCheck(kube),
    clockCheck({ of: 'kubernetes', needs: 'kubernetes', time: async () => kube.serverTime?.() }, clock),
    permissionsCheck(kube, { own: namespace, karpenterLease: lease, nominates: settings.NOMINATE_PODS }),
    definitionsCheck(kube),
    nodePoolsCheck(kube),
    nodeClassesCheck(kube, kind),
    imagesCheck(kube, kind),
    ...(settings.DISABLE_LEADER_ELECTION ? [] : [operatorCheck(kube, { namespace, name }, clock)]),
    karpenterCheck(kube, lease, clock),
    clusterAutoscalerCheck(kube, clock),
  ];
}

function inTemporal({ settings, kube, engine, clock }: Installation): Check[] {
  const { CLUSTER_NAME: cluster, TEMPORAL_NAMESPACE: namespace } = settings;
  return [
    temporalCheck(engine, settings.TEMPORAL_ADDRESS),
    namespaceCheck(engine, namespace),
    searchAttributesCheck(engine, namespace),
    clusterNameCheck(kube, engine, cluster),
    taskQueuesCheck(engine, clock),
  ];
}

function inCloud({ settings, kube, accountOf, clock }: Installation): Check[] {
  return [
    cloudCheck(accountOf),
    regionCheck(kube, settings.AWS_REGION),
    // A wrong clock is a possible cause of refused credentials.
    clockCheck({ of: 'cloud', needs: 'cloud', time: async () => accountOf()?.time() }, clock),
    credentialsCheck(accountOf),
    cloudPermissionsCheck(accountOf),
    ...(settings.DISABLE_DRY_RUN ? [] : [launchCheck(accountOf, kube)]),
    queueCheck(accountOf),
  ];
}
