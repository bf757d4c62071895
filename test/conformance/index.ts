import { budgetRuleCases } from './budgets.js';
import { bufferSizeCases } from './buffers/size.js';
import { bufferResolutionCases } from './buffers/status.js';
import { bufferStatusCases, virtualPodCacheCases, virtualPodCases } from './buffers/virtual-pods.js';
import { budgetCases, deleteCases, replaceCases, severalCases, watchedCases } from './disruption/consolidation.js';
import { ephemeralTaintCases, hostPortCases } from './nodes-and-ports.js';
import { podBudgetCases, podCases } from './pods.js';
import { defaultSelectorCases } from './default-spread.js';
import {
  balancedAdversarialCases,
  balancedFleetCases,
  balancedMoveCases,
  balancedScoreCases,
} from './disruption/balanced.js';
import { claimConditionCases, claimDriftCases, consolidatableCases, poolHashCases } from './disruption/drift.js';
import { cloudProviderCases, resourceCases } from './resources.js';
import { disruptionCases, driftCases } from './disruption/candidates.js';
import { bufferCases, emptinessCases, emptyBufferCases, singleNodeCases } from './disruption/emptiness.js';
import { staticDeprovisioningCases, staticDriftCases, staticProvisioningCases } from './disruption/static.js';
import { overlayCases, overlayOrderCases, overlayStoreCases } from './overlays.js';
import { minValuesPolicyCases, provisionedVolumeCases } from './provisioning-volumes.js';
import { choiceCases, claimCases, daemonCases, daemonPodCases, limitCases, nodeCases } from './provisioning.js';
import { requirementCases, requirementsCases } from './requirements.js';
import { deletingCases, filteredCases, reservedCases, zoneCases } from './scheduling/deleting.js';
import { labelCases } from './scheduling/labels.js';
import { capacityBufferSchemaCases } from './schemas/capacity-buffers.js';
import { nodeClaimCases } from './schemas/node-claims.js';
import { nodeOverlaySchemaCases } from './schemas/node-overlays.js';
import { nodePoolCases, nodePoolDefaultCases, nodePoolLaterCases } from './schemas/node-pools.js';
import { existingNodeCases, inFlightCases } from './scheduling/nodes.js';
import { stateNodeCases } from './state/nodes.js';
import { statePoolCases } from './state/pools.js';
import { stateSyncCases } from './state/synced.js';
import {
  changedBufferCases,
  deadlineCases,
  otherConsolidatableCases,
  otherConsolidationCases,
  otherDriftCases,
  otherHashCases,
  otherValidationCases,
  priceCases,
  profileCases,
  savingCases,
  severalConditionCases,
  unavailableCases,
} from './state/others.js';
import { preferenceCases } from './scheduling/preferences.js';
import { cheapestCases, minValuesCases } from './scheduling/selection.js';
import { packingCases, typeCases } from './scheduling/types.js';
import { volumeCases, volumeZoneCases } from './scheduling/volumes.js';
import { expirationCases, garbageCases } from './running/collecting.js';
import { healthCases } from './running/repairing.js';
import { counterCases, podEventCases } from './running/counting.js';
import { consistencyCases, readinessCases, registrationHealthCases } from './running/pools.js';
import { claimHydrationCases, nodeHydrationCases } from './running/hydrating.js';
import { claimUtilCases, nodeUtilCases } from './running/belonging.js';
import { poolHealthCases, poolOrderCases } from './pool-health.js';
import { reservationCases } from './reservations.js';
import { nodeLimitCases } from './running/node-limits.js';
import { queueCases } from './running/replacing.js';
import { terminatorCases } from './running/evicting.js';
import { claimDeletionCases, finalizerCases } from './running/finalizing.js';
import { launchCases, livenessCases } from './running/launching.js';
import { initializationCases, registrationCases } from './running/registering.js';
import { detachCases } from './running/deadlines.js';
import { drainCases } from './running/termination.js';
import type { Apart, Suite } from './conformance-case.js';
export { awsApart, awsSuites } from './aws/index.js';
import { avoidingCases, followingCases } from './topology/affinity.js';
import { defaultCases, taintCases } from './topology/others.js';
import {
  affinityCases,
  capacityTypeCases,
  combinedCases,
  hostCases,
  policyCases,
  zonalCases,
} from './topology/spread.js';

const scheduling = 'pkg/controllers/provisioning/scheduling';

const disruption = 'pkg/controllers/disruption';

const lifecycle = 'pkg/controllers/nodeclaim/lifecycle';

