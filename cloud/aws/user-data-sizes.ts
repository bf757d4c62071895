import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { NodeClassResolution } from '../port.js';
import { userDataLimit } from './user-data/user-data.js';

/** Above this share of EC2's limit a warning is given: labels and taints of another NodePool may exceed it. */
const warnShare = 0.9;

/** Size of the user data of each node class: the largest in its current generation. */
export class UserDataSizes {
  /** By node class name: bytes before encoding. */
  readonly bytes = new Map<string, number>();
  private readonly generations = new Map<string, number | undefined>();
  private readonly warned = new Set<string>();

  record({ metadata }: Pick<EC2NodeClass, 'metadata'>, userData: string): void {
    const { name = '', generation } = metadata;
    const size = Buffer.byteLength(userData);
    const before = this.generations.get(name) === generation ? (this.bytes.get(name) ?? 0) : 0;
    this.generations.set(name, generation);
    this.bytes.set(name, Math.max(before, size));
  }

  forget(nodeClass: string): void {
    this.bytes.delete(nodeClass);
    this.generations.delete(nodeClass);
    this.warned.delete(nodeClass);
  }

  /** A warning when the size is near the limit; repeated only after it was smaller. */
  warnings(nodeClass: string): NodeClassResolution['events'] {
    const size = this.bytes.get(nodeClass) ?? 0;
    if (size <= warnShare * userDataLimit) {
      this.warned.delete(nodeClass);
      return [];
    }
    if (this.warned.has(nodeClass)) return [];
    this.warned.add(nodeClass);
    const percent = Math.floor((100 * size) / userDataLimit);
    const message =
      `User data has ${size} bytes, ${percent}% of the ${userDataLimit} that EC2 takes: ` +
      'beyond that nothing can be launched from this node class';
    return [{ type: 'Warning', reason: 'UserDataNearLimit', message }];
  }
}
