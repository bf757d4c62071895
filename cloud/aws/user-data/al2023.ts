import { parse, stringify } from 'yaml';
import { DomainError } from '../../../core/failures.js';
import { kubeletLabels } from './input.js';
import type { UserDataInput } from './input.js';
import { isMime, readMime, writeMime } from './mime.js';
import type { MimePart } from './mime.js';

const nodeConfigType = 'application/node.eks.aws';

/** AL2023: the user's parts first, the generated NodeConfig last, since nodeadm gives precedence to the latter. */
export function al2023UserData(input: UserDataInput): string {
  return writeMime([...customParts(input.custom), { contentType: nodeConfigType, body: nodeConfig(input) }]);
}

function customParts(custom: string | undefined): readonly MimePart[] {
  if (custom === undefined || custom.trim() === '') return [];
  if (isMime(custom)) return readMime(custom);
  if (isNodeConfig(custom)) return [{ contentType: nodeConfigType, body: custom }];
  return [{ contentType: 'text/x-shellscript; charset="us-ascii"', body: custom }];
}

function isNodeConfig(text: string): boolean {
  try {
    const document: unknown = parse(text);
    return document !== null && typeof document === 'object' && 'kind' in document && document.kind === 'NodeConfig';
  } catch {
    return false;
  }
}

function nodeConfig(input: UserDataInput): string {
  if (input.serviceCidr === undefined) {
    throw new DomainError(
      'NodeClassNotReady',
      'ClusterCIDRResolutionFailed: AL2023 needs the address range of the services',
    );
  }
  const labels = kubeletLabels(input.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');
  return stringify(
    {
      apiVersion: 'node.eks.aws/v1alpha1',
      kind: 'NodeConfig',
      metadata: {},
      spec: {
        cluster: {
          name: input.clusterName,
          apiServerEndpoint: input.clusterEndpoint,
          ...(input.caBundle === undefined ? {} : { certificateAuthority: input.caBundle }),
          cidr: input.serviceCidr,
        },
        kubelet: {
          config: {
            ...input.kubelet,
            maxPods: input.maxPods,
            registerWithTaints: input.taints.map(({ key, value, effect }) => ({
              key,
              ...(value === undefined ? {} : { value }),
              effect,
            })),
          },
          ...(labels === '' ? {} : { flags: [`--node-labels="${labels}"`] }),
        },
        ...(input.raid0 ? { instance: { localStorage: { strategy: 'RAID0' } } } : {}),
      },
    },
    // nodeadm reads YAML 1.1, in which `on` and `yes` are booleans.
    { lineWidth: 0, compat: 'yaml-1.1' },
  );
}
