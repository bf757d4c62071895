import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import { hashText } from '../../core/hash.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
import { awsCode } from './errors.js';
import { allPages } from './pages.js';
import { Failures } from './sweeping.js';
import { nodeClassTags, tagList } from './tags.js';

type ProfileCalls = Pick<
  AwsCalls,
  | 'getInstanceProfile'
  | 'createInstanceProfile'
  | 'addRoleToInstanceProfile'
  | 'removeRoleFromInstanceProfile'
  | 'deleteInstanceProfile'
  | 'listInstanceProfiles'
>;

/** A role or profile that the node class names and IAM does not know. */
export class MissingIdentityError extends Error {
  override readonly name = 'MissingIdentityError';
}

const knownMs = 15 * 60_000;
/** A profile that was just replaced may still be in a launch under way. */
const protectedMs = 3_600_000;

/** Instance profiles of node classes: the given one, or one made for the role (node-classes/instance-profiles). */
export class InstanceProfiles {
  private readonly known: CachedByKey<string>;

  constructor(
    private readonly calls: ProfileCalls,
    private readonly cluster: {
      readonly clusterName: string;
      readonly region: string;
      /** IAM cannot be reached. */
      readonly isolated?: boolean;
    },
    private readonly clock: Clock,
  ) {
    this.known = new CachedByKey(clock, knownMs);
  }

  /** The name of the profile to launch with. Throws `MissingIdentityError` or `DomainError`. */
  resolve(nodeClass: EC2NodeClass): Promise<string> {
    const { instanceProfile, role } = nodeClass.spec;
    if (instanceProfile !== undefined) {
      return this.known.get(`given/${instanceProfile}`, () => this.check(instanceProfile));
    }
    const name = this.nameFor(nodeClass, role ?? '');
    return this.known.get(`made/${name}`, () => this.make(nodeClass, name, role ?? ''));
  }

  /** Where IAM cannot be asked, as in a VPC without a way out, the dry run's EC2 judges the profile. */
  private async check(name: string): Promise<string> {
    const found = this.cluster.isolated === true ? [] : await this.find(name).catch(() => []);
    if (found === undefined) throw new MissingIdentityError(`instance profile ${name} does not exist`);
    return name;
  }

  /** Deletes the profiles made for a node class. Throws the first failure after trying them all, as `sweep` does. */
  async deleteAll(nodeClass: EC2NodeClass): Promise<void> {
    await this.removeEach(await this.list(this.pathFor(nodeClass)));
  }

  /** Deletes profiles of this cluster that are over an hour old and none of `inUse`. */
  async sweep(inUse: ReadonlySet<string>): Promise<void> {
    const found = await this.list(this.clusterPath);
    await this.removeEach(
      found.filter(({ name, createdAt }) => this.clock.now() - createdAt > protectedMs && !inUse.has(name)),
    );
  }

  /** A role change makes a new profile rather than changing one that instances use. */
  private nameFor(nodeClass: EC2NodeClass, role: string): string {
    const { clusterName, region } = this.cluster;
    const { name = '', uid = '' } = nodeClass.metadata;
    const hash = hashText([region, name, uid, role].join('/'));
    return `${clusterName.slice(0, 100)}_${hash}`;
  }

  private get clusterPath(): string {
    return `/karpenter/${this.cluster.region}/${this.cluster.clusterName}/`;
  }

  private pathFor(nodeClass: EC2NodeClass): string {
    return `${this.clusterPath}${nodeClass.metadata.uid ?? ''}/`;
  }

  private async make(nodeClass: EC2NodeClass, name: string, role: string): Promise<string> {
    // Roles are added by name; `role` may be written with its path.
    const roleName = role.split('/').at(-1) ?? role;
    const existing = (await this.find(name)) ?? (await this.create(nodeClass, name));
    if (existing.includes(roleName)) return name;
    for (const other of existing) {
      await this.calls.removeRoleFromInstanceProfile({ InstanceProfileName: name, RoleName: other });
    }
    try {
      await this.calls.addRoleToInstanceProfile({ InstanceProfileName: name, RoleName: roleName });
    } catch (error) {
      if (isDomainError(error, 'NotFound')) throw notFound(error, role, name);
      if (!isDomainError(error, 'Conflict')) throw error;
    }
    return name;
  }

  private async create(nodeClass: EC2NodeClass, name: string): Promise<string[]> {
    try {
      await this.calls.createInstanceProfile({
        InstanceProfileName: name,
        Path: this.pathFor(nodeClass),
        Tags: tagList({
          ...nodeClassTags(nodeClass, this.cluster.clusterName),
          'topology.kubernetes.io/region': this.cluster.region,
        }),
      });
      return [];
    } catch (error) {
      // Another worker was faster.
      if (awsCode(error).startsWith('EntityAlreadyExists')) return (await this.find(name)) ?? [];
      throw error;
    }
  }

  /** The names of the roles in a profile; undefined when there is no such profile. */
  private async find(name: string): Promise<string[] | undefined> {
    try {
      const { InstanceProfile: profile } = await this.calls.getInstanceProfile({ InstanceProfileName: name });
      return (profile?.Roles ?? []).map((role) => role.RoleName ?? '');
    } catch (error) {
      if (isDomainError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  private async list(path: string): Promise<MadeProfile[]> {
    const profiles = await allPages(
      'iam:ListInstanceProfiles',
      async (marker) => {
        const page = await this.calls.listInstanceProfiles({ PathPrefix: path, Marker: marker, MaxItems: 1000 });
        return { ...page, NextToken: page.IsTruncated === true ? page.Marker : undefined };
      },
      (page) => page.InstanceProfiles,
    );
    return profiles
      .filter((profile) => profile.Path?.startsWith(path) === true && profile.InstanceProfileName !== undefined)
      .map((profile) => ({
        name: profile.InstanceProfileName ?? '',
        // One whose age is not told is none that may be swept.
        createdAt: profile.CreateDate?.getTime() ?? Number.POSITIVE_INFINITY,
        roles: (profile.Roles ?? []).flatMap((role) => role.RoleName ?? []),
      }));
  }

  private async removeEach(profiles: readonly MadeProfile[]): Promise<void> {
    const failed = new Failures();
    for (const { name, roles } of profiles) await failed.collect(() => this.remove(name, roles));
    failed.throwFirst();
  }

  private async remove(name: string, roles: readonly string[]): Promise<void> {
    this.known.forget(`made/${name}`);
    for (const role of roles) {
      await this.calls.removeRoleFromInstanceProfile({ InstanceProfileName: name, RoleName: role });
    }
    await this.calls.deleteInstanceProfile({ InstanceProfileName: name });
  }
}

/** IAM says it of the role that is missing, and for some seconds of a profile that was just made. */
function notFound({ message }: Error, role: string, profile: string): Error {
  if (!/instance profile/i.test(message)) return new MissingIdentityError(`role ${role} does not exist`);
  return new DomainError('Unavailable', `iam:AddRoleToInstanceProfile: IAM does not know ${profile} yet`);
}

interface MadeProfile {
  readonly name: string;
  /** Milliseconds of the epoch. */
  readonly createdAt: number;
  readonly roles: readonly string[];
}
