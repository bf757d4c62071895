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

/** A role or profile that the node class names and that does not exist in IAM. */
export class MissingIdentityError extends Error {
  override readonly name = 'MissingIdentityError';
}

const knownMs = 15 * 60_000;
/** A profile created or replaced less than this long ago may be used by a launch whose claim does not name it yet. */
const protectedMs = 3_600_000;
/** Valid names of instance profiles in IAM. */
const validName = /^[\w+=,.@-]{1,128}$/;

/** Instance profiles of node classes: the given one, or one created for the role (node-classes/instance-profiles). */
export class InstanceProfiles {
  private readonly known: CachedByKey<string>;
  /** By profile name: when a sweep first found it unused. */
  private unusedSince = new Map<string, number>();

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

  /** The name of the profile for launches. Throws `MissingIdentityError` or `DomainError`. */
  resolve(nodeClass: EC2NodeClass): Promise<string> {
    const { instanceProfile, role } = nodeClass.spec;
    if (instanceProfile !== undefined) {
      return this.known.get(`given/${instanceProfile}`, () => this.check(instanceProfile));
    }
    const name = this.nameFor(nodeClass, role ?? '');
    return this.known.get(`made/${name}`, () => this.own(nodeClass, name, role ?? ''));
  }

  /** If IAM cannot be reached, as in an isolated VPC, the dry run of EC2 checks the profile instead. */
  private async check(name: string): Promise<string> {
    const found = this.cluster.isolated === true ? 'unknown' : await this.find(name).catch(() => 'unknown');
    if (found === undefined) throw new MissingIdentityError(`instance profile ${name} does not exist`);
    return name;
  }

  /**
   * Deletes the profiles created for a node class, including those by early releases of Karpenter. Tries all of them,
   * then throws the first failure, as `sweep` does.
   */
  async deleteAll(nodeClass: EC2NodeClass): Promise<void> {
    await this.removeEach(await this.list(this.pathFor(nodeClass)));
    await this.removeEach(await this.legacy(nodeClass));
  }

  /** Deletes profiles of this cluster that are over an hour old and have not been `inUse` for as long. */
  async sweep(inUse: ReadonlySet<string>): Promise<void> {
    const now = this.clock.now();
    const unused = (await this.list(this.clusterPath)).filter(({ name }) => !inUse.has(name));
    this.unusedSince = new Map(unused.map(({ name }) => [name, this.unusedSince.get(name) ?? now]));
    await this.removeEach(
      unused.filter(
        ({ name, createdAt }) =>
          now - createdAt > protectedMs && now - (this.unusedSince.get(name) ?? now) > protectedMs,
      ),
    );
  }

  /**
   * The profile that an early release of Karpenter created for the node class: it has no path and is found only by
   * name.
   */
  private async legacy({ metadata }: EC2NodeClass): Promise<MadeProfile[]> {
    const { clusterName, region } = this.cluster;
    const name = `${clusterName}_${fnv1(`${region}${metadata.name ?? ''}`)}`;
    const profile = validName.test(name) ? await this.find(name) : undefined;
    return profile === undefined ? [] : [{ name, createdAt: 0, roles: profile.roles }];
  }

  /** A changed role gets a new profile, since instances use the old one. */
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

  /**
   * The profile named in the status if it was created for the node class and has the role, as after a migration from
   * Karpenter; otherwise one of this name.
   */
  private async own(nodeClass: EC2NodeClass, name: string, role: string): Promise<string> {
    const current = nodeClass.status?.instanceProfile;
    if (current === undefined || current === '' || current === name) return this.make(nodeClass, name, role);
    const profile = await this.find(current);
    const isOwn = profile?.path === this.pathFor(nodeClass) && profile.roles.includes(nameOfRole(role));
    return isOwn ? current : this.make(nodeClass, name, role);
  }

  private async make(nodeClass: EC2NodeClass, name: string, role: string): Promise<string> {
    const roleName = nameOfRole(role);
    const existing = (await this.find(name))?.roles ?? (await this.create(nodeClass, name));
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

  private async create(nodeClass: EC2NodeClass, name: string): Promise<readonly string[]> {
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
      // Another worker created it first.
      if (awsCode(error).startsWith('EntityAlreadyExists')) return (await this.find(name))?.roles ?? [];
      throw error;
    }
  }

  /** A profile with the names of its roles; undefined if there is none with that name. */
  private async find(name: string): Promise<FoundProfile | undefined> {
    try {
      const { InstanceProfile: profile } = await this.calls.getInstanceProfile({ InstanceProfileName: name });
      return { path: profile?.Path, roles: (profile?.Roles ?? []).map((role) => role.RoleName ?? '') };
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
        // A profile of unknown age must not be swept.
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
    this.unusedSince.delete(name);
    for (const role of roles) {
      await this.calls.removeRoleFromInstanceProfile({ InstanceProfileName: name, RoleName: role });
    }
    await this.calls.deleteInstanceProfile({ InstanceProfileName: name });
  }
}

/** IAM reports this for a missing role, and for some seconds for a new profile. */
function notFound({ message }: Error, role: string, profile: string): Error {
  if (!/instance profile/i.test(message)) return new MissingIdentityError(`role ${role} does not exist`);
  return new DomainError('Unavailable', `iam:AddRoleToInstanceProfile: IAM does not know ${profile} yet`);
}

/** Roles are added by name; a node class may give one with its path. */
function nameOfRole(role: string): string {
  return role.split('/').at(-1) ?? role;
}

/** 64-bit FNV-1, which Karpenter used to name its profiles. */
function fnv1(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of Buffer.from(text)) hash = BigInt.asUintN(64, hash * 0x100000001b3n) ^ BigInt(byte);
  return hash;
}

interface FoundProfile {
  readonly path: string | undefined;
  readonly roles: readonly string[];
}

interface MadeProfile {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly roles: readonly string[];
}
