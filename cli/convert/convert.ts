import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, parseDocument, stringify, visit } from 'yaml';
import { customResourceOf } from '../../api/crds.js';
import { ec2NodeClassKubeletVerdict } from '../../api/aws/node-class-rules.js';
import { kubeletFields, understoodKubeletFields } from '../../api/aws/kubelet-fields.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { KubernetesObject } from '../../api/kubernetes.js';
import type { OpenApiSchema } from '../../api/schema/openapi.js';
import type { Resource } from '../../api/schema/resource.js';
import { kubeletAnnotation, kubeletInAnnotation, nodePoolIssues } from '../../api/karpenter/node-pool-rules.js';
import { counted, cutText } from '../../core/text.js';
import { canonicalJson } from '../../core/hash.js';
import { FieldError } from '../objects/check.js';
import { isRecord, textOf } from '../objects/read-documents.js';
import type { InputObject, InputText } from './documents.js';
import { asText, Fields, type Note, Notes } from './fields.js';
import { convertNodeClass, type IdentityDefaults } from './node-class.js';
import { type ConvertedPool, convertNodePool, convertProvisioner } from './node-pool.js';
import { lookUp } from '../../core/own.js';

const renamed: Readonly<Record<string, string>> = {
  'karpenter.sh/do-not-evict': 'karpenter.sh/do-not-disrupt',
  'karpenter.sh/do-not-consolidate': 'karpenter.sh/do-not-disrupt',
  'karpenter.sh/provisioner-name': 'karpenter.sh/nodepool',
};

/** Fields whose value is a label key. */
const namingFields: ReadonlySet<unknown> = new Set(['key', 'topologyKey']);

/** Whether a text may contain a renamed key. */
function namesOldKeys(text: string): boolean {
  return Object.keys(renamed).some((key) => text.includes(key));
}

/** Renames Karpenter's old annotations and labels in any other object. Comments and formatting are kept. */
function renameKeys(text: string, notes: Notes): string {
  const document = parseDocument(text);
  visit(document, {
    Pair(_, { key, value }, path) {
      if (!isScalar(key)) return;
      const now = lookUp(renamed, String(key.value));
      const holder = path.at(-1);
      if (now !== undefined && isMap(holder)) {
        notes.changed('', `${String(key.value)} becomes ${now}`);
        if (holder.has(now)) holder.delete(key.value);
        else key.value = now;
      } else if (namingFields.has(key.value) && isScalar(value) && lookUp(renamed, String(value.value)) !== undefined) {
        notes.changed('', `${String(value.value)} becomes ${lookUp(renamed, String(value.value)) ?? ''}`);
        value.value = lookUp(renamed, String(value.value));
      }
    },
  });
  return document.toString({ lineWidth: 0 });
}

interface Conversion {
  /** YAML documents, in input order. */
  readonly documents: readonly string[];
  readonly notes: readonly Note[];
  /** Objects that are missing from the documents, and why: place, object and field. */
  readonly problems: readonly string[];
}

/** An object of the output, until it is known whether it changed. */
interface ConvertedObject {
  readonly input: InputObject;
  readonly notes: Notes;
  /** The objects in v1: first that of the input, then additional ones. */
  readonly objects: object[];
  readonly pool?: ConvertedPool;
}

type Outcome = ConvertedObject | { readonly text: string; readonly notes?: Notes };

/** Whether an object is one of Karpenter's, in any version. */
export function isKarpenters(value: unknown): boolean {
  return isRecord(value) && converterOf(value) !== undefined;
}

/**
 * Converts objects of older Karpenter APIs to v1, with a DisruptionPolicy where v1 has no equivalent; other objects
 * stay unchanged. What cannot be converted is omitted and reported as a problem.
 */
