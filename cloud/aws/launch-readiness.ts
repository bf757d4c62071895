import { restrictedTags } from '../../api/aws/ec2-node-class.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import { conditionOf } from '../../core/conditions.js';
import { DomainError } from '../../core/failures.js';

/** Why nothing can be launched from the node class now. Throws if its readiness is Unknown, so that it is tried again (launch/node-class-not-ready). */
export function whyNotLaunchable(nodeClass: EC2NodeClass): string | undefined {
  return whyNotReady(nodeClass) ?? wrongTags(nodeClass);
}

function wrongTags({ metadata: { name = '' }, spec }: EC2NodeClass): string | undefined {
  const wrong = restrictedTags(spec.tags);
  return wrong.length === 0 ? undefined : `EC2NodeClass ${name}: spec.tags may not have ${wrong.join(', ')}`;
}

function whyNotReady(nodeClass: EC2NodeClass): string | undefined {
  const ready = conditionOf(nodeClass.status?.conditions, 'Ready');
  const name = nodeClass.metadata.name ?? '';
  if (ready === undefined || ready.status === 'Unknown') {
    throw new DomainError('LaunchFailed', `EC2NodeClass ${name} is not resolved yet`, {
      reason: 'NodeClassReadinessUnknown',
    });
  }
  if (ready.status === 'False') {
    const broken = nodeClass.status?.conditions?.find(({ type, status }) => type !== 'Ready' && status === 'False');
    const why = broken?.message === undefined ? '' : `: ${broken.message}`;
    return `${ready.message ?? ready.reason ?? 'not ready'}${why}`;
  }
  const { generation } = nodeClass.metadata;
  if (generation !== undefined && ready.observedGeneration !== undefined && ready.observedGeneration !== generation) {
    return `EC2NodeClass ${name} changed and is not resolved again yet`;
  }
  return undefined;
}
