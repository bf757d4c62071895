import { labelDomain } from '../../api/karpenter/requirements.js';
import { understoodKubeletFields } from '../../api/aws/kubelet-fields.js';
import { awsLabelDomain, awsLabels } from '../../api/aws/labels.js';
import { labels } from '../../api/labels.js';
import { FieldError } from '../objects/check.js';
import { textOf } from '../objects/read-documents.js';
import { asText, present } from './fields.js';
import type { Fields } from './fields.js';
import type { Notes } from './notes.js';
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
export function convertTemplateLabels(
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

export function templateAnnotations(
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

export interface OldRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
  readonly minValues?: number;
}

/** Requirements with string values, without those that v1 cannot express. */
export function requirements(owner: Fields, presence?: 'required'): OldRequirement[] {
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
export function withProvisionerDefaults(
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
export function kubeletOf(owner: Fields, name: string): Record<string, unknown> | undefined {
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
