import { FieldError } from '../objects/check.js';
import { type Fields, metadataOf, type OldMetadata, present } from './fields.js';
import { lookUp } from '../../core/own.js';
import { parseQuantity } from '../../core/quantities.js';

type TagMap = Record<string, string>;

const mostTerms = 30;
const idKeys = ['aws-ids', 'aws::ids'];

const split = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** All combinations of one value for each key: old selectors separate alternatives by commas. */
function combinations(tags: TagMap, field: string): TagMap[] {
  let all: TagMap[] = [{}];
  for (const [key, value] of Object.entries(tags)) {
    // An empty value matched the key with any value.
    const values = value.trim() === '' ? ['*'] : split(value);
    all = all.flatMap((chosen) => values.map((one) => ({ ...chosen, [key]: one })));
    if (all.length > mostTerms) throw new FieldError(field, `at most ${mostTerms} combinations of values`, tags);
  }
  return all;
}

function byIds(selector: TagMap): { readonly ids: readonly string[]; readonly tags: TagMap } {
  const ids = idKeys.flatMap((key) => split(lookUp(selector, key) ?? ''));
  const tags = Object.fromEntries(Object.entries(selector).filter(([key]) => !idKeys.includes(key)));
  return { ids, tags };
}

/** Converts `subnetSelector` or `securityGroupSelector`, a map, to selector terms. */
function tagSelectorTerms(owner: Fields, name: string): { id?: string; tags?: TagMap }[] | undefined {
  const selector = owner.texts(name);
  if (selector === undefined) return undefined;
  const field = owner.at(name);
  const { ids, tags } = byIds(selector);
  owner.notes.changed(field, `becomes ${name}Terms`);
  if (ids.length === 0) return combinations(tags, field).map((chosen) => ({ tags: chosen }));
  reportDropped(owner, field, ids, tags);
  return ids.map((id) => ({ id }));
}

function reportDropped(owner: Fields, field: string, ids: readonly string[], others: TagMap): void {
  const dropped = Object.keys(others).join(', ');
  if (ids.length > 0 && dropped !== '') owner.notes.lost(field, `the ids decide, ${dropped} is dropped`);
}

/** Converts `amiSelector`, a map, to selector terms; undefined if it is empty. */
function convertAmiSelectorTerms(
  owner: Fields,
  name = 'amiSelector',
): { id?: string; name?: string; owner?: string; tags?: TagMap }[] | undefined {
  const selector = owner.texts(name);
  if (selector === undefined || Object.keys(selector).length === 0) return undefined;
  const field = owner.at(name);
  owner.notes.changed(field, 'becomes amiSelectorTerms');
  const { ids, tags: rest } = byIds(selector);
  reportDropped(owner, field, ids, rest);
  if (ids.length > 0) return ids.map((id) => ({ id }));
  const { 'aws::name': names = '', 'aws::owners': owners = '', ...tags } = rest;
  const places = split(owners).length === 0 ? [{}] : split(owners).map((one) => ({ owner: one }));
  const named = split(names).length === 0 ? [{}] : split(names).map((one) => ({ name: one }));
  const tagged = Object.keys(tags).length === 0 ? [{}] : combinations(tags, field).map((one) => ({ tags: one }));
  const terms = named.flatMap((each) =>
    places.flatMap((place) => tagged.map((tag) => ({ ...each, ...place, ...tag }))),
  );
  if (terms.length > mostTerms) throw new FieldError(field, `at most ${mostTerms} combinations of values`, selector);
  return terms;
}

const plain = /^[1-9][0-9]{0,4}(Gi|G|Ti|T)$/;
const gibi = 2 ** 30;

/** Block devices are kept; sizes are converted to whole Gi if v1 does not accept their unit. */
function convertBlockDeviceMappings(owner: Fields): object[] | undefined {
  return owner.objects('blockDeviceMappings')?.map((mapping) => {
    const ebs = mapping.object('ebs');
    const converted = present({
      deviceName: mapping.text('deviceName'),
      rootVolume: mapping.flag('rootVolume'),
      ebs: ebs === undefined ? undefined : volume(ebs),
    });
    mapping.finish();
    return converted;
  });
}

