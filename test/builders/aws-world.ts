import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { ec2NodeClasses } from '../../api/aws/ec2-node-class.js';
import type { Clock } from '../../cloud/aws/clock.js';
import { toDomainError } from '../../cloud/aws/errors.js';

/** A clock that advances only by sleeps, each at once to its end. */
export function steppingClock(time = 0): Clock & { time: number } {
  const clock = {
    time,
    now: () => clock.time,
    sleep: (ms: number) => {
      clock.time += ms;
      return Promise.resolve();
    },
  };
  return clock;
}

/** An error as AWS answers it and `calls.ts` throws it. */
export function refusal(code: string, message = 'words', action = 'ec2:Some', status = 400): Error {
  const error = Object.assign(new Error(message), { name: code, $metadata: { httpStatusCode: status } });
  return toDomainError(error, action);
}

/** A node class as the API server holds it. */
export function ec2NodeClass(spec: object = {}, name = 'default'): EC2NodeClass {
  return ec2NodeClasses.mustParse({
    apiVersion: 'karpenter.k8s.aws/v1',
    kind: 'EC2NodeClass',
    metadata: { name, uid: `uid-${name}`, generation: 1 },
    spec: {
      role: 'nodes',
      amiSelectorTerms: [{ alias: 'al2023@latest' }],
      subnetSelectorTerms: [{ tags: { a: 'b' } }],
      securityGroupSelectorTerms: [{ tags: { a: 'b' } }],
      ...spec,
    },
  });
}
