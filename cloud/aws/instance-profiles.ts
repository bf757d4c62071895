import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { DomainError, isDomainError } from '../../core/failures.js';
import { hashText } from '../../core/hash.js';
import { CachedByKey } from './cached.js';
import type { AwsCalls } from './calls.js';
import type { Clock } from './clock.js';
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

/** Instance profiles of node classes: the given one, or one made for the role (section 1.4). */
export class InstanceProfiles {
  private readonly known: CachedByKey<string>;

  constructor(
    private readonly calls: ProfileCalls,
    private readonly cluster: { readonly clusterName: string; readonly region: string },
    private readonly clock: Clock,
  ) {
    this.known = new CachedByKey(clock, knownMs);
  }

  /** The name of the profile to launch with. Throws `MissingIdentityError` or `DomainError`. */
  resolve(nodeClass: EC2NodeClass): Promise<string> {
    const { instanceProfile, role } = nodeClass.spec;
    if (instanceProfile !== undefined) {
      return this.known.get(`given/${instanceProfile}`, async () => {
        if ((await this.find(instanceProfile)) !== undefined) return instanceProfile;
        throw new MissingIdentityError(`instance profile ${instanceProfile} does not exist`);
      });
    }
    const name = this.nameFor(nodeClass, role ?? '');
    return this.known.get(`made/${name}`, () => this.make(nodeClass, name, role ?? ''));
  }

  /** Deletes the profiles made for a node class. */
  async deleteAll(nodeClass: EC2NodeClass): Promise<void> {
    for (const profile of await this.list(this.pathFor(nodeClass))) await this.remove(profile.name, profile.roles);
  }

  /** Deletes profiles of this cluster that are over an hour old and none of `inUse`. */
  async sweep(inUse: ReadonlySet<string>): Promise<void> {
    for (const profile of await this.list(this.clusterPath)) {
      const old = this.clock.now() - profile.createdAt > protectedMs;
      if (old && !inUse.has(profile.name)) await this.remove(profile.name, profile.roles);
    }
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
      if (isDomainError(error, 'NotFound')) throw new MissingIdentityError(`role ${role} does not exist`);
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
      if (isDomainError(error, 'Conflict')) return (await this.find(name)) ?? [];
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

  private async list(path: string): Promise<{ name: string; createdAt: number; roles: string[] }[]> {
    const found: { name: string; createdAt: number; roles: string[] }[] = [];
    let marker: string | undefined;
    do {
      const page = await this.calls.listInstanceProfiles({ PathPrefix: path, Marker: marker, MaxItems: 1000 });
      for (const profile of page.InstanceProfiles ?? []) {
        if (profile.Path?.startsWith(path) !== true) continue;
        found.push({
          name: profile.InstanceProfileName ?? '',
          createdAt: profile.CreateDate?.getTime() ?? 0,
          roles: (profile.Roles ?? []).map((role) => role.RoleName ?? ''),
        });
      }
      marker = page.IsTruncated === true ? page.Marker : undefined;
    } while (marker !== undefined);
    return found;
  }

  private async remove(name: string, roles: readonly string[]): Promise<void> {
    this.known.forget(`made/${name}`);
    try {
      for (const role of roles) {
        await this.calls.removeRoleFromInstanceProfile({ InstanceProfileName: name, RoleName: role });
      }
      await this.calls.deleteInstanceProfile({ InstanceProfileName: name });
    } catch (error) {
      if (!(error instanceof DomainError) || error.type !== 'NotFound') throw error;
    }
  }
}
