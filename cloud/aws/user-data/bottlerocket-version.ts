import type { EC2NodeClass } from '../../../api/aws/ec2-node-class.js';

const version = /^v?(\d+)\.(\d+)\.\d+$/;

/**
 * Whether the Bottlerocket of a node class binds directories to local disks by a list of its own: since v1.46.0. The version is that
 * of the alias, or stands in the names of images, such as bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a.
 */
export function bindsByDefault({ spec, status }: Pick<EC2NodeClass, 'spec' | 'status'>): boolean {
  const { amiSelectorTerms: terms } = spec;
  const alias = terms.find((term) => term.alias !== undefined)?.alias?.split('@')[1];
  if (alias === 'latest') return true;
  const names = [...terms.map((term) => term.name), ...(status?.amis ?? []).map((ami) => ami.name)];
  const named = names.filter((name) => name?.includes('bottlerocket')).flatMap((name) => name?.split('-') ?? []);
  const [, major, minor] =
    [alias ?? '', ...named].map((part) => version.exec(part)).find((match) => match !== null) ?? [];
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 46);
}
