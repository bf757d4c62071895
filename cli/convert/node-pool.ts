import { hashText } from '../../core/hash.js';
import { FieldError } from '../objects/check.js';
import { convertDisruption, type OldDisruption } from './disruption.js';
import { asText, Fields, metadataOf, type Notes, type OldMetadata, present } from './fields.js';
import { type IdentityDefaults, nodeClassFrom, nodeClassSpec } from './node-class.js';
import { labelDomain } from '../../api/karpenter/requirements.js';
import { understoodKubeletFields } from '../../api/aws/kubelet-fields.js';
import { awsLabelDomain, awsLabels } from '../../api/aws/labels.js';
import { labels } from '../../api/labels.js';
import { textOf } from '../objects/read-documents.js';
import { lookUp } from '../../core/own.js';

const knownKeys: readonly string[] = [labels.capacityType, ...Object.values(awsLabels), labels.ec2NodeClass];

/** Why a v1 NodePool may not use a label; undefined if it may. */
function whyBanned(key: string): string | undefined {
  if (key === labels.hostname || key === 'karpenter.sh/provisioner-name' || key === labels.nodePool) {
    return 'the system sets this label itself';
  }
  const domain = labelDomain(key);
  const reserved = domain.endsWith('karpenter.sh') || domain.endsWith(awsLabelDomain);
  return reserved && !knownKeys.includes(key) ? 'v1 knows no such label' : undefined;
}

/** Labels for the nodes, without those reserved in v1. */
function convertTemplateLabels(
  given: Record<string, string> | undefined,
  field: string,
  notes: Notes,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given ?? {}).filter(([key]) => {
      const why = whyBanned(key);
      if (why !== undefined) notes.lost(`${field}.${key}`, why);
      return why === undefined;
    }),
  );
}

const oldAnnotations: Readonly<Record<string, string>> = {
  'karpenter.sh/do-not-consolidate': 'karpenter.sh/do-not-disrupt',
  'karpenter.sh/do-not-evict': 'karpenter.sh/do-not-disrupt',
};

function templateAnnotations(
  given: Record<string, string> | undefined,
  field: string,
  notes: Notes,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(given ?? {}).map(([key, value]) => {
      const now = lookUp(oldAnnotations, key);
      if (now !== undefined) notes.changed(`${field}.${key}`, `becomes ${now}`);
      return [now ?? key, value];
    }),
  );
}

interface OldRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
  readonly minValues?: number;
}

/** Requirements with string values, without those that v1 cannot express. */
function requirements(owner: Fields, presence?: 'required'): OldRequirement[] {
  const kept: OldRequirement[] = [];
  const given = owner.objects('requirements');
  if (given === undefined && presence === 'required') {
    const wanted = 'a list, as NodePools require (render patches first; [] asks for nothing)';
    owner.notes.problem(new FieldError(owner.at('requirements'), wanted, undefined));
  }
  for (const requirement of given ?? []) {
    const key = requirement.text('key') ?? '';
    const values = requirement
      .list('values')
      ?.map((value, i) => asText(value, `${requirement.at('values')}[${i}]`, requirement.notes));
    const why = whyBanned(key);
    const converted = {
      key,
      operator: requirement.text('operator') ?? '',
      ...present({ values, minValues: requirement.whole('minValues') }),
    };
    requirement.finish();
    if (why === undefined) kept.push(converted);
    else owner.notes.lost(requirement.path, `${key}: ${why}`);
  }
  return kept;
}

const defaultKeys = [
  labels.instanceType,
  awsLabels.instanceFamily,
  awsLabels.instanceCategory,
  awsLabels.instanceGeneration,
];

/** The implicit default requirements of a Provisioner, which NodePools do not have. */
function withProvisionerDefaults(
  given: readonly OldRequirement[],
  own: Readonly<Record<string, string>>,
  notes: Notes,
): OldRequirement[] {
  const has = (key: string): boolean =>
    lookUp(own, key) !== undefined || given.some((requirement) => requirement.key === key);
  const added: OldRequirement[] = [];
  if (!has(labels.os)) added.push({ key: labels.os, operator: 'In', values: ['linux'] });
  if (!has(labels.arch)) added.push({ key: labels.arch, operator: 'In', values: ['amd64'] });
  if (!has(labels.capacityType)) added.push({ key: labels.capacityType, operator: 'In', values: ['on-demand'] });
  if (!defaultKeys.some(has)) {
    added.push({ key: awsLabels.instanceCategory, operator: 'In', values: ['c', 'm', 'r'] });
    added.push({ key: awsLabels.instanceGeneration, operator: 'Gt', values: ['2'] });
  }
  for (const { key, operator, values } of added) {
    notes.changed(
      'spec.requirements',
      `${key} ${operator} ${values?.join(', ') ?? ''}, the default of a Provisioner, is written out`,
    );
  }
  return [...given, ...added];
}

