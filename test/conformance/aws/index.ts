import { userDataCases } from './user-data.js';
import { familyUserDataCases } from './user-data-of-families.js';
import { interfaceTemplateCases } from './interfaces.js';
import { storageCases } from './storage.js';
import { instanceCases } from './instance-launches.js';
import { launchCases } from './launching.js';
import { launchChoiceCases } from './launch-choices.js';
import { compatibilityCases } from './compatible-types.js';
import { groupCases, groupStatusCases, subnetCases, subnetStatusCases } from './selections.js';
import { imageCases, imageStatusCases } from './images.js';
import { reservationCountCases, reservationStatusCases } from './reservations-found.js';
import {
  batcherCases,
  describingCases,
  fleetCases,
  statusCases,
  terminatingCases,
  unavailableCases,
} from './gathering.js';
import { driftCases } from './drifting.js';
import { trialCases } from './trying-out.js';
import { interruptionCases } from './interruptions.js';
import { endingBlockCases, hiddenOfferingCases, turnedOnDemandCases } from './reserved-nodes.js';
import { instanceGarbageCases, taggingCases } from './instances.js';
import { capacityCases } from './instance-types.js';
import { catalogueCases } from './catalogue.js';
import { offeringCasesOfTypes } from './offerings.js';
import { typeListCases } from './type-lists.js';
import { deletionCases } from './deleting.js';
import { profileProviderCases } from './making-profiles.js';
import { nodeClassHashStatusCases } from './hash-status.js';
import { bindingVersionCases, endpointCases, versionCases, versionControllerCases } from './cluster-facts.js';
import { learnedCapacityCases, memoryManagerCases, mimeCases, typeControllerCases } from './learned.js';
import { parameterCases } from './parameters.js';
import { pricingCases } from './pricing.js';
import { placementGroupCases, placementHookCases, placementStatusCases } from './placement.js';
import { profileGarbageCases, profileStatusCases } from './profiles.js';
import { zonalShiftCases } from './shifts.js';
import { validationCases } from './validation.js';
import type { Apart, Suite } from '../conformance-case.js';
import { expressionCases, expressionFieldCases } from './expressions.js';
import { nodeClassHashCases } from './hashes.js';
import { kubeletCases } from './kubelet.js';
import { nodeClassCases } from './node-classes.js';
import { cpuOptionCases, launchTemplateCases } from './launch-templates.js';
import { awsNodePoolCases, bottlerocketVersionCases } from './pools-and-images.js';