export function convertObjects(inputs: readonly (InputObject | InputText)[], given: IdentityDefaults): Conversion {
  const defaults = withSettings(inputs, given);
  const outcomes = inputs.map((input): Outcome => ('value' in input ? convertOne(input, defaults) : input));
  const drafts = outcomes.filter((outcome): outcome is ConvertedObject => 'objects' in outcome);
  placeKubelets(drafts.filter(({ notes }) => notes.problems.size === 0));
  const documents = outcomes.flatMap((outcome) => ('objects' in outcome ? written(outcome) : [outcome.text]));
  return {
    documents,
    notes: outcomes.flatMap(({ notes }) => (notes === undefined || notes.problems.size > 0 ? [] : notes.all)),
    problems: drafts.flatMap(({ input, notes }) =>
      [...notes.problems.values()].map((problem) => `${input.where}: ${kindAndName(input.value)}: ${problem}`),
    ),
  };
}

type Converter = (root: Fields, defaults: IdentityDefaults) => Omit<ConvertedObject, 'input' | 'notes'>;

const poolObjects = (pool: ConvertedPool): ReturnType<Converter> => ({ pool, objects: [pool.pool, ...pool.others] });

const converters: Readonly<Record<string, Converter>> = {
  'karpenter.sh/v1alpha5 Provisioner': (root, defaults) => poolObjects(convertProvisioner(root, defaults)),
  'karpenter.sh/v1beta1 NodePool': (root) => poolObjects(convertNodePool(root, 'v1beta1')),
  'karpenter.sh/v1 NodePool': (root) => poolObjects(convertNodePool(root, 'v1')),
  'karpenter.k8s.aws/v1alpha1 AWSNodeTemplate': (root, defaults) => ({
    objects: [convertNodeClass(root, 'v1alpha1', defaults)],
  }),
  'karpenter.k8s.aws/v1beta1 EC2NodeClass': (root, defaults) => ({
    objects: [convertNodeClass(root, 'v1beta1', defaults)],
  }),
  'karpenter.k8s.aws/v1 EC2NodeClass': (root, defaults) => ({ objects: [convertNodeClass(root, 'v1', defaults)] }),
};

/** Objects created by controllers, which create those of the new version too. */
const leftOut: Readonly<Record<string, string>> = {
  'karpenter.sh/v1alpha5 Machine': 'left out: a NodeClaim is made for each node',
  'karpenter.sh/v1beta1 NodeClaim': 'left out: the API server serves running NodeClaims as v1',
};

function typeOf(value: Record<string, unknown>): string {
  return `${textOf(value['apiVersion'])} ${textOf(value['kind'])}`;
}

function converterOf(value: Record<string, unknown>): Converter | undefined {
  return lookUp(converters, typeOf(value));
}

function kindAndName(value: Record<string, unknown>): string {
  const metadata = value['metadata'];
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  const kind = typeof value['kind'] === 'string' ? value['kind'] : 'object';
  return cutText(`${kind} ${typeof name === 'string' ? name : '(no name)'}`, 300);
}

const karpenterGroups = ['karpenter.sh', 'karpenter.k8s.aws'];
const oldVersions = /karpenter\.(sh|k8s\.aws)\/v1(alpha|beta)\d/;

function convertOne(input: InputObject, defaults: IdentityDefaults): Outcome {
  const { value, where } = input;
  const notes = new Notes(where, kindAndName(value));
  if (input.opensLastLine)
    notes.check('', 'the file ends without a line break: its last text is read without one, where kubectl adds one');
  const convert = converterOf(value);
  if (convert !== undefined) {
    reportTemplates(value, '', notes);
    return { input, notes, ...convertedBy(convert, new Fields(value, '', notes), defaults) };
  }
  const why = lookUp(leftOut, typeOf(value));
  if (why !== undefined) {
    notes.lost('', why);
    return { input, notes, objects: [] };
  }
  reportUnconverted(value, notes);
  const text = input.text ?? yaml(value);
  return { text: namesOldKeys(text) ? renameKeys(text, notes) : text, notes };
}

