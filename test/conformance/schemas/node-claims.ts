import { coreWellKnownLabels, labels } from '../../../api/labels.js';
import { many } from '../../integration/crd-case-helpers.js';
import { about, type ConformanceCase } from '../conformance-case.js';
import { casesOf, valuesOf } from './judge.js';
import {
  below,
  goodTaints,
  lists,
  named,
  ninetyTypes,
  notNumbers,
  overlapping,
  requirement,
  restrictedDomains,
  supported,
  twoEffects,
  upstreamDomains,
  withLeast,
} from './terms.js';

const kind = 'NodeClaim';
const taints = casesOf(kind, 'spec.taints');
const group = casesOf(kind, 'spec.nodeClassRef.group');
const requirements = casesOf(kind, 'spec.requirements');
const grace = valuesOf(kind, 'spec.terminationGracePeriod');
const expiry = valuesOf(kind, 'spec.expireAfter');

/** pkg/apis/v1/nodeclaim_validation_cel_test.go */
export const nodeClaimCases: readonly ConformanceCase[] = about('NodeClaim validation', [
  taints(64, 'taints', 'accepted', goodTaints),
  taints(73, 'a taint whose key is none', 'refused', [{ key: '???', effect: 'NoSchedule' }]),
  taints(77, 'a taint without a key', 'refused', [{ effect: 'NoSchedule' }]),
  taints(81, 'a taint whose value is none', 'refused', [{ key: 'k', value: '???', effect: 'NoSchedule' }]),
  taints(85, 'a taint whose effect is none', 'refused', [{ key: 'k', effect: '???' }]),
  taints(89, 'one key with two effects', 'accepted', twoEffects),
  group(98, 'a group', 'accepted', 'karpenter.test.sh'),
  group(106, 'a group with a version', 'refused', 'karpenter.test.sh/v1'),
  requirements(116, 'operators', 'accepted', supported),
  requirements(126, 'an operator that is none', 'refused', [requirement(labels.zone, 'unknown', ['test'])]),
  requirements(134, 'reserved domains', 'refused', ...lists(named(restrictedDomains))),
  requirements(142, 'below the host name', 'refused', ...lists([`${labels.hostname}/test`, labels.hostname])),
  requirements(150, "Kubernetes' domains", 'accepted', ...lists(named(upstreamDomains))),
  requirements(161, "below Kubernetes' domains", 'accepted', ...lists(named(below(upstreamDomains)))),
  requirements(
    172,
    'well-known labels',
    'accepted',
    ...lists(coreWellKnownLabels.filter((key) => key !== labels.nodePool)),
  ),
  requirements(183, 'lists that leave one value', 'accepted', overlapping),
  requirements(190, 'none', 'accepted', []),
  requirements(194, 'numbers that Gt and Lt cannot take', 'refused', ...notNumbers('Gt', 'Lt')),
  requirements(209, 'numbers that Gte and Lte cannot take', 'refused', ...notNumbers('Gte', 'Lte')),
  requirements(224, 'minValues below zero', 'refused', withLeast(-1)),
  requirements(230, 'minValues of zero', 'refused', withLeast(0)),
  requirements(236, 'minValues above 50', 'refused', withLeast(51, 'Exists')),
  requirements(242, '90 values without minValues', 'accepted', ninetyTypes),
  requirements(252, 'more minValues than values', 'refused', withLeast(2)),
  requirements(
    258,
    '101 requirements',
    'refused',
    many(101, (i) => requirement(`k${i}`, 'In', ['v'])),
  ),
  ...grace('terminationGracePeriod', 'accepted', { 276: '30s', 277: '1h30m5s' }),
  ...grace('terminationGracePeriod', 'refused', { 287: '-1s', 288: '1hr', 289: 'Never', 290: 'FooNever' }),
  ...expiry('expireAfter', 'accepted', { 302: '30s', 303: '1h30m5s', 304: 'Never' }),
  ...expiry('expireAfter', 'refused', { 314: '-1s', 315: '1hr', 316: 'FooNever' }),
]);
