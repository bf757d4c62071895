import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { nodeClassSpec } from '../node-class.js';

/** Writes the NodePool and the node class that the specs begin with, as Karpenter's provider for AWS gives them to the suite. Returns the files. */
export function writeObjects(
  folder: string,
  cluster: string,
): { readonly nodeClass: string; readonly nodePool: string } {
  const write = (name: string, object: object): string => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, stringify(object));
    return file;
  };
  return {
    nodeClass: write('node-class', {
      ...{ apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass' },
      ...{ metadata: { name: 'default' }, spec: nodeClassSpec(cluster) },
    }),
    nodePool: write('node-pool', {
      ...{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool' },
      ...{ metadata: { name: 'default' }, spec: nodePoolSpec },
    }),
  };
}

const nodePoolSpec = {
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
        { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] },
        { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
        { key: 'karpenter.k8s.aws/instance-family', operator: 'NotIn', values: ['a1'] },
      ],
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    },
  },
};
