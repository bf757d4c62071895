import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { nodeClassSpec } from '../node-class.js';

/** Files that the suite is given. */
export interface SuiteObjects {
  readonly nodeClass: string;
  readonly nodePool: string;
  /** For specs that count on nodes of two processors, as they have them with KWOK's node class. */
  readonly smallNodePool: string;
}

/** Writes the NodePools and the node class that the specs begin with, as Karpenter's provider for AWS gives them to the suite. */
export function writeObjects(folder: string, cluster: string): SuiteObjects {
  const write = (name: string, object: object): string => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, stringify(object));
    return file;
  };
  return {
    nodeClass: write('node-class', {
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name: 'default' },
      spec: nodeClassSpec(cluster),
    }),
    nodePool: write('node-pool', nodePool()),
    smallNodePool: write('small-node-pool', nodePool(among('karpenter.k8s.aws/instance-cpu', '2'))),
  };
}

const among = (key: string, ...values: readonly string[]) => ({ key, operator: 'In', values });

const nodePool = (...requirements: readonly object[]) => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    disruption: {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: 'Never',
      budgets: [{ nodes: '100%' }],
    },
    limits: { cpu: 1000, memory: '1000Gi' },
    template: {
      spec: {
        expireAfter: 'Never',
        requirements: [
          among('kubernetes.io/os', 'linux'),
          among('karpenter.sh/capacity-type', 'on-demand'),
          among('karpenter.k8s.aws/instance-category', 'c', 'm', 'r'),
          { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
          { key: 'karpenter.k8s.aws/instance-family', operator: 'NotIn', values: ['a1'] },
          ...requirements,
        ],
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      },
    },
  },
});
