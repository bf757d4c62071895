import { AwsError } from './aws-error.js';
import { accountId } from './events.js';
import { blockDevicesOf, interfacesOf, tagsByType, type LaunchFacts } from './launch-facts.js';
import { partitionOf } from './partition.js';
import { param, strings, struct, structs, type Params } from './query.js';

export interface LaunchTemplate {
  id: string;
  name: string;
  /** LaunchTemplateData of each version; version 1 is the first. */
  versions: Params[];
  tags: Map<string, string>;
  /** Milliseconds of the epoch. */
  madeAt: number;
}

/**
 * The launch templates as they were asked for. moto keeps them too, but its launches ignore most of their content,
 * so the proxy applies what it recorded here.
 */
export class LaunchTemplates {
  readonly #byId = new Map<string, LaunchTemplate>();

  constructor(private readonly now: () => number) {}

  /** `specifications` are the tags of the request, by type of resource. */
  created(id: string, name: string, data: Params, specifications: readonly Params[] = []): void {
    const own = specifications.filter((each) => param(each, 'ResourceType') === 'launch-template');
    this.#byId.set(id, {
      id,
      name,
      versions: [data],
      tags: new Map(own.flatMap((each) => tagsIn(each))),
      madeAt: this.now(),
    });
  }

  find(idOrName: string): LaunchTemplate | undefined {
    return this.#byId.get(idOrName) ?? [...this.#byId.values()].find(({ name }) => name === idOrName);
  }

  /** Applies a CreateTags or DeleteTags. */
  tagged(ids: readonly string[], params: Params, removes: boolean): void {
    for (const id of ids) {
      const tags = this.#byId.get(id)?.tags;
      for (const [key, value] of tagsIn(params)) {
        if (removes) tags?.delete(key);
        else tags?.set(key, value);
      }
    }
  }

  /** Whether it is so new that EC2 does not list it yet. */
  isUnlisted(id: string, afterMs: number): boolean {
    return this.now() - (this.#byId.get(id)?.madeAt ?? Number.NEGATIVE_INFINITY) < afterMs;
  }

  versionAdded(idOrName: string, data: Params): void {
    this.find(idOrName)?.versions.push(data);
  }

  deleted(idOrName: string): void {
    const template = this.find(idOrName);
    if (template !== undefined) this.#byId.delete(template.id);
  }

  clear(): void {
    this.#byId.clear();
  }

  /** What a LaunchTemplateSpecification refers to. Throws EC2's errors for a template or version that is not there. */
  resolve(specification: Params): { template: LaunchTemplate; version: number; data: Params } {
    const id = param(specification, 'LaunchTemplateId');
    const name = param(specification, 'LaunchTemplateName');
    const template = this.find(id ?? name ?? '');
    if (template === undefined) {
      throw id === undefined
        ? new AwsError(
            'InvalidLaunchTemplateName.NotFoundException',
            `The specified launch template, with template name ${name ?? ''}, does not exist.`,
          )
        : new AwsError(
            'InvalidLaunchTemplateId.NotFound',
            `The specified launch template, with template ID ${id}, does not exist.`,
          );
    }
    const asked = param(specification, 'Version') ?? '$Default';
    const version = asked === '$Latest' ? template.versions.length : asked === '$Default' ? 1 : Number(asked);
    const data = template.versions[version - 1];
    if (data === undefined) {
      throw new AwsError(
        'InvalidLaunchTemplateId.VersionNotFound',
        `Could not find the specified version ${asked} for the launch template with ID ${template.id}.`,
      );
    }
    return { template, version, data };
  }
}

const tagsIn = (params: Params): [key: string, value: string][] =>
  structs(params, 'Tag').map((tag) => [param(tag, 'Key') ?? '', param(tag, 'Value') ?? '']);

/** The ids of the security groups that a template's data puts on the first interface. */
export function securityGroupIds(data: Params): string[] {
  const [first] = structs(data, 'NetworkInterface');
  return [...strings(data, 'SecurityGroupId'), ...strings(first, 'SecurityGroupId')];
}

/** What moto drops of a template's data. */
export function factsOf(data: Params, region: string): Omit<LaunchFacts, 'securityGroups'> {
  const profileName = param(data, 'IamInstanceProfile', 'Name');
  const profileArn = param(data, 'IamInstanceProfile', 'Arn');
  const options = struct(data, 'MetadataOptions');
  const metadataOptions = Object.fromEntries(
    Object.entries(options).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name[0]!.toLowerCase() + name.slice(1), value]] : [],
    ),
  );
  return {
    instanceProfileArn:
      profileArn ??
      (profileName && `arn:${partitionOf(region).name}:iam::${accountId}:instance-profile/${profileName}`),
    userData: param(data, 'UserData'),
    ...(Object.keys(metadataOptions).length > 0 && { metadataOptions }),
    monitoring: param(data, 'Monitoring', 'Enabled') === 'true',
    ipv6: structs(data, 'NetworkInterface').some((each) => Number(param(each, 'Ipv6AddressCount') ?? 0) > 0),
    capacityReservationId: param(
      data,
      'CapacityReservationSpecification',
      'CapacityReservationTarget',
      'CapacityReservationId',
    ),
    nestedVirtualization: param(data, 'CpuOptions', 'NestedVirtualization'),
    blockDevices: blockDevicesOf(data),
    interfaces: interfacesOf(data),
    tagsOf: tagsByType(data),
  };
}
