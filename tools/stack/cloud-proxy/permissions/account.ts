import type { Params } from '../query.js';

/** A request as IAM sees it. */
export interface ServiceCall {
  readonly service: string;
  readonly action: string;
  readonly params: Params | Readonly<Record<string, unknown>>;
  /** That it was signed for. */
  readonly region: string;
}

interface TemplateView {
  readonly id: string;
  /** LaunchTemplateData of the version that is asked for. */
  readonly data: Params;
}

export interface ProfileView {
  readonly arn: string;
  readonly roles: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
}

/** What is in the account, as far as permissions depend on it. */
export interface Account {
  readonly id: string;
  /** The same account as a call for another region sees it. */
  in(region: string): Account;
  /** Of a resource of this region; `owner` is this account unless it is given. */
  arn(service: string, resource: string, owner?: string): string;
  ec2Arn(kind: string, id: string): string;
  /** Of instances and launch templates, by id. */
  tagsOf(id: string): Readonly<Record<string, string>> | undefined;
  template(idOrName: string, version?: string): TemplateView | undefined;
  profile(name: string): Promise<ProfileView | undefined>;
}