/** Karpenter's suites, as far as they have cases. */
export const suites: readonly Suite[] = [
  {
    path: `${scheduling}/suite_test.go`,
    cases: [
      labelCases,
      preferenceCases,
      typeCases,
      packingCases,
      inFlightCases,
      existingNodeCases,
      volumeCases,
      volumeZoneCases,
      deletingCases,
      zoneCases,
      filteredCases,
      reservedCases,
    ].flat(),
  },
  {
    path: 'pkg/controllers/provisioning/suite_test.go',
    cases: [
      ...nodeCases,
      ...limitCases,
      ...daemonCases,
      ...claimCases,
      ...provisionedVolumeCases,
      ...choiceCases,
      ...minValuesPolicyCases,
    ],
  },
  { path: `${scheduling}/defaultconstraints_test.go`, cases: defaultSelectorCases },
  { path: `${scheduling}/instance_selection_test.go`, cases: [...cheapestCases, ...minValuesCases] },
  {
    path: `${scheduling}/topology_test.go`,
    cases: [
      zonalCases,
      hostCases,
      capacityTypeCases,
      combinedCases,
      policyCases,
      affinityCases,
      followingCases,
      avoidingCases,
      defaultCases,
      taintCases,
    ].flat(),
  },
  {
    path: `${disruption}/consolidation_test.go`,
    cases: [
      watchedCases,
      budgetCases,
      replaceCases,
      deleteCases,
      severalCases,
      bufferCases,
      otherConsolidationCases,
    ].flat(),
  },
  { path: `${disruption}/suite_test.go`, cases: [...disruptionCases, ...deadlineCases] },
  { path: `${disruption}/emptiness_test.go`, cases: [...emptinessCases, ...emptyBufferCases] },
  { path: 'pkg/scheduling/requirement_test.go', cases: requirementCases },
  { path: 'pkg/scheduling/requirements_test.go', cases: [...requirementsCases, ...profileCases] },
  { path: 'pkg/scheduling/hostportusage_test.go', cases: hostPortCases },
  { path: 'pkg/scheduling/taints_test.go', cases: ephemeralTaintCases },
  { path: 'pkg/apis/v1/nodepool_budgets_test.go', cases: budgetRuleCases },
  { path: 'pkg/controllers/nodeoverlay/suite_test.go', cases: overlayCases },
  { path: `${disruption}/drift_test.go`, cases: driftCases },
  { path: `${disruption}/staticdrift_test.go`, cases: staticDriftCases },
  { path: 'pkg/controllers/static/provisioning/suite_test.go', cases: staticProvisioningCases },
  { path: 'pkg/controllers/static/deprovisioning/suite_test.go', cases: staticDeprovisioningCases },
  { path: 'pkg/utils/pdb/suite_test.go', cases: podBudgetCases },
  { path: 'pkg/utils/pod/suite_test.go', cases: podCases },
  { path: 'pkg/utils/daemonset/suite_test.go', cases: daemonPodCases },
  { path: `${disruption}/singlenodeconsolidation_test.go`, cases: singleNodeCases },
  { path: 'pkg/utils/resources/suite_test.go', cases: resourceCases },
  { path: 'pkg/cloudprovider/suite_test.go', cases: cloudProviderCases },
  { path: 'pkg/controllers/nodeclaim/disruption/drift_test.go', cases: [...claimDriftCases, ...otherDriftCases] },
  {
    path: 'pkg/controllers/nodeclaim/disruption/consolidation_test.go',
    cases: [...consolidatableCases, ...otherConsolidatableCases],
  },
  {
    path: 'pkg/controllers/nodeclaim/disruption/suite_test.go',
    cases: [...claimConditionCases, ...severalConditionCases],
  },
  { path: 'pkg/controllers/nodepool/hash/suite_test.go', cases: [...poolHashCases, ...otherHashCases] },
  { path: `${disruption}/balanced_test.go`, cases: balancedMoveCases },
  { path: `${disruption}/balanced_scoring_test.go`, cases: [...balancedScoreCases, ...priceCases] },
  { path: `${disruption}/balanced_adversarial_test.go`, cases: [...balancedAdversarialCases, ...unavailableCases] },
  { path: `${disruption}/consolidation_logging_test.go`, cases: savingCases },
  { path: `${disruption}/balanced_integration_test.go`, cases: balancedFleetCases },
  { path: 'pkg/controllers/capacitybuffer/helpers_test.go', cases: bufferSizeCases },
  { path: 'pkg/controllers/capacitybuffer/suite_test.go', cases: [...bufferResolutionCases, ...changedBufferCases] },
  { path: 'pkg/controllers/provisioning/buffers_test.go', cases: bufferStatusCases },
  { path: 'pkg/state/virtualpods/utilities_test.go', cases: virtualPodCases },
  { path: 'pkg/state/virtualpods/virtualpods_test.go', cases: virtualPodCacheCases },
  { path: 'pkg/controllers/node/termination/suite_test.go', cases: [...drainCases, ...detachCases] },
  { path: 'pkg/controllers/node/termination/terminator/suite_test.go', cases: terminatorCases },
  { path: 'pkg/controllers/node/health/suite_test.go', cases: healthCases },
  { path: 'pkg/controllers/nodeclaim/garbagecollection/suite_test.go', cases: garbageCases },
  { path: 'pkg/controllers/nodeclaim/expiration/suite_test.go', cases: expirationCases },
  { path: 'pkg/controllers/nodeclaim/consistency/suite_test.go', cases: consistencyCases },
  { path: 'pkg/controllers/nodeclaim/podevents/suite_test.go', cases: podEventCases },
  { path: 'pkg/controllers/nodepool/registrationhealth/suite_test.go', cases: registrationHealthCases },
  { path: 'pkg/controllers/nodepool/readiness/suite_test.go', cases: readinessCases },
  { path: 'pkg/controllers/nodepool/counter/suite_test.go', cases: counterCases },
  { path: 'pkg/controllers/node/hydration/suite_test.go', cases: nodeHydrationCases },
  { path: 'pkg/controllers/nodeclaim/hydration/suite_test.go', cases: claimHydrationCases },
  { path: `${disruption}/queue_test.go`, cases: queueCases },
  { path: `${scheduling}/reservationmanager_test.go`, cases: reservationCases },
  { path: 'pkg/state/nodepoolhealth/suite_test.go', cases: poolHealthCases },
  {
    path: 'pkg/controllers/state/suite_test.go',
    cases: [...stateNodeCases, ...stateSyncCases, ...statePoolCases],
  },
  { path: 'pkg/controllers/state/statenodepool_test.go', cases: nodeLimitCases },
  { path: 'pkg/utils/nodepool/suite_test.go', cases: poolOrderCases },
  { path: 'pkg/utils/node/suite_test.go', cases: nodeUtilCases },
  { path: 'pkg/utils/nodeclaim/suite_test.go', cases: claimUtilCases },
  { path: 'pkg/apis/v1alpha1/suite_test.go', cases: overlayOrderCases },
  { path: 'pkg/controllers/nodeoverlay/store_test.go', cases: overlayStoreCases },
  { path: `${lifecycle}/suite_test.go`, cases: finalizerCases },
  { path: `${lifecycle}/termination_test.go`, cases: claimDeletionCases },
  { path: `${lifecycle}/launch_test.go`, cases: launchCases },
  { path: `${lifecycle}/liveness_test.go`, cases: livenessCases },
  { path: `${lifecycle}/registration_test.go`, cases: registrationCases },
  { path: `${lifecycle}/initialization_test.go`, cases: initializationCases },
  { path: 'pkg/apis/v1/nodeclaim_validation_cel_test.go', cases: nodeClaimCases },
  { path: 'pkg/apis/v1/nodepool_validation_cel_test.go', cases: nodePoolCases },
  { path: 'pkg/apis/v1/nodepool_default_test.go', cases: nodePoolDefaultCases },
  {
    path: 'pkg/controllers/nodepool/validation/suite_test.go',
    cases: [...nodePoolLaterCases, ...otherValidationCases],
  },
  { path: 'pkg/apis/v1alpha1/nodeoverlay_validation_test.go', cases: nodeOverlaySchemaCases },
  { path: 'pkg/apis/autoscaling/v1beta1/suite_test.go', cases: capacityBufferSchemaCases },
];