/** Suites of Karpenter's AWS provider, as far as they have cases. */
export const awsSuites: readonly Suite[] = [
  { path: 'pkg/apis/v1/ec2nodeclass_validation_cel_test.go', cases: nodeClassCases },
  { path: 'pkg/apis/v1/kubeletconfiguration_validation_test.go', cases: kubeletCases },
  { path: 'pkg/apis/v1/ec2nodeclass_hash_test.go', cases: nodeClassHashCases },
  { path: 'pkg/apis/v1/kubeletconfiguration_test.go', cases: expressionFieldCases },
  { path: 'pkg/cel/environment_test.go', cases: expressionCases },
  { path: 'pkg/apis/v1/nodepool_validation_cel_test.go', cases: awsNodePoolCases },
  { path: 'pkg/providers/amifamily/bottlerocket_test.go', cases: bottlerocketVersionCases },
  {
    path: 'pkg/providers/launchtemplate/suite_test.go',
    cases: [
      ...launchTemplateCases,
      ...userDataCases,
      ...familyUserDataCases,
      ...interfaceTemplateCases,
      ...storageCases,
    ],
  },
  { path: 'pkg/providers/launchtemplate/cpuoptions_test.go', cases: cpuOptionCases },
  {
    path: 'pkg/providers/instancetype/suite_test.go',
    cases: [...capacityCases, ...catalogueCases, ...offeringCasesOfTypes, ...typeListCases],
  },
  { path: 'pkg/controllers/nodeclass/validation_test.go', cases: [...validationCases, ...trialCases] },
  { path: 'pkg/controllers/nodeclaim/garbagecollection/suite_test.go', cases: instanceGarbageCases },
  { path: 'pkg/controllers/nodeclaim/tagging/suite_test.go', cases: taggingCases },
  { path: 'pkg/cloudprovider/suite_test.go', cases: [...launchCases, ...driftCases] },
  { path: 'pkg/providers/instance/suite_test.go', cases: instanceCases },
  { path: 'pkg/providers/instance/filter/filter_test.go', cases: launchChoiceCases },
  { path: 'pkg/providers/instancetype/compatibility/suite_test.go', cases: compatibilityCases },
  { path: 'pkg/controllers/nodeclass/subnet_test.go', cases: subnetStatusCases },
  { path: 'pkg/controllers/nodeclass/securitygroup_test.go', cases: groupStatusCases },
  { path: 'pkg/providers/subnet/suite_test.go', cases: subnetCases },
  { path: 'pkg/batcher/createfleet_test.go', cases: fleetCases },
  { path: 'pkg/batcher/describeinstances_test.go', cases: describingCases },
  { path: 'pkg/batcher/terminateinstances_test.go', cases: terminatingCases },
  { path: 'pkg/batcher/suite_test.go', cases: batcherCases },
  { path: 'pkg/cache/suite_test.go', cases: unavailableCases },
  { path: 'pkg/providers/instancestatus/suite_test.go', cases: statusCases },
  { path: 'pkg/controllers/nodeclass/ami_test.go', cases: imageStatusCases },
  { path: 'pkg/controllers/nodeclass/capacityreservation_test.go', cases: reservationStatusCases },
  { path: 'pkg/providers/capacityreservation/suite_test.go', cases: reservationCountCases },
  { path: 'pkg/providers/amifamily/suite_test.go', cases: imageCases },
  { path: 'pkg/providers/securitygroup/suite_test.go', cases: groupCases },
  { path: 'pkg/controllers/interruption/suite_test.go', cases: [...interruptionCases, ...hiddenOfferingCases] },
  { path: 'pkg/controllers/capacityreservation/capacitytype/suite_test.go', cases: turnedOnDemandCases },
  { path: 'pkg/controllers/capacityreservation/expiration/suite_test.go', cases: endingBlockCases },
  { path: 'pkg/controllers/arczonalshift/suite_test.go', cases: zonalShiftCases },
  { path: 'pkg/cloudprovider/registrationhooks/placementgrouphook_test.go', cases: placementHookCases },
  { path: 'pkg/controllers/nodeclass/placementgroup_test.go', cases: placementStatusCases },
  { path: 'pkg/providers/placementgroup/suite_test.go', cases: placementGroupCases },
  { path: 'pkg/controllers/nodeclass/instanceprofile_test.go', cases: profileStatusCases },
  { path: 'pkg/controllers/nodeclass/garbagecollection/suite_test.go', cases: profileGarbageCases },
  { path: 'pkg/controllers/nodeclass/suite_test.go', cases: deletionCases },
  { path: 'pkg/controllers/nodeclass/hash/suite_test.go', cases: nodeClassHashStatusCases },
  { path: 'pkg/providers/instanceprofile/suite_test.go', cases: profileProviderCases },
  { path: 'pkg/controllers/providers/pricing/suite_test.go', cases: pricingCases },
  { path: 'pkg/controllers/providers/version/suite_test.go', cases: versionControllerCases },
  { path: 'pkg/providers/version/suite_test.go', cases: versionCases },
  { path: 'pkg/providers/version/version_test.go', cases: bindingVersionCases },
  { path: 'pkg/operator/suite_test.go', cases: endpointCases },
  { path: 'pkg/controllers/providers/instancetype/suite_test.go', cases: typeControllerCases },
  { path: 'pkg/controllers/providers/instancetype/capacity/suite_test.go', cases: learnedCapacityCases },
  { path: 'pkg/providers/amifamily/bootstrap/bottlerocket_test.go', cases: memoryManagerCases },
  { path: 'pkg/providers/amifamily/bootstrap/mime/suite_test.go', cases: mimeCases },
  { path: 'pkg/controllers/providers/ssm/invalidation/suite_test.go', cases: parameterCases },
];

export const awsApart: readonly Apart[] = [
  { path: 'pkg/utils/suite_test.go', why: "keys of Karpenter's caches" },
  { path: 'pkg/controllers/metrics/', why: 'metrics are those of docs/metrics.md' },
  { path: 'pkg/operator/options/', why: 'settings are those of docs/settings.md' },
];