function convertedBy(convert: Converter, root: Fields, defaults: IdentityDefaults): ReturnType<Converter> {
  try {
    return convert(root, defaults);
  } catch (error) {
    if (!(error instanceof FieldError)) throw error;
    root.notes.problem(error);
    return { objects: [] };
  }
}

/**
 * Names and roles from templates would pass validation unfilled. User data is excluded: it is a script with variables.
 */
function reportTemplates(value: unknown, path: string, notes: Notes): void {
  if (typeof value === 'string' && value.includes('{{'))
    notes.problem(
      new FieldError(path, 'a text, and this looks like a Helm template: use what `helm template` prints', value),
    );
  else if (isUnfilled(value))
    notes.check(path, `${JSON.stringify(value)} is filled in later: convert that, or check it then`);
  if (value === null || typeof value !== 'object') return;
  for (const [name, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    if (name !== 'userData' && name !== 'annotations') reportTemplates(inner, at, notes);
  }
}

function isUnfilled(value: unknown): boolean {
  return typeof value === 'string' && value.includes('${');
}

/** Reports unknown objects of Karpenter, and other objects that contain older ones. */
function reportUnconverted(value: Record<string, unknown>, notes: Notes): void {
  const [group = '', version = ''] = textOf(value['apiVersion']).split('/');
  const kind = textOf(value['kind']);
  if (karpenterGroups.includes(group) && customResourceOf(`${group}/${version}`, kind) === undefined) {
    const known = Object.keys(converters).filter((type) => type.endsWith(` ${kind}`));
    const others = known.length === 0 ? '' : `; ${known.join(' and ')} ${known.length === 1 ? 'is' : 'are'}`;
    notes.lost('', `not converted: ${group}/${version} ${kind} is not read${others}`);
    return;
  }
  const patched = [...patchedKinds(value['patches']), ...patchedKinds(value['patchesJson6902'])];
  for (const what of new Set(patched))
    notes.check('', `not converted: a patch of ${what}: render it first, and convert what comes out`);
  if (patched.length === 0 && oldVersions.test(JSON.stringify(value)))
    notes.check(
      '',
      'not converted: it holds objects of an older Karpenter: render it first, and convert what comes out',
    );
}

/** Kinds of older Karpenter objects that Kustomize patches target. */
function patchedKinds(patches: unknown): string[] {
  return (Array.isArray(patches) ? patches : []).flatMap((patch: unknown) => {
    const target = isRecord(patch) ? patch['target'] : undefined;
    if (!isRecord(target)) return [];
    const [group, version, kind] = [textOf(target['group']), textOf(target['version']), textOf(target['kind'])];
    const isOld = karpenterGroups.includes(group) && target['version'] !== undefined && version !== 'v1';
    const isOldKind = kind === 'Provisioner' || kind === 'AWSNodeTemplate';
    return isOld || isOldKind ? [target['version'] === undefined ? kind : `${kind} ${version}`] : [];
  });
}

/** The former settings in ConfigMap karpenter-global-settings, if the input has it. */
function withSettings(inputs: readonly (InputObject | InputText)[], given: IdentityDefaults): IdentityDefaults {
  const settings = inputs
    .map((input) => ('value' in input ? input.value : {}))
    .find((value) => typeOf(value) === 'v1 ConfigMap' && kindAndName(value) === 'ConfigMap karpenter-global-settings');
  const data = settings?.['data'];
  if (!isRecord(data)) return given;
  const tags = Object.entries(data)
    .filter(([key]) => key.startsWith('aws.tags.'))
    .map(([key, value]) => [key.slice('aws.tags.'.length), textOf(value)]);
  const profile = data['aws.defaultInstanceProfile'];
  return {
    tags: Object.fromEntries(tags) as Record<string, string>,
    ...(typeof profile === 'string' && profile !== '' ? { instanceProfile: profile } : {}),
    ...given,
  };
}

interface ConvertedClass {
  readonly metadata: { readonly name: string };
  readonly spec: { kubelet?: object };
}

/**
 * Moves kubelet settings from pools to their node classes. Pools that share a node class but not the settings get
 * separate copies of it.
 */
function placeKubelets(drafts: readonly ConvertedObject[]): void {
  for (const name of new Set(drafts.flatMap(({ pool }) => (pool === undefined ? [] : [classNameOf(pool)])))) {
    const pools = drafts.filter(({ pool }) => pool !== undefined && classNameOf(pool) === name);
    if (pools.every(({ pool }) => pool?.kubelet === undefined)) continue;
    const owner = drafts.find(({ objects }) => objects.some((object) => isClass(object, name)));
    const nodeClass = owner?.objects.find((object): object is ConvertedClass => isClass(object, name));
    if (owner === undefined || nodeClass === undefined) reportLost(pools, name);
    else place(pools, owner, nodeClass);
  }
}

function place(pools: readonly ConvertedObject[], owner: ConvertedObject, nodeClass: ConvertedClass): void {
  const own = nodeClass.spec.kubelet;
  const wanted = new Set(pools.map(({ pool }) => canonicalJson(pool?.kubelet ?? own ?? {})));
  if (wanted.size === 1) {
    nodeClass.spec.kubelet = pools[0]!.pool!.kubelet!;
    for (const { notes } of pools) notes.changed('spec.kubelet', `moves to EC2NodeClass ${nodeClass.metadata.name}`);
    owner.notes.changed('spec.kubelet', 'taken from the pools');
    return;
  }
  for (const { pool, notes } of pools) {
    if (pool?.kubelet === undefined) continue;
    const name = `${nodeClass.metadata.name}-${pool.pool.metadata.name}`;
    owner.objects.push({
      ...structuredClone(nodeClass),
      metadata: { ...nodeClass.metadata, name },
      spec: { ...structuredClone(nodeClass.spec), kubelet: pool.kubelet },
    });
    pool.pool.spec.template.spec.nodeClassRef.name = name;
    notes.changed(
      'spec.kubelet',
      `goes into a copy of the node class, EC2NodeClass ${name}: other pools want other settings`,
    );
    owner.notes.changed('', `copied as ${name} for NodePool ${pool.pool.metadata.name}`);
  }
}

function reportLost(pools: readonly ConvertedObject[], name: string): void {
  for (const { pool, notes } of pools) {
    if (pool?.kubelet === undefined) continue;
    const text = JSON.stringify(pool.kubelet);
    notes.lost('spec.kubelet', `EC2NodeClass ${name} is not among the input: write there spec.kubelet ${text}`);
  }
}

function classNameOf({ pool }: ConvertedPool): string {
  return pool.spec.template.spec.nodeClassRef.name;
}

function isClass(object: object, name: string): object is ConvertedClass {
  const { kind, metadata } = object as { kind?: string; metadata?: { name?: string } };
  return kind === 'EC2NodeClass' && metadata?.name === name;
}

/** The documents of an object, validated like by the API server; an unchanged object keeps its text. */
function written({ input, notes, objects }: ConvertedObject): string[] {
  for (const object of notes.problems.size > 0 ? [] : objects) {
    const { apiVersion, kind } = object as { apiVersion: string; kind: string };
    const resource = customResourceOf(apiVersion, kind)!;
    fit(object, { properties: { ...schemaOf(resource).properties, metadata: {} } }, '', notes);
    validate(object, resource, notes);
  }
  if (notes.problems.size > 0) return [];
  const [first] = objects as { spec?: unknown }[];
  const isSame =
    textOf(input.value['apiVersion']).endsWith('/v1') && isDeepStrictEqual(first?.spec, input.value['spec']);
  if (isSame && objects.length === 1 && input.text !== undefined && notes.all.every(({ effect }) => effect === 'check'))
    return [input.text];
  const { innerComments = 0 } = input;
  if (innerComments > 0) notes.lost('', `${counted(innerComments, 'line')} of comments inside it`);
  return objects.map((object, i) => {
    const comment = i > 0 || input.comment === undefined ? '' : `${input.comment.replace(/^/gm, '#')}\n`;
    return `${comment}${yaml(object)}`;
  });
}

const schemas = new Map<object, OpenApiSchema>();

function schemaOf(resource: Resource<KubernetesObject>): OpenApiSchema {
  const schema = schemas.get(resource) ?? resource.crd().spec.versions[0]!.schema.openAPIV3Schema;
  schemas.set(resource, schema);
  return schema;
}

/** The settings in Karpenter's definition: strings where they are strings. */
const kubeletSchema: OpenApiSchema = {
  'x-kubernetes-preserve-unknown-fields': true,
  properties: Object.fromEntries(
    understoodKubeletFields.map((name): [string, OpenApiSchema] => {
      const kind = lookUp(kubeletFields, name);
      const text = { type: 'string' };
      if (kind === 'stringMap') return [name, { additionalProperties: text }];
      return [name, kind === 'strings' ? { items: text } : {}];
    }),
  ),
};

/**
 * Converts fields that were passed on to the types of v1: strings that YAML parsed as other types, and no unknown
 * fields.
 */
function fit(value: object, schema: OpenApiSchema, path: string, notes: Notes): void {
  const isOpen = schema.properties === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  for (const [name, inner] of Object.entries(value) as [string, unknown][]) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    const own = Array.isArray(value) ? schema.items : schemaIn(schema, name);
    if (own === undefined) {
      if (isOpen) continue;
      notes.lost(at, 'v1 has no such field');
      Reflect.deleteProperty(value, name);
    } else if (own.type === 'string' && (typeof inner === 'number' || typeof inner === 'boolean')) {
      Reflect.set(value, name, quoted(name, inner, at, notes));
    } else if (inner !== null && typeof inner === 'object') fit(inner, own, at, notes);
  }
}

