import { issue, type Issue } from '../schema/issues.js';
import type { AmiFamily, EC2NodeClass, EC2NodeClassSpec } from './ec2-node-class.js';
import { kubeletVerdict, type KubeletVerdict } from './kubelet-rules.js';
import { lookUp } from '../../core/own.js';

const familyOfAlias: Readonly<Record<string, AmiFamily>> = {
  al2: 'AL2',
  al2023: 'AL2023',
  bottlerocket: 'Bottlerocket',
  windows2019: 'Windows2019',
  windows2022: 'Windows2022',
  windows2025: 'Windows2025',
};

/** The parsed alias of a node class; undefined if it has none. */
export function amiAlias(
  spec: Pick<EC2NodeClassSpec, 'amiSelectorTerms'>,
): { readonly family: AmiFamily; readonly version: string } | undefined {
  const alias = spec.amiSelectorTerms.find((term) => term.alias !== undefined)?.alias;
  if (alias === undefined) return undefined;
  const at = alias.indexOf('@');
  const family = lookUp(familyOfAlias, alias.slice(0, at));
  return family === undefined ? undefined : { family, version: alias.slice(at + 1) };
}

/**
 * The image family that determines user data and disks: the field, otherwise the alias's
 * (node-classes/family-in-effect).
 */
export function resolvedAmiFamily(spec: Pick<EC2NodeClassSpec, 'amiFamily' | 'amiSelectorTerms'>): AmiFamily {
  return spec.amiFamily ?? amiAlias(spec)?.family ?? 'Custom';
}

type Terms = readonly Readonly<Record<string, unknown>>[] | undefined;

function ignoredFields(list: string, terms: Terms, deciding: string, others: readonly string[]): Issue[] {
  return (terms ?? []).flatMap((term, index) => {
    const ignored = others.filter((name) => lookUp(term, name) !== undefined);
    if (lookUp(term, deciding) === undefined || ignored.length === 0) return [];
    const why = `'${deciding}' decides, ${ignored.join(' and ')} have no effect`;
    return [issue(['spec', list, index], term, `'${deciding}' alone`, why, 'warning')];
  });
}

/**
 * Warnings about a valid node class.
 *
 * @testOnly they are not published yet
 */
export function ec2NodeClassWarnings({ spec }: EC2NodeClass): Issue[] {
  return [
    ...ignoredFields('subnetSelectorTerms', spec.subnetSelectorTerms, 'id', ['tags']),
    ...ignoredFields('securityGroupSelectorTerms', spec.securityGroupSelectorTerms, 'id', ['tags', 'name']),
    ...ignoredFields('capacityReservationSelectorTerms', spec.capacityReservationSelectorTerms, 'id', [
      'tags',
      'ownerID',
      'instanceMatchCriteria',
    ]),
  ];
}

/** The result of checking the kubelet settings of a parsed node class for its resolved family. */
export function ec2NodeClassKubeletVerdict({ spec }: EC2NodeClass, expressions = false): KubeletVerdict | undefined {
  return kubeletVerdict(spec.kubelet, resolvedAmiFamily(spec), expressions);
}