/** Kubelet settings, which v1 has in the node class. */
function kubeletOf(owner: Fields, name: string): Record<string, unknown> | undefined {
  const kubelet = owner.object(name);
  if (kubelet === undefined) return undefined;
  if (kubelet.has('containerRuntime')) {
    kubelet.notes.lost(
      kubelet.at('containerRuntime'),
      `${textOf(kubelet.take('containerRuntime'))}: nodes run containerd`,
    );
  }
  const settings: Record<string, unknown> = {};
  for (const field of understoodKubeletFields) {
    const value = kubelet.take(field);
    if (value !== undefined) settings[field] = value;
  }
  kubelet.finish();
  return Object.keys(settings).length === 0 ? undefined : settings;
}

/** A converted NodePool; the name of its node class may still change. */
export interface ConvertedPool {
  readonly pool: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: OldMetadata;
    readonly spec: { readonly template: { readonly spec: { nodeClassRef: { name: string } } } };
  };
  /** Additional objects for what a v1 NodePool cannot express. */
  readonly others: readonly object[];
  /** Kubelet settings to move to the pool's node class. */
  readonly kubelet?: Record<string, unknown>;
}

const policyLabel = 'stowage.dev/disruption-policy';

interface Parts {
  readonly metadata: OldMetadata;
  readonly spec: Fields;
  readonly templateMetadata: object;
  readonly templateSpec: object;
  readonly disruption: OldDisruption;
  readonly limits: Record<string, string | number> | undefined;
}

/** Converts a NodePool of v1beta1, or one of v1 with older fields. */
export function convertNodePool(root: Fields, version: 'v1beta1' | 'v1'): ConvertedPool {
  const metadata = metadataOf(root);
  root.skip('apiVersion', 'kind', 'status');
  const spec = root.object('spec');
  const template = spec?.object('template');
  const inner = template?.object('spec');
  if (spec === undefined || template === undefined || inner === undefined) {
    throw new FieldError('spec.template.spec', 'an object', undefined);
  }
  const disruption = convertDisruption(spec, version);
  const labels = template.object('metadata');
  // Set only by controllers.
  if (inner.take('resources') !== undefined)
    inner.notes.lost(inner.at('resources'), 'packing decides what a node is asked for');
  const kubelet = kubeletOf(inner, 'kubelet') ?? kubeletOf(inner, 'kubeletConfiguration');
  const own = inner.text('expireAfter');
  if (own !== undefined && disruption.expireAfter !== undefined) {
    spec.notes.lost('spec.disruption.expireAfter', `spec.template.spec.expireAfter ${own} is used instead`);
  }
  const templateSpec = present({
    taints: inner.list('taints'),
    startupTaints: inner.list('startupTaints'),
    expireAfter: own ?? disruption.expireAfter,
    terminationGracePeriod: inner.text('terminationGracePeriod'),
  });
  const parts: Parts = {
    metadata,
    spec,
    templateMetadata: present({
      labels: convertTemplateLabels(labels?.texts('labels'), 'spec.template.metadata.labels', spec.notes),
      annotations: templateAnnotations(labels?.texts('annotations'), 'spec.template.metadata.annotations', spec.notes),
    }),
    templateSpec: { requirements: requirements(inner, 'required'), nodeClassRef: nodeClassRef(inner), ...templateSpec },
    disruption,
    limits: limitsOf(spec),
  };
  labels?.finish();
  inner.finish();
  template.finish();
  const converted = assemble(parts, version);
  root.finish();
  return { ...converted, ...(kubelet === undefined ? {} : { kubelet }) };
}

/** Converts a Provisioner of v1alpha5: the pool, and the node class for its `provider` if it has one. */
export function convertProvisioner(root: Fields, defaults: IdentityDefaults): ConvertedPool {
  const metadata = metadataOf(root);
  root.skip('apiVersion', 'kind', 'status');
  const spec = root.object('spec');
  if (spec === undefined) throw new FieldError('spec', 'an object', undefined);
  spec.notes.changed('', 'becomes a NodePool of karpenter.sh/v1');
  const labels = convertTemplateLabels(spec.texts('labels'), 'spec.labels', spec.notes);
  const kubelet = kubeletOf(spec, 'kubeletConfiguration');
  const disruption = convertDisruption(spec, 'v1alpha5');
  const { name, nodeClass } = provisionerClass(spec, metadata, defaults);
  const parts: Parts = {
    metadata,
    spec,
    templateMetadata: present({
      labels,
      annotations: templateAnnotations(spec.texts('annotations'), 'spec.annotations', spec.notes),
    }),
    templateSpec: {
      requirements: withProvisionerDefaults(requirements(spec), labels, spec.notes),
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name },
      ...present({
        taints: spec.list('taints'),
        startupTaints: spec.list('startupTaints'),
        expireAfter: disruption.expireAfter,
      }),
    },
    disruption,
    limits: limitsOf(spec),
  };
  const converted = assemble(parts, 'v1alpha5');
  root.finish();
  return {
    pool: converted.pool,
    others: [...(nodeClass === undefined ? [] : [nodeClass]), ...converted.others],
    ...(kubelet === undefined ? {} : { kubelet }),
  };
}

