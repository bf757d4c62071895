import { labels } from '../../../api/labels.js';
import { about, same, type ConformanceCase } from '../conformance-case.js';
import { casesOf, judged, valuesOf } from './judge.js';
import {
  badKeys,
  below,
  goodKeys,
  lists,
  longKeys,
  named,
  notNumbers,
  overlapping,
  requirement,
  restrictedDomains,
  supported,
  upstreamDomains,
  wellKnown,
} from './terms.js';

const kind = 'NodeOverlay';
const requirements = casesOf(kind, 'spec.requirements');
const price = valuesOf(kind, 'spec.price');
const adjustment = valuesOf(kind, 'spec.priceAdjustment');
const capacity = casesOf(kind, 'spec.capacity');
const exists = (keys: readonly string[]): object[][] => keys.map((key) => [requirement(key)]);
const operators = [
  ...supported.filter((each) => !('operator' in each && each.operator === 'NotIn')),
  requirement(labels.zone, 'Gte', ['1']),
  requirement(labels.zone, 'Lte', ['1']),
  requirement(labels.zone, 'NotIn', ['1']),
];

/** pkg/apis/v1alpha1/nodeoverlay_validation_test.go */
export const nodeOverlaySchemaCases: readonly ConformanceCase[] = about('NodeOverlay validation', [
  requirements(53, 'In without values', 'refused', [requirement('Test', 'In')]),
  requirements(60, 'NotIn without values', 'refused', [requirement('Test', 'NotIn')]),
  requirements(67, 'a key', 'accepted', [requirement('Test')]),
  requirements(74, 'keys', 'accepted', exists(goodKeys).flat()),
  requirements(84, 'keys that are none', 'refused', ...exists(badKeys)),
  requirements(101, 'the label of the NodePool', 'accepted', [requirement(labels.nodePool, 'In', ['x'])]),
  requirements(108, 'keys that are too long', 'invalid', ...exists(longKeys)),
  requirements(119, 'operators', 'accepted', operators),
  requirements(132, 'an operator that is none', 'refused', [requirement(labels.zone, 'unknown', ['test'])]),
  requirements(141, 'reserved domains', 'refused', ...lists(named(restrictedDomains))),
  requirements(150, "Kubernetes' domains", 'accepted', ...lists(named(upstreamDomains))),
  requirements(162, "below Kubernetes' domains", 'accepted', ...lists(named(below(upstreamDomains)))),
  requirements(174, 'well-known labels', 'accepted', ...lists(wellKnown)),
  requirements(187, 'lists that leave one value', 'accepted', overlapping),
  requirements(195, 'a label that is there', 'accepted', [requirement('test')]),
  requirements(205, 'numbers that Gt and Lt cannot take', 'refused', ...notNumbers('Gt', 'Lt')),
  requirements(221, 'numbers that Gte and Lte cannot take', 'refused', ...notNumbers('Gte', 'Lte')),
  same(
    238,
    'a price and an adjustment',
    judged(kind, 'refused', { 'spec.price': '0.432', 'spec.priceAdjustment': '+10%' }),
  ),
  ...price('a price that is none', 'refused', { 249: '+42', 250: '.5', 251: '42.', 252: '42%', 253: '3,14' }),
  ...price('a price that is none', 'refused', { 254: '1e10', 255: '0x42', 256: 'forty-two', 257: '42a', 258: '42 ' }),
  ...price('a price that is none', 'refused', { 259: ' 42', 260: '42.0.0', 261: '-', 262: '.', 263: '-100.0%' }),
  ...price('a price that is none', 'refused', { 264: '-101.1%', 265: '-129' }),
  ...price('no price', 'refused', { 322: '+42', 323: '.5', 324: '42.', 325: '42%', 326: '3,14', 327: '1e10' }),
  ...price('no price', 'refused', { 328: '0x42', 329: 'forty-two', 330: '42a', 331: '42 ', 332: ' 42' }),
  ...price('no price', 'refused', { 333: '42.0.0', 334: '-', 335: '.', 336: '-.42' }),
  ...price('a price', 'accepted', { 338: '43', 342: '34.43' }),
  ...adjustment('an adjustment without a sign', 'refused', { 267: '1%', 271: '1', 275: '1.3' }),
  ...adjustment('a percentage', 'accepted', { 279: '+1%', 283: '-1%', 287: '-100%', 291: '+100.102%', 295: '+298%' }),
  ...adjustment('an amount', 'accepted', { 299: '+43', 303: '-43', 307: '+34.43', 311: '-34.43' }),
  capacity(348, 'a custom resource', 'accepted', { 'smarter-devices/fuse': '1' }),
  capacity(355, 'CPU', 'refused', { cpu: '1' }),
  capacity(362, 'memory', 'refused', { memory: '34Gi' }),
  capacity(369, 'pods', 'refused', { pods: '324' }),
]);
