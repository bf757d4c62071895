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
import type { Apart, Suite } from './told.js';
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

/** Karpenter's suites, as far as they are told. */
export const suites: readonly Suite[] = [
  {
    path: `${scheduling}/suite_test.go`,
    told: [
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
    told: [
      ...nodeCases,
      ...limitCases,
      ...daemonCases,
      ...claimCases,
      ...provisionedVolumeCases,
      ...choiceCases,
      ...minValuesPolicyCases,
    ],
  },
  { path: `${scheduling}/defaultconstraints_test.go`, told: defaultSelectorCases },
  { path: `${scheduling}/instance_selection_test.go`, told: [...cheapestCases, ...minValuesCases] },
  {
    path: `${scheduling}/topology_test.go`,
    told: [
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
    told: [
      watchedCases,
      budgetCases,
      replaceCases,
      deleteCases,
      severalCases,
      bufferCases,
      otherConsolidationCases,
    ].flat(),
  },
  { path: `${disruption}/suite_test.go`, told: [...disruptionCases, ...deadlineCases] },
  { path: `${disruption}/emptiness_test.go`, told: [...emptinessCases, ...emptyBufferCases] },
  { path: 'pkg/scheduling/requirement_test.go', told: requirementCases },
  { path: 'pkg/scheduling/requirements_test.go', told: [...requirementsCases, ...profileCases] },
  { path: 'pkg/scheduling/hostportusage_test.go', told: hostPortCases },
  { path: 'pkg/scheduling/taints_test.go', told: ephemeralTaintCases },
  { path: 'pkg/apis/v1/nodepool_budgets_test.go', told: budgetRuleCases },
  { path: 'pkg/controllers/nodeoverlay/suite_test.go', told: overlayCases },
  { path: `${disruption}/drift_test.go`, told: driftCases },
  { path: `${disruption}/staticdrift_test.go`, told: staticDriftCases },
  { path: 'pkg/controllers/static/provisioning/suite_test.go', told: staticProvisioningCases },
  { path: 'pkg/controllers/static/deprovisioning/suite_test.go', told: staticDeprovisioningCases },
  { path: 'pkg/utils/pdb/suite_test.go', told: podBudgetCases },
  { path: 'pkg/utils/pod/suite_test.go', told: podCases },
  { path: 'pkg/utils/daemonset/suite_test.go', told: daemonPodCases },
  { path: `${disruption}/singlenodeconsolidation_test.go`, told: singleNodeCases },
  { path: 'pkg/utils/resources/suite_test.go', told: resourceCases },
  { path: 'pkg/cloudprovider/suite_test.go', told: cloudProviderCases },
  { path: 'pkg/controllers/nodeclaim/disruption/drift_test.go', told: [...claimDriftCases, ...otherDriftCases] },
  {
    path: 'pkg/controllers/nodeclaim/disruption/consolidation_test.go',
    told: [...consolidatableCases, ...otherConsolidatableCases],
  },
  {
    path: 'pkg/controllers/nodeclaim/disruption/suite_test.go',
    told: [...claimConditionCases, ...severalConditionCases],
  },
  { path: 'pkg/controllers/nodepool/hash/suite_test.go', told: [...poolHashCases, ...otherHashCases] },
  { path: `${disruption}/balanced_test.go`, told: balancedMoveCases },
  { path: `${disruption}/balanced_scoring_test.go`, told: [...balancedScoreCases, ...priceCases] },
  { path: `${disruption}/balanced_adversarial_test.go`, told: [...balancedAdversarialCases, ...unavailableCases] },
  { path: `${disruption}/consolidation_logging_test.go`, told: savingCases },
  { path: `${disruption}/balanced_integration_test.go`, told: balancedFleetCases },
  { path: 'pkg/controllers/capacitybuffer/helpers_test.go', told: bufferSizeCases },
  { path: 'pkg/controllers/capacitybuffer/suite_test.go', told: [...bufferResolutionCases, ...changedBufferCases] },
  { path: 'pkg/controllers/provisioning/buffers_test.go', told: bufferStatusCases },
  { path: 'pkg/state/virtualpods/utilities_test.go', told: virtualPodCases },
  { path: 'pkg/state/virtualpods/virtualpods_test.go', told: virtualPodCacheCases },
  { path: 'pkg/controllers/node/termination/suite_test.go', told: [...drainCases, ...detachCases] },
  { path: 'pkg/controllers/node/termination/terminator/suite_test.go', told: terminatorCases },
  { path: 'pkg/controllers/node/health/suite_test.go', told: healthCases },
  { path: 'pkg/controllers/nodeclaim/garbagecollection/suite_test.go', told: garbageCases },
  { path: 'pkg/controllers/nodeclaim/expiration/suite_test.go', told: expirationCases },
  { path: 'pkg/controllers/nodeclaim/consistency/suite_test.go', told: consistencyCases },
  { path: 'pkg/controllers/nodeclaim/podevents/suite_test.go', told: podEventCases },
  { path: 'pkg/controllers/nodepool/registrationhealth/suite_test.go', told: registrationHealthCases },
  { path: 'pkg/controllers/nodepool/readiness/suite_test.go', told: readinessCases },
  { path: 'pkg/controllers/nodepool/counter/suite_test.go', told: counterCases },
  { path: 'pkg/controllers/node/hydration/suite_test.go', told: nodeHydrationCases },
  { path: 'pkg/controllers/nodeclaim/hydration/suite_test.go', told: claimHydrationCases },
  { path: `${disruption}/queue_test.go`, told: queueCases },
  { path: `${scheduling}/reservationmanager_test.go`, told: reservationCases },
  { path: 'pkg/state/nodepoolhealth/suite_test.go', told: poolHealthCases },
  {
    path: 'pkg/controllers/state/suite_test.go',
    told: [...stateNodeCases, ...stateSyncCases, ...statePoolCases],
  },
  { path: 'pkg/controllers/state/statenodepool_test.go', told: nodeLimitCases },
  { path: 'pkg/utils/nodepool/suite_test.go', told: poolOrderCases },
  { path: 'pkg/utils/node/suite_test.go', told: nodeUtilCases },
  { path: 'pkg/utils/nodeclaim/suite_test.go', told: claimUtilCases },
  { path: 'pkg/apis/v1alpha1/suite_test.go', told: overlayOrderCases },
  { path: 'pkg/controllers/nodeoverlay/store_test.go', told: overlayStoreCases },
  { path: `${lifecycle}/suite_test.go`, told: finalizerCases },
  { path: `${lifecycle}/termination_test.go`, told: claimDeletionCases },
  { path: `${lifecycle}/launch_test.go`, told: launchCases },
  { path: `${lifecycle}/liveness_test.go`, told: livenessCases },
  { path: `${lifecycle}/registration_test.go`, told: registrationCases },
  { path: `${lifecycle}/initialization_test.go`, told: initializationCases },
  { path: 'pkg/apis/v1/nodeclaim_validation_cel_test.go', told: nodeClaimCases },
  { path: 'pkg/apis/v1/nodepool_validation_cel_test.go', told: nodePoolCases },
  { path: 'pkg/apis/v1/nodepool_default_test.go', told: nodePoolDefaultCases },
  { path: 'pkg/controllers/nodepool/validation/suite_test.go', told: [...nodePoolLaterCases, ...otherValidationCases] },
  { path: 'pkg/apis/v1alpha1/nodeoverlay_validation_test.go', told: nodeOverlaySchemaCases },
  { path: 'pkg/apis/autoscaling/v1beta1/suite_test.go', told: capacityBufferSchemaCases },
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
