import { labels } from '../../api/labels.js';
import type { Kinds, NewObject } from '../../kube/port.js';

/** How the one NodePool of a run may be disrupted. */
export interface PoolDisruption {
  readonly consolidateAfter: string;
  /** Of its one budget. */
  readonly nodes: string;
}

export interface KwokPoolOptions extends PoolDisruption {
  /** The one instance type of its nodes; any by default. */
  readonly type?: string;
}

const inValues = (key: string, value: string): object => ({ key, operator: 'In', values: [value] });

/** The NodePool of runs on KWOK: on demand, amd64, nothing expires. */
export const kwokPool = ({ consolidateAfter, nodes, type }: KwokPoolOptions): NewObject<Kinds['NodePool']> =>
  ({
    metadata: { name: 'default' },
    spec: {
      disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter, budgets: [{ nodes }] },
      template: {
        spec: {
          expireAfter: 'Never',
          requirements: [
            inValues(labels.os, 'linux'),
            inValues(labels.arch, 'amd64'),
            inValues(labels.capacityType, 'on-demand'),
            ...(type === undefined ? [] : [inValues(labels.instanceType, type)]),
          ],
          nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
        },
      },
    },
  }) as unknown as NewObject<Kinds['NodePool']>;
