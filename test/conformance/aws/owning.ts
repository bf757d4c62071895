import type { EC2NodeClass, EC2NodeClassStatus } from '../../../api/aws/ec2-node-class.js';
import { annotations } from '../../../api/labels.js';
import { conditionOf } from '../../../core/conditions.js';
import { nodeClaim } from '../../builders/activity-world.js';
import { ec2NodeClass } from '../../builders/aws-world.js';
import { gives, type Check } from '../conformance-case.js';
import { account } from './account.js';
import { IamOfAccount, type Made } from './iam-of-account.js';

export interface Owner {
  readonly iam: IamOfAccount;
  /** Looks at the node class with what is new of its spec: the profile of its status, and whether that is ready. */
  readonly look: (spec: object) => Promise<readonly [profile: string, ready: string, reason: string]>;
  readonly other: (name: string) => Owner['look'];
  readonly remove: () => Promise<void>;
  /** Sweeps with profiles that claims have, whether or not the node classes are seen; resolves with the profiles that are left. */
  readonly sweep: (used?: readonly string[], isUnseen?: boolean) => Promise<readonly string[]>;
  /** The status of the node class is lost. */
  readonly forget: () => void;
  readonly pass: (ms: number) => void;
}
export type There = Readonly<Record<string, Made>>;
const templates = { describeLaunchTemplates: () => Promise.resolve({}) };
/** A moment after what is protected for an hour is protected no more. */
export const later = 3_600_001;

/** Plays a case of a node class and the profiles that there are, of which `current` is that of its status. */
export const owning = (
  play: (owner: Owner) => Promise<unknown>,
  expected: unknown,
  there: There = {},
  current?: string,
): Check =>
  gives(async () => {
    const iam = new IamOfAccount();
    for (const [name, made] of Object.entries(there)) iam.put(name, made);
    const { provider, clock } = account({
      calls: { ...iam.calls, ...templates },
      options: { isolatedVpc: false, disableDryRun: true },
    });
    const kept = new Map<string, EC2NodeClass>();
    const looking =
      (name: string): Owner['look'] =>
      async (spec) => {
        const status = kept.get(name)?.status ?? (current === undefined ? {} : { instanceProfile: current });
        const given = { ...ec2NodeClass(spec, name), status };
        const found = (await provider.resolveNodeClass(given)).status as EC2NodeClassStatus;
        kept.set(name, { ...given, status: found });
        const condition = conditionOf(found.conditions, 'InstanceProfileReady');
        return [found.instanceProfile ?? '', condition?.status ?? '', condition?.reason ?? ''];
      };
    const sweep = async (used: readonly string[] = [], isUnseen = false): Promise<readonly string[]> => {
      const claims = used.map((name) => {
        const claim = nodeClaim(name);
        return { ...claim, metadata: { ...claim.metadata, annotations: { [annotations.instanceProfileName]: name } } };
      });
      await provider.sweep(isUnseen ? [] : [...kept.values()], claims);
      return [...iam.profiles.keys()];
    };
    return play({
      ...{ iam, sweep, other: looking, look: looking('default'), forget: () => kept.clear() },
      remove: () => provider.cleanUpNodeClass(kept.get('default') ?? ec2NodeClass()),
      pass: (ms) => void (clock.time += ms),
    });
  }, expected);
