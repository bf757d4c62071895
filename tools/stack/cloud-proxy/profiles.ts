import type { Moto } from './moto.js';
import type { ProfileView } from './permissions/account.js';
import { child, itemsOf, textOf } from './xml.js';

/** Instance profiles: moto has them, EC2 hears of a change some seconds after IAM (eventual consistency). */
export class InstanceProfiles {
  readonly #changedAt = new Map<string, number>();

  constructor(
    private readonly moto: Moto,
    private readonly now: () => number,
    private readonly unknownMs: () => number,
  ) {}

  /** A profile was made, or its role changed. */
  changed(name: string): void {
    this.#changedAt.set(name, this.now());
  }

  /** As IAM has it. */
  async find(name: string): Promise<ProfileView | undefined> {
    const answer = await this.moto.iam('GetInstanceProfile', { InstanceProfileName: name });
    const profile = child(answer, 'GetInstanceProfileResult', 'InstanceProfile');
    if (profile === undefined) return undefined;
    return {
      arn: textOf(profile, 'Arn') ?? '',
      roles: itemsOf(profile, 'Roles').map((role) => textOf(role, 'Arn') ?? ''),
      tags: Object.fromEntries(
        itemsOf(profile, 'Tags').map((tag) => [textOf(tag, 'Key') ?? '', textOf(tag, 'Value') ?? '']),
      ),
    };
  }

  /** Whether EC2 may launch with it now: it is there, has a role, and EC2 has heard of both. */
  async isUsable(name: string): Promise<boolean> {
    const since = this.#changedAt.get(name);
    if (since !== undefined && this.now() - since < this.unknownMs()) return false;
    return ((await this.find(name))?.roles.length ?? 0) > 0;
  }
}
