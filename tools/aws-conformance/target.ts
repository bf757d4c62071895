import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';

/** The account and cluster that the suite runs in, and how far it may go. */
export interface Target {
  readonly region: string;
  readonly cluster: string;
  /** What nodes run under. */
  readonly identity: { readonly role: string } | { readonly instanceProfile: string };
  /** Value of the tag `karpenter.sh/discovery` of subnets and security groups. */
  readonly discovery: string;
  /** Id of a capacity reservation of this account that may be used. */
  readonly reservation?: string;
  /** How many machines the last step launches and ends. */
  readonly terminations: number;
  readonly maxDollars: number;
  readonly maxMinutes: number;
  /** The steps to run; all of them when absent. */
  readonly only?: readonly string[];
  /** Part of the names of this run's claims: EC2 remembers client tokens of earlier runs. */
  readonly run: string;
  /** Between two looks at what takes time. */
  readonly pollMs: number;
  /** After this long EC2 describes every instance that it launched, with its tags. */
  readonly unseenMs: number;
}

/** The NodePool that every machine of the suite is tagged as, and by which it is found again. */
export const poolName = 'aws-conformance';

export const classNames = ['al2023', 'bottlerocket', 'reserved'] as const;
export type ClassName = (typeof classNames)[number];

/** One of the suite's node classes as an API server would have it, not resolved. Its name and UID are the same in every run: so leftovers are found. */
export function nodeClassOf(target: Target, name: ClassName): EC2NodeClass {
  const selector = [{ tags: { 'karpenter.sh/discovery': target.discovery } }];
  const full = `${poolName}-${name}`;
  const parsed = ec2NodeClasses.parse({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name: full, uid: full, generation: 1 },
    spec: {
      ...target.identity,
      amiSelectorTerms: [{ alias: name === 'bottlerocket' ? 'bottlerocket@latest' : 'al2023@latest' }],
      subnetSelectorTerms: selector,
      securityGroupSelectorTerms: selector,
      ...(name === 'reserved' &&
        target.reservation !== undefined && { capacityReservationSelectorTerms: [{ id: target.reservation }] }),
    },
  });
  if (!parsed.ok) throw new Error(`EC2NodeClass ${full}: ${JSON.stringify(parsed.error)}`);
  return parsed.value;
}
