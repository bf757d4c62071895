import { stringify } from 'yaml';
import { customResourceOf } from '../../api/crds.js';
import { ec2NodeClassKubeletVerdict } from '../../api/aws/node-class-rules.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodePool } from '../../api/karpenter/node-pool.js';
import { nodePoolIssues } from '../../api/karpenter/node-pool-rules.js';
import { cutText } from '../../core/cut-text.js';
import { canonicalJson } from '../../core/hash.js';
import { UsageError } from '../exit.js';
import { FieldError } from '../objects/check.js';
import { expectShallow } from '../objects/depth.js';
import { isRecord, textOf } from '../objects/read-documents.js';
import type { InputObject, InputText } from './documents.js';
import { Fields } from './fields.js';
import { convertNodeClass } from './node-class.js';
import type { IdentityDefaults } from './node-class.js';
import { convertNodePool, convertProvisioner } from './node-pool.js';
import type { ConvertedPool } from './node-pool.js';
import { Notes } from './notes.js';
import type { Note } from './notes.js';
import { namesOldKeys, renameKeys } from './workloads.js';
import { lookUp } from '../../core/own.js';
import { counted } from '../../core/plurals.js';

export interface Conversion {
  /** Documents of YAML, in the order of the input. */
  readonly documents: readonly string[];
  readonly notes: readonly Note[];
}

/** An object of the output, until it is known whether anything of it changed. */
interface ConvertedObject {
  readonly input: InputObject;
  readonly notes: Notes;
  /** The object in v1; first that of the input, then what it needs besides. */
  readonly objects: object[];
  readonly pool?: ConvertedPool;
}

type Outcome = ConvertedObject | { readonly text: string; readonly notes?: Notes };

/** Whether an object is of Karpenter, of whatever version. */
export function isKarpenters(value: unknown): boolean {
  return isRecord(value) && converterOf(value) !== undefined;
}

/**
 * Objects of older Karpenter APIs as v1, with a DisruptionPolicy where v1 has no words for them; all else as it stands.
 * Throws `UsageError` naming place, object and field where an object breaks its own rules.
 */
export function convertObjects(inputs: readonly (InputObject | InputText)[], given: IdentityDefaults): Conversion {
  for (const input of inputs) if ('value' in input) expectShallow(input.value, input.where);
  const defaults = withSettings(inputs, given);
  const outcomes = inputs.map((input): Outcome => ('value' in input ? convertOne(input, defaults) : input));
  const drafts = outcomes.filter((outcome): outcome is ConvertedObject => 'objects' in outcome);
  placeKubelets(drafts);
  const documents = outcomes.flatMap((outcome) => ('objects' in outcome ? written(outcome) : [outcome.text]));
  return { documents, notes: outcomes.flatMap(({ notes }) => notes?.all ?? []) };
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

/** Objects that controllers make: those of the new version come by themselves. */
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

function nameOf(value: Record<string, unknown>): string {
  const metadata = value['metadata'];
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  const kind = typeof value['kind'] === 'string' ? value['kind'] : 'object';
  return cutText(`${kind} ${typeof name === 'string' ? name : '(no name)'}`, 300);
}

function convertOne(input: InputObject, defaults: IdentityDefaults): Outcome {
  const { value, where } = input;
  const notes = new Notes(where, nameOf(value));
  const convert = converterOf(value);
  if (convert !== undefined) {
    return { input, notes, ...rethrowing(input, () => convert(new Fields(value, '', notes), defaults)) };
  }
  const why = lookUp(leftOut, typeOf(value));
  if (why !== undefined) {
    notes.lost('', why);
    return { input, notes, objects: [] };
  }
  const text = input.text ?? yaml(value);
  return namesOldKeys(text) ? { text: renameKeys(text, notes), notes } : { text };
}

function rethrowing<T>({ where, value }: InputObject, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FieldError) throw new UsageError(`${where}: ${nameOf(value)}: ${error.message}`);
    throw error;
  }
}

/** What was once set in ConfigMap karpenter-global-settings, where the input has it. */
function withSettings(inputs: readonly (InputObject | InputText)[], given: IdentityDefaults): IdentityDefaults {
  const settings = inputs
    .map((input) => ('value' in input ? input.value : {}))
    .find((value) => typeOf(value) === 'v1 ConfigMap' && nameOf(value) === 'ConfigMap karpenter-global-settings');
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
 * Moves kubelet's settings from pools to the node classes that they refer to. Pools that share a node class but not
 * the settings get a copy of it each.
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

/** The documents of an object, checked as the API server will; one of which nothing changed stands as it stood. */
function written({ input, notes, objects }: ConvertedObject): string[] {
  const older = !textOf(input.value['apiVersion']).endsWith('/v1');
  for (const object of objects) validate(input, object, notes);
  if (!older && notes.all.every(({ effect }) => effect === 'check') && input.text !== undefined) return [input.text];
  const { innerComments = 0 } = input;
  if (innerComments > 0) notes.lost('', `${counted(innerComments, 'line')} of comments inside it`);
  return objects.map((object, i) => {
    const comment = i > 0 || input.comment === undefined ? '' : `${input.comment.replace(/^/gm, '#')}\n`;
    return `${comment}${yaml(object)}`;
  });
}

function validate(input: InputObject, object: object, notes: Notes): void {
  const { apiVersion, kind } = object as { apiVersion: string; kind: string };
  const parsed = customResourceOf(apiVersion, kind)!.parse(object);
  if (!parsed.ok) {
    const problems = parsed.error.map(({ message }) => message).join('; ');
    const what = nameOf(object as Record<string, unknown>);
    throw new UsageError(`${input.where}: ${nameOf(input.value)}, as ${what} of ${apiVersion}: ${problems}`);
  }
  if (kind === 'NodePool') {
    for (const { path, message } of nodePoolIssues(parsed.value as NodePool)) {
      notes.check(path, message.replace(`${path}: `, ''));
    }
  }
  const verdict = kind === 'EC2NodeClass' ? ec2NodeClassKubeletVerdict(parsed.value as EC2NodeClass) : undefined;
  for (const { message } of verdict?.issues ?? []) notes.check('spec.kubelet', message);
}

function yaml(value: object): string {
  // Kubernetes reads YAML 1.1, for which off, yes and 1_000 are no texts.
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' }).trimEnd();
}