function volume(ebs: Fields): object {
  const size = volumeSize(ebs);
  const snapshotID = ebs.text('snapshotID');
  if (size === undefined && snapshotID === undefined) {
    ebs.notes.check(ebs.at('volumeSize'), 'v1 wants a size or a snapshot; 20Gi, the size that applied, is written');
  }
  const converted = present({
    deleteOnTermination: ebs.flag('deleteOnTermination'),
    encrypted: ebs.flag('encrypted'),
    iops: ebs.whole('iops'),
    kmsKeyID: ebs.text('kmsKeyID'),
    snapshotID,
    throughput: ebs.whole('throughput'),
    volumeInitializationRate: ebs.whole('volumeInitializationRate'),
    volumeSize: size ?? (snapshotID === undefined ? '20Gi' : undefined),
    volumeType: ebs.text('volumeType'),
  });
  ebs.finish();
  return converted;
}

function volumeSize(ebs: Fields): string | undefined {
  const size = ebs.take('volumeSize');
  if (size === undefined || (typeof size === 'string' && plain.test(size))) return size;
  let bytes: number;
  try {
    bytes = parseQuantity(size as string | number, 'volumeSize');
  } catch {
    throw new FieldError(ebs.at('volumeSize'), 'a size such as 20Gi', size);
  }
  const whole = `${Math.max(1, Math.ceil(bytes / gibi))}Gi`;
  ebs.notes.changed(ebs.at('volumeSize'), `${size as string | number} becomes ${whole}`);
  return whole;
}