const dynamic = 'dynamic resource allocation is not modelled';
const metrics = 'metrics are those of docs/metrics.md';
const memory =
  "what Karpenter's own memory of the cluster costs, or how it heals; objects are read from a watch cache here";
const predictions = 'a store of what pods will request, which Karpenter fills and nothing of it reads';
const plumbing = "helpers of Karpenter's own code";

/** What does not apply as a whole. */
export const apart: readonly Apart[] = [
  { path: 'pkg/scheduling/dynamicresources/', why: dynamic },
  { path: 'pkg/controllers/dynamicresources/', why: dynamic },
  { path: 'pkg/controllers/provisioning/dra_test.go', why: dynamic },
  { path: 'pkg/controllers/provisioning/dra_internal_test.go', why: dynamic },
  { path: `${scheduling}/dra_internal_test.go`, why: dynamic },
  { path: 'pkg/controllers/disruption/consolidation_dra_test.go', why: dynamic },
  { path: 'pkg/cloudprovider/dynamicresources_test.go', why: dynamic },
  { path: 'pkg/controllers/metrics/', why: metrics },
  { path: 'pkg/cloudprovider/metrics/', why: metrics },
  { path: 'pkg/metrics/', why: metrics },
  { path: 'pkg/events/', why: 'events are recorded by the API machinery of the project' },
  { path: 'pkg/operator/', why: 'settings are those of docs/settings.md' },
  { path: 'pkg/controllers/state/informer/vpa_test.go', why: predictions },
  { path: 'pkg/state/prediction/', why: predictions },
  { path: 'pkg/controllers/state/nodeclaimgc/', why: memory },
  { path: 'pkg/controllers/nodeoverlay/store_memory_test.go', why: memory },
  { path: `${scheduling}/scheduling_benchmark_test.go`, why: 'a measurement; docs/benchmarks.md has those of both' },
  { path: 'pkg/utils/atomic/', why: plumbing },
  { path: 'pkg/utils/controller/', why: plumbing },
  { path: 'pkg/utils/pretty/', why: plumbing },
  { path: 'pkg/utils/ringbuffer/', why: plumbing },
  { path: 'pkg/state/cost/', why: 'a figure that Karpenter keeps in memory; costs are reckoned with each plan here' },
];
