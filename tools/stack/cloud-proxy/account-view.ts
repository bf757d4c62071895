import { accountId } from './events.js';
import type { Instances } from './instances.js';
import type { Account } from './permissions/account.js';
import { partitionOf } from './partition.js';
import type { InstanceProfiles } from './profiles.js';
import type { LaunchTemplates } from './templates.js';

interface Contents {
  readonly templates: LaunchTemplates;
  readonly instances: Instances;
  readonly profiles: InstanceProfiles;
}

/** The local cloud as IAM looks at it. */
export function accountOf(cloud: Contents, region: string): Account {
  const arn: Account['arn'] = (service, resource, owner = accountId) =>
    `arn:${partitionOf(region).name}:${service}:${service === 'iam' ? '' : region}:${owner}:${resource}`;
  return {
    id: accountId,
    in: (other) => accountOf(cloud, other),
    arn,
    // Images and snapshots are named without an account.
    ec2Arn: (kind, id) => arn('ec2', `${kind}/${id}`, kind === 'image' || kind === 'snapshot' ? '' : accountId),
    tagsOf: (id) => {
      const tags = id.startsWith('lt-') ? cloud.templates.find(id)?.tags : cloud.instances.get(id)?.tags;
      return tags && Object.fromEntries(tags);
    },
    template: (idOrName, version) => {
      const found = cloud.templates.find(idOrName);
      if (found === undefined) return undefined;
      const index =
        version === undefined || version === '$Default' ? 0 : version === '$Latest' ? -1 : Number(version) - 1;
      return { id: found.id, data: found.versions.at(index) ?? {} };
    },
    profile: (name) => cloud.profiles.find(name),
  };
}
