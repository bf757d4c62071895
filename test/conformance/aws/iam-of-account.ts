import type { InstanceProfile, ListInstanceProfilesCommandInput, Tag } from '@aws-sdk/client-iam';
import { refusal } from '../../builders/aws-world.js';
import { now } from './account.js';

interface Named {
  readonly InstanceProfileName?: string;
  readonly RoleName?: string;
  readonly Path?: string;
  readonly Tags?: Tag[];
}

export interface Made {
  readonly roles?: readonly string[];
  readonly path?: string | undefined;
  readonly createdAt?: number;
}

/** The path of profiles of a node class named `default`. */
export const pathOf = (uid = 'uid-default', cluster = 'test-cluster'): string =>
  `/karpenter/us-west-2/${cluster}/${uid}/`;

/** What IAM does with instance profiles: one role each, as IAM has it. */
export class IamOfAccount {
  readonly profiles = new Map<string, InstanceProfile>();
  /** Calls that were made, by their names, with the profile that each was about. */
  readonly asked: (readonly [call: string, name: string])[] = [];
  /** Roles that there are; all where it is undefined. */
  roles: readonly string[] | undefined;
  /** What a call meets, by its name. */
  readonly errors = new Map<string, Error>();

  put(name: string, { roles = [], path = pathOf(), createdAt = now - 86_400_000 }: Made = {}): void {
    this.profiles.set(name, {
      ...{ InstanceProfileName: name, InstanceProfileId: name, Arn: name, Path: path, CreateDate: new Date(createdAt) },
      Roles: roles.map((RoleName) => ({ RoleName })) as InstanceProfile['Roles'],
    });
  }

  rolesOf(name: string): readonly (string | undefined)[] {
    return (this.profiles.get(name)?.Roles ?? []).map(({ RoleName }) => RoleName);
  }

  count(...calls: readonly string[]): number {
    return this.asked.filter(([call]) => calls.includes(call)).length;
  }

  readonly calls: object = {
    getInstanceProfile: (input: Named) => this.answer('get', input, () => ({ InstanceProfile: this.known(input) })),
    createInstanceProfile: (input: Named) =>
      this.answer('create', input, () => {
        if (this.profiles.has(input.InstanceProfileName ?? '')) throw refusal('EntityAlreadyExistsException');
        this.put(input.InstanceProfileName ?? '', { path: input.Path, createdAt: now });
        this.change(input, { Tags: input.Tags });
        return {};
      }),
    addRoleToInstanceProfile: (input: Named) =>
      this.answer('add', input, () => {
        const { RoleName = '' } = input;
        if (this.roles?.includes(RoleName) === false)
          throw refusal('NoSuchEntityException', `no role ${RoleName}`, 'iam:Add', 404);
        this.change(input, { Roles: [...(this.known(input).Roles ?? []), { RoleName }] as InstanceProfile['Roles'] });
        return {};
      }),
    removeRoleFromInstanceProfile: (input: Named) =>
      this.answer('remove', input, () => {
        this.change(input, { Roles: this.known(input).Roles?.filter(({ RoleName }) => RoleName !== input.RoleName) });
        return {};
      }),
    deleteInstanceProfile: (input: Named) =>
      this.answer('delete', input, () => {
        if ((this.known(input).Roles ?? []).length > 0)
          throw refusal('DeleteConflictException', 'has a role', 'iam:Delete', 409);
        this.profiles.delete(input.InstanceProfileName ?? '');
        return {};
      }),
    listInstanceProfiles: ({ PathPrefix = '/' }: ListInstanceProfilesCommandInput) =>
      this.answer('list', { InstanceProfileName: PathPrefix }, () => ({
        InstanceProfiles: [...this.profiles.values()].filter(({ Path = '' }) => Path.startsWith(PathPrefix)),
      })),
  };

  private known({ InstanceProfileName: name = '' }: Named): InstanceProfile {
    const profile = this.profiles.get(name);
    if (profile === undefined) throw refusal('NoSuchEntityException', `no instance profile ${name}`, 'iam:Some', 404);
    return profile;
  }

  private change(input: Named, more: object): void {
    const profile = this.known(input);
    this.profiles.set(input.InstanceProfileName ?? '', { ...profile, ...more });
  }

  private answer<T>(call: string, { InstanceProfileName: name = '' }: Named, effect: () => T): Promise<T> {
    this.asked.push([call, name]);
    return new Promise((resolve) => {
      const error = this.errors.get(call);
      if (error !== undefined) throw error;
      resolve(effect());
    });
  }
}