function schemaIn(schema: OpenApiSchema, name: string): OpenApiSchema | undefined {
  return name === 'kubelet' ? kubeletSchema : (lookUp(schema.properties, name) ?? schema.additionalProperties);
}

function quoted(name: string, value: number | boolean, at: string, notes: Notes): string {
  // Account ids have twelve digits, and numbers lose leading zeros.
  if (!name.toLowerCase().startsWith('owner')) return asText(value, at, notes);
  const account = String(value).padStart(12, '0');
  notes.check(at, `${value} is written as account "${account}"`);
  return account;
}

function validate(object: object, resource: Resource<KubernetesObject>, notes: Notes): void {
  const { apiVersion, kind } = resource;
  const what = `as ${kindAndName(object as Record<string, unknown>)} of ${apiVersion}: `;
  const refuse = (path: string, message: string): void => notes.problem({ field: path, message: `${what}${message}` });
  const parsed = resource.parse(object);
  if (!parsed.ok) {
    // Template placeholders are reported in the notes.
    const known = parsed.error.filter(({ found }) => !isUnfilled(JSON.stringify(found)));
    for (const { path, message } of known) refuse(path, message);
    return;
  }
  if (kind === 'NodePool') {
    const annotation = lookUp(parsed.value.metadata.annotations, kubeletAnnotation);
    const name = classNameOf({ pool: parsed.value as unknown as ConvertedPool['pool'], others: [] });
    if (annotation !== undefined)
      notes.check(`metadata.annotations[${kubeletAnnotation}]`, kubeletInAnnotation(annotation, name));
    for (const { path, message } of nodePoolIssues(parsed.value as NodePool)) {
      notes.check(path, message.replace(`${path}: `, ''));
    }
  }
  const verdict = kind === 'EC2NodeClass' ? ec2NodeClassKubeletVerdict(parsed.value as EC2NodeClass) : undefined;
  const report = verdict?.reason === 'InvalidKubeletConfiguration' ? refuse : notes.check.bind(notes);
  for (const { path, message } of verdict?.issues ?? []) report(path, message);
}

function yaml(value: object): string {
  // Kubernetes reads YAML 1.1, in which off, yes and 1_000 are not strings.
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' });
}
