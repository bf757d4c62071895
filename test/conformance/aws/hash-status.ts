import type { EC2NodeClass } from '../../../api/aws/ec2-node-class.js';
import type { NodeClaim } from '../../../api/karpenter/node-claim.js';
import { annotations } from '../../../api/labels.js';
import { migratedHashes } from '../../../disruption/drift/drift.js';
import { resolveNodeClass } from '../../../operator/node-classes.js';
import { nodeClaim, nodePool } from '../../builders/activity-world.js';
import { ec2NodeClass } from '../../builders/aws-world.js';
import { about, gives, same, type Check, type ConformanceCase } from '../conformance-case.js';
import { inPlace, type Place } from './instances.js';

const kind = 'EC2NodeClass';
const [hash, version] = [annotations.ec2NodeClassHash, annotations.ec2NodeClassHashVersion];
const base = { amiFamily: 'Custom', amiSelectorTerms: [{ tags: { any: 'thing' } }] };
type Marks = Readonly<Record<string, string>>;
const marks = (of: string, at: string): Marks => ({ [hash]: of, [version]: at });

/** The node class with a spec, as the operator leaves it. */
async function written({ kube, deps }: Place, spec: object, old?: Marks): Promise<EC2NodeClass> {
  const made = ec2NodeClass({ ...base, ...spec });
  const [there] = kube.objects(kind);
  const known = there?.metadata.annotations ?? old;
  kube.put(kind, {
    ...made,
    metadata: { ...made.metadata, ...(known !== undefined && { annotations: { ...known } }) },
  });
  await resolveNodeClass(deps, kind, 'default');
  return kube.objects(kind)[0]!;
}
const hashOf = ({ metadata }: Pick<EC2NodeClass, 'metadata'>): string | undefined => metadata.annotations?.[hash];

/** Whether the change alters the hash annotation of the node class. */
const changes = (at: number, title: string, spec: object, expected: boolean): ConformanceCase =>
  same(
    at,
    title,
    inPlace(
      async (place) => {
        const [before, after] = [hashOf(await written(place, {})), hashOf(await written(place, spec))];
        return [typeof before, before !== after];
      },
      ['string', expected],
    ),
  );
/** Hash and version of a claim with these once the node class, whose own are old, was reconciled; its new hash is shown as `new`. */
const moves = (claim: Marks, expected: readonly (string | undefined)[], isDrifted = false): Check =>
  inPlace(async (place) => {
    const nodeClass = await written(place, {}, marks('abceduefed', 'test'));
    const conditions = isDrifted ? [{ type: 'Drifted', status: 'True' as const }] : [];
    const made = nodeClaim('c', { status: { conditions } });
    const given: NodeClaim = { ...made, metadata: { ...made.metadata, annotations: { ...claim } } };
    const found = { ...claim, ...migratedHashes(given, { pool: nodePool('default'), nodeClass }) };
    return [found[hash] === hashOf(nodeClass) ? 'new' : found[hash], versionOf(found, nodeClass)];
  }, expected);
const versionOf = (found: Marks, { metadata }: EC2NodeClass): string | undefined =>
  found[version] === metadata.annotations?.[version] ? 'current' : found[version];

/** The hash with one CA bundle and with another. */
const bundled = (caBundle: string): Promise<unknown> =>
  Promise.resolve(
    inPlace(async (place) => hashOf(await written(place, {})), undefined, { options: { caBundle } }).outcome(),
  );

/** pkg/controllers/nodeclass/hash/suite_test.go */
export const nodeClassHashStatusCases: readonly ConformanceCase[] = about('hash annotation of a node class', [
  changes(137, 'user data', { userData: 'userdata-test-2' }, true),
  changes(138, 'tags', { tags: { 'keyTag-test-3': 'valueTag-test-3' } }, true),
  changes(
    139,
    'disks',
    { blockDeviceMappings: [{ deviceName: 'map-device-test-3', ebs: { volumeSize: '4G' } }] },
    true,
  ),
  changes(140, 'detailed monitoring', { detailedMonitoring: true }, true),
  changes(141, 'metadata options', { metadataOptions: { httpEndpoint: 'disabled' } }, true),
  changes(142, 'the context', { context: 'context-2' }, true),
  changes(143, 'CPU options', { cpuOptions: { nestedVirtualization: 'enabled' } }, true),
  same(
    145,
    'changes with the CA bundle',
    gives(async () => {
      const [one, two] = [await bundled('b25l'), await bundled('dHdv')];
      return [typeof one, one !== two];
    }, ['string', true]),
  ),
  changes(
    164,
    'does not change with what selectors resolve to',
    {
      subnetSelectorTerms: [{ id: 'subnet-0test1' }],
      securityGroupSelectorTerms: [{ id: 'sg-0test1' }],
      amiSelectorTerms: [{ tags: { 'ami-test-key': 'ami-test-value' } }],
    },
    false,
  ),
  same(
    193,
    'of another version is written again',
    inPlace(
      async (place) => {
        const { metadata } = await written(place, {}, marks('abceduefed', 'test'));
        const [own, at] = [metadata.annotations?.[hash], metadata.annotations?.[version]];
        return [own !== undefined && own !== 'abceduefed', at !== undefined && at !== 'test'];
      },
      [true, true],
    ),
  ),
  same(208, 'of another version is written again for its claims', moves(marks('123456', 'test'), ['new', 'current'])),
  same(
    260,
    'of the current version is kept on claims',
    inPlace(async (place) => {
      const nodeClass = await written(place, {}, marks('abceduefed', 'test'));
      const made = nodeClaim('c');
      const own = marks('1234564654', nodeClass.metadata.annotations?.[version] ?? '');
      const claim: NodeClaim = { ...made, metadata: { ...made.metadata, annotations: { ...own } } };
      const { [hash]: moved } = { ...own, ...migratedHashes(claim, { pool: nodePool('default'), nodeClass }) };
      return moved;
    }, '1234564654'),
  ),
  same(296, 'of a drifted claim changes only its version', moves(marks('123456', 'test'), ['123456', 'current'], true)),
]);