function assemble({ metadata, spec, ...parts }: Parts, version: string): Pick<ConvertedPool, 'pool' | 'others'> {
  const { disruption } = parts;
  const weight = spec.whole('weight');
  const replicas = spec.whole('replicas');
  const { policy, label } = policyOf(metadata.name, disruption.rates);
  const template = {
    ...(Object.keys(parts.templateMetadata).length === 0 ? {} : { metadata: parts.templateMetadata }),
    spec: parts.templateSpec as { nodeClassRef: { name: string } },
  };
  const optional = present({
    disruption: disruption.disruption,
    limits: parts.limits,
    weight: weight === 0 && version !== 'v1' ? undefined : weight,
    replicas,
  });
  spec.finish();
  const labels = label === undefined ? metadata.labels : { ...metadata.labels, [policyLabel]: label };
  return {
    pool: {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { ...metadata, ...(labels === undefined ? {} : { labels }) },
      spec: { template, ...optional },
    },
    others: policy === undefined ? [] : [policy],
  };
}

/** A policy selects pools by label, so the pool gets one. */
function policyOf(pool: string, rates: OldDisruption['rates']): { policy?: object; label?: string } {
  if (rates.length === 0) return {};
  const label = pool.length <= 63 ? pool : hashText(pool);
  const policy = {
    apiVersion: 'stowage.dev/v1alpha1',
    kind: 'DisruptionPolicy',
    metadata: { name: pool },
    spec: { nodePoolSelector: { matchLabels: { [policyLabel]: label } }, rates },
  };
  return { policy, label };
}

function limitsOf(spec: Fields): Record<string, string | number> | undefined {
  const limits = spec.take('limits');
  if (limits === undefined) return undefined;
  const wrapped = typeof limits === 'object' && limits !== null && 'resources' in limits;
  const holder = wrapped ? spec.amountsOwner('spec.limits', limits) : spec.amountsOwner('spec', { limits });
  if (wrapped) spec.notes.changed('spec.limits.resources', 'becomes spec.limits');
  return holder.amounts(wrapped ? 'resources' : 'limits');
}

function nodeClassRef(inner: Fields): { group: string; kind: string; name: string } {
  const given = inner.object('nodeClassRef');
  if (given === undefined)
    inner.notes.problem(new FieldError(inner.at('nodeClassRef'), 'a reference to a node class', undefined));
  const ref = given ?? Fields.of({}, inner.at('nodeClassRef'), inner.notes);
  const apiVersion = ref.text('apiVersion');
  const said = ref.text('group') ?? apiVersion;
  const group = said?.split('/')[0] ?? 'karpenter.k8s.aws';
  const kind = ref.text('kind') ?? 'EC2NodeClass';
  if (apiVersion !== undefined) ref.notes.changed(ref.at('apiVersion'), `becomes group ${group}`);
  else if (said !== group)
    ref.notes.changed(ref.at('group'), `written as ${group}${said === undefined ? '' : ', without a version'}`);
  if (!ref.has('kind')) ref.notes.changed(ref.at('kind'), `written as ${kind}`);
  const name = given === undefined ? '' : nameIn(ref);
  ref.finish();
  return { group, kind: kind === 'AWSNodeTemplate' ? 'EC2NodeClass' : kind, name };
}

function nameIn(ref: Fields): string {
  const name = ref.text('name') ?? '';
  if (name === '') ref.notes.problem(new FieldError(ref.at('name'), 'a name', undefined));
  return name;
}

function provisionerClass(
  spec: Fields,
  metadata: OldMetadata,
  defaults: IdentityDefaults,
): { readonly name: string; readonly nodeClass?: object } {
  const ref = spec.object('providerRef');
  const provider = spec.object('provider');
  if (ref !== undefined) {
    ref.skip('apiVersion', 'kind');
    const name = nameIn(ref);
    spec.notes.changed('spec.providerRef', `becomes nodeClassRef to EC2NodeClass ${name}`);
    ref.finish();
    if (provider !== undefined) spec.notes.lost('spec.provider', 'spec.providerRef decides');
    return { name };
  }
  if (provider === undefined) {
    spec.notes.check('spec.providerRef', 'is missing; EC2NodeClass default is referred to');
    return { name: 'default' };
  }
  provider.skip('apiVersion', 'kind');
  spec.notes.changed('spec.provider', `becomes EC2NodeClass ${metadata.name}`);
  return {
    name: metadata.name,
    nodeClass: nodeClassFrom({ name: metadata.name }, nodeClassSpec(provider, 'v1alpha1', defaults)),
  };
}