/** Values that old objects take from settings of the controller. */
export interface IdentityDefaults {
  /** IAM role of the nodes. */
  readonly role?: string | undefined;
  readonly instanceProfile?: string | undefined;
  /** Tags that the controller set on all resources. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

type OldVersion = 'v1alpha1' | 'v1beta1' | 'v1';
type Tags = Record<string, string>;

const aliases: Readonly<Record<string, string>> = {
  AL2: 'al2@latest',
  AL2023: 'al2023@latest',
  Bottlerocket: 'bottlerocket@latest',
  Windows2019: 'windows2019@latest',
  Windows2022: 'windows2022@latest',
};
const families = [...Object.keys(aliases), 'Windows2025', 'Ubuntu', 'Custom'];
/** The default hop limit of instance metadata was two before v1, and is one in v1. */
const oldHopLimit = 2;
const canonical = '099720109477';
const discovery = 'karpenter.sh/discovery';

/** Converts an EC2NodeClass of an older version, or an AWSNodeTemplate, to v1. */
export function convertNodeClass(root: Fields, version: OldVersion, defaults: IdentityDefaults): object {
  const metadata = metadataOf(root);
  root.skip('apiVersion', 'kind', 'status');
  const spec = root.object('spec');
  if (spec === undefined) throw new FieldError('spec', 'an object', undefined);
  const converted = nodeClassFrom(metadata, nodeClassSpec(spec, version, defaults));
  root.finish();
  return converted;
}

export function nodeClassFrom(metadata: OldMetadata, spec: object): object {
  return { apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata, spec };
}

/** Converts `spec` of a node class, or a Provisioner's `spec.provider`. */
export function nodeClassSpec(spec: Fields, version: OldVersion, defaults: IdentityDefaults): object {
  dropLaunchTemplate(spec);
  const images = imagesOf(spec, version);
  const subnets = subnetTerms(spec, version);
  const groups = groupTerms(spec, subnets, version);
  const disks = convertBlockDeviceMappings(spec) ?? images.blockDeviceMappings;
  const converted = present({
    ...identity(spec, defaults, clusterOf([...subnets, ...groups]), version),
    amiFamily: images.amiFamily,
    amiSelectorTerms: images.amiSelectorTerms,
    subnetSelectorTerms: subnets,
    securityGroupSelectorTerms: groups,
    blockDeviceMappings: disks,
    metadataOptions: metadataOptions(spec, version),
    userData: spec.text('userData'),
    tags: tagsOf(spec, defaults),
    ...passedOn(spec),
  });
  spec.finish();
  return converted;
}

const passed = [
  'detailedMonitoring',
  'associatePublicIPAddress',
  'instanceStorePolicy',
  'context',
  'kubelet',
  'capacityReservationSelectorTerms',
  'placementGroupSelector',
  'networkInterfaces',
  'cpuOptions',
  'connectionTracking',
  'ipPrefixCount',
];

/** Fields that are unchanged in v1. */
function passedOn(spec: Fields): Record<string, unknown> {
  return Object.fromEntries(passed.map((name) => [name, spec.take(name)]));
}

function dropLaunchTemplate(spec: Fields): void {
  for (const name of ['launchTemplate', 'launchTemplateName']) {
    const template = spec.take(name);
    if (template === undefined) continue;
    const what = typeof template === 'string' ? ` ${template}` : '';
    const message = `launch template${what} cannot be used: write its image, user data, disks and groups into the node class`;
    spec.notes.lost(spec.at(name), message);
  }
}

interface Images {
  readonly amiSelectorTerms: readonly object[];
  readonly amiFamily?: string;
  readonly blockDeviceMappings?: object[];
}

/** Reports a missing required field. If the object is a patch, a default would overwrite the field of its target. */
function missing(spec: Fields, name: string, what: string, version: OldVersion): void {
  const wanted = `${what}, as ${version} requires of a whole object (render patches first)`;
  spec.notes.problem(new FieldError(spec.at(name), wanted, undefined));
}

function reportMissingFamily(spec: Fields, version: OldVersion): void {
  if (version === 'v1beta1') missing(spec, 'amiFamily', 'an image family', version);
  else if (version === 'v1') missing(spec, 'amiSelectorTerms', 'selector terms', version);
  else spec.notes.check(spec.at('amiFamily'), 'is missing; AL2, which was the default, is written');
}

function imagesOf(spec: Fields, version: OldVersion): Images {
  const family = spec.text('amiFamily');
  if (family !== undefined && !families.includes(family)) {
    throw new FieldError(spec.at('amiFamily'), `one of ${families.join(', ')}`, family);
  }
  const listed = listedTerms(spec, 'amiSelectorTerms');
  const terms = convertAmiSelectorTerms(spec) ?? listed;
  if (family === 'Ubuntu') return ubuntu(spec, terms);
  const aliased = terms?.some((term) => (term as { alias?: unknown }).alias !== undefined) === true;
  if (terms !== undefined && (family !== undefined || aliased)) {
    return { amiSelectorTerms: terms, ...(family === undefined ? {} : { amiFamily: family }) };
  }
  if (family === undefined) reportMissingFamily(spec, version);
  const chosen = family ?? 'AL2';
  if (terms !== undefined) return { amiSelectorTerms: terms, amiFamily: chosen };
  const alias = lookUp(aliases, chosen);
  if (alias === undefined) {
    throw new FieldError(spec.at('amiSelectorTerms'), `terms that select an image of family ${chosen}`, undefined);
  }
  spec.notes.changed(spec.at('amiFamily'), `${chosen} becomes amiSelectorTerms with alias ${alias}`);
  if (chosen === 'AL2')
    spec.notes.check(spec.at('amiSelectorTerms'), 'there are AL2 images up to Kubernetes 1.32 only');
  return { amiSelectorTerms: [{ alias }] };
}

/** v1 has no Ubuntu family: Ubuntu images for EKS use AL2's user data, with another disk. */
function ubuntu(spec: Fields, terms: readonly unknown[] | undefined): Images {
  spec.notes.check(spec.at('amiFamily'), 'v1 knows no Ubuntu: AL2, whose user data its images understand, is written');
  const own = [{ name: 'ubuntu-eks/k8s_*', owner: canonical }];
  if (terms === undefined) {
    spec.notes.check(spec.at('amiSelectorTerms'), "Canonical's EKS images by name; narrow it to one release");
  }
  return {
    amiFamily: 'AL2',
    amiSelectorTerms: (terms ?? own) as object[],
    blockDeviceMappings: [
      { deviceName: '/dev/sda1', rootVolume: true, ebs: { encrypted: true, volumeSize: '20Gi', volumeType: 'gp3' } },
    ],
  };
}

type Term = { readonly id?: string; readonly tags?: Tags };

function listedTerms(spec: Fields, name: string): readonly Term[] | undefined {
  const terms = spec.records(name);
  return terms === undefined || terms.length === 0 ? undefined : terms;
}

function subnetTerms(spec: Fields, version: OldVersion): readonly Term[] {
  const found = tagSelectorTerms(spec, 'subnetSelector');
  const terms = found === undefined || found.length === 0 ? listedTerms(spec, 'subnetSelectorTerms') : found;
  if (terms !== undefined) return terms;
  if (version !== 'v1alpha1') missing(spec, 'subnetSelectorTerms', 'selector terms', version);
  spec.notes.check(spec.at('subnetSelectorTerms'), `is missing; subnets tagged ${discovery}=CLUSTER_NAME are written`);
  return [{ tags: { [discovery]: 'CLUSTER_NAME' } }];
}

/** A launch template contained the security groups: without it they are found by the same tags as subnets. */
function groupTerms(spec: Fields, subnets: readonly Term[], version: OldVersion): readonly Term[] {
  const found = tagSelectorTerms(spec, 'securityGroupSelector');
  const terms = found === undefined || found.length === 0 ? listedTerms(spec, 'securityGroupSelectorTerms') : found;
  if (terms !== undefined) return terms;
  if (version !== 'v1alpha1') missing(spec, 'securityGroupSelectorTerms', 'selector terms', version);
  const tag = discoveryTags(subnets)[0] ?? 'CLUSTER_NAME';
  spec.notes.check(spec.at('securityGroupSelectorTerms'), `is missing; groups tagged ${discovery}=${tag} are written`);
  return [{ tags: { [discovery]: tag } }];
}

const discoveryTags = (terms: readonly Term[]): string[] =>
  terms.flatMap(({ tags }) => (tags?.[discovery] === undefined ? [] : [tags[discovery]]));

/** Tag values that only mean that the tag exists. */
const noName = /^(true|yes|owned|shared|enabled|1|)$|[*?{]/i;

/** The cluster's name, from the discovery tag of Karpenter's guides. */
function clusterOf(terms: readonly Term[]): string {
  return discoveryTags(terms).find((tag) => !noName.test(tag)) ?? 'CLUSTER_NAME';
}

function identity(
  spec: Fields,
  defaults: IdentityDefaults,
  cluster: string,
  version: OldVersion,
): { role?: string; instanceProfile?: string } {
  const role = spec.text('role');
  const instanceProfile = spec.text('instanceProfile');
  if (role !== undefined || instanceProfile !== undefined) return present({ role, instanceProfile });
  if (defaults.role !== undefined) return { role: defaults.role };
  if (defaults.instanceProfile !== undefined) {
    spec.notes.changed(spec.at('instanceProfile'), `${defaults.instanceProfile}, from the controller's settings`);
    return { instanceProfile: defaults.instanceProfile };
  }
  if (version !== 'v1alpha1') missing(spec, 'role', 'a role or an instanceProfile (--role says one)', version);
  const guess = `KarpenterNodeRole-${cluster}`;
  const message = `neither role nor instanceProfile is given; ${guess}, the name of Karpenter's guides, is written (--role says another)`;
  spec.notes.check(spec.at('role'), message);
  return { role: guess };
}

function metadataOptions(spec: Fields, version: OldVersion): object | undefined {
  const options = spec.object('metadataOptions');
  const httpPutResponseHopLimit = options?.whole('httpPutResponseHopLimit');
  const hops = httpPutResponseHopLimit ?? (version === 'v1' ? undefined : oldHopLimit);
  if (httpPutResponseHopLimit === undefined && hops !== undefined) {
    spec.notes.changed(`${spec.at('metadataOptions')}.httpPutResponseHopLimit`, 'written as 2: v1 would default to 1');
  }
  const converted = present({
    httpEndpoint: options?.text('httpEndpoint'),
    httpProtocolIPv6: options?.text('httpProtocolIPv6'),
    httpPutResponseHopLimit: hops,
    httpTokens: options?.text('httpTokens'),
  });
  options?.finish();
  return converted;
}

const ownTags = [
  'eks:eks-cluster-name',
  'karpenter.sh/nodepool',
  'karpenter.sh/nodeclaim',
  'karpenter.sh/provisioner-name',
  'karpenter.k8s.aws/ec2nodeclass',
];

function tagsOf(spec: Fields, defaults: IdentityDefaults): Tags {
  const tags: Tags = { ...defaults.tags, ...spec.texts('tags') };
  return Object.fromEntries(
    Object.entries(tags).filter(([key]) => {
      const own = ownTags.includes(key) || key.startsWith('kubernetes.io/cluster');
      if (own) spec.notes.lost(`${spec.at('tags')}.${key}`, 'the system sets this tag itself');
      return !own;
    }),
  );
}
