import type { NodePool } from '../../api/karpenter/node-pool.js';
import type { EC2NodeClass } from '../../api/aws/ec2-node-class.js';
import type { CloudAccount } from '../../cloud/port.js';
import { isTrue, type ConditionChange } from '../../core/conditions.js';
import { isDomainError } from '../../core/failures.js';
import { counted } from '../../core/text.js';
import type { KubeClient } from '../../kube/port.js';
import { isOfClassKind } from './pools.js';
import { failed, okCheck, skipped, someOf, warning, type Check, type CheckOutcome } from './check.js';
import { nameOf } from '../../core/names.js';

/** Undefined if the provider has no account. Throws for invalid settings. */
export type AccountOf = () => CloudAccount | undefined;

const needs = ['cloud-credentials'];
const policy = "give Stowage's role what deploy/iam-policy.json has";
/** Messages of an active queue are received within seconds. */
const mostWaiting = 100;
/** Longer, since instance types and prices are read first. */
const launchDeadlineMs = 60_000;

/** Whether the cloud settings are valid, and the provider has an account. */
export function cloudCheck(accountOf: AccountOf): Check {
  return {
    name: 'cloud',
    unanswered: 'correct the setting that it names (stowage run --help has all)',
    run: () => {
      const account = accountOf();
      return Promise.resolve(
        account === undefined ? skipped('this CLOUD_PROVIDER has no account') : okCheck(account.place),
      );
    },
  };
}

/** Whether the cloud accepts the credentials. */
export function credentialsCheck(accountOf: AccountOf): Check {
  const mend = 'see AWS_REGION, the egress to EC2 (HTTPS_PROXY), and IRSA or EKS Pod Identity of the ServiceAccount';
  return {
    name: 'cloud-credentials',
    needs: ['cloud'],
    unanswered: mend,
    run: async () => {
      await accountOf()?.authenticate();
      return okCheck('accepted');
    },
  };
}

/** Whether all reading calls are allowed. */
export function cloudPermissionsCheck(accountOf: AccountOf): Check {
  return {
    name: 'cloud-permissions',
    needs,
    unanswered: 'see cloud-credentials',
    run: async () => {
      const found = [...((await accountOf()?.permissions()) ?? [])];
      const refused = found.flatMap(([action, error]) => (error === undefined ? [] : [{ action, error }]));
      const denied = refused.filter(({ error }) => isDomainError(error, 'Denied'));
      if (denied.length > 0)
        return failed(
          `denied: ${someOf(
            denied.map(({ action }) => action),
            20,
          )}`,
          policy,
        );
      const [other] = refused;
      if (other !== undefined) return warning(`unknown: ${other.error.message}`, 'try again');
      return okCheck(`${counted(found.length, 'permission')} to read`);
    },
  };
}

/** Whether a node could be launched from each node class: dry runs of RunInstances and CreateFleet. */
export function launchCheck(accountOf: AccountOf, kube: Pick<KubeClient, 'list'>): Check {
  return {
    name: 'cloud-launch',
    needs: [...needs, 'kubernetes'],
    unanswered: 'see cloud-credentials and permissions',
    deadlineMs: launchDeadlineMs,
    run: async () => {
      const classes = (await kube.list('EC2NodeClass')).filter(isResolved);
      const account = accountOf();
      if (account === undefined || classes.length === 0)
        return skipped('no EC2NodeClass is resolved: see node-classes');
      const pools = await kube.list('NodePool');
      const tried = classes.map(async (nodeClass) => ({
        nodeClass,
        condition: await account.tryOut(nodeClass, pools.filter(launchesFrom(nodeClass))),
      }));
      return launchOutcome(await Promise.all(tried));
    },
  };
}

const launchesFrom =
  ({ metadata }: EC2NodeClass) =>
  ({ spec }: NodePool): boolean =>
    isOfClassKind(spec.template.spec.nodeClassRef, 'EC2NodeClass') &&
    spec.template.spec.nodeClassRef.name === metadata.name;

/** Whether everything for a launch was resolved; permissions are checked separately. */
function isResolved({ status }: EC2NodeClass): boolean {
  const parts = ['SubnetsReady', 'SecurityGroupsReady', 'AMIsReady', 'InstanceProfileReady'];
  return parts.every((type) => isTrue(status?.conditions, type));
}

function launchOutcome(
  tried: readonly { readonly nodeClass: EC2NodeClass; readonly condition: ConditionChange }[],
): CheckOutcome {
  const textsOf = (of: (condition: ConditionChange) => boolean): string[] =>
    tried
      .filter(({ condition }) => of(condition))
      .map(({ nodeClass, condition: { reason = '', message = '' } }) => {
        return `EC2NodeClass ${nameOf(nodeClass)}: ${reason}: ${message}`;
      });
  const refused = textsOf(({ status }) => status === 'False');
  if (refused.length > 0) return failed(someOf(refused, 3), `${policy}, or fix what EC2 names in the node class`);
  const unknown = textsOf((condition) => condition.status === 'Unknown' && !lacksTemplate(condition));
  if (unknown.length > 0) return warning(someOf(unknown, 3), 'try again in a minute');
  const untried = tried.filter(({ condition }) => lacksTemplate(condition));
  const would = `EC2 would launch from ${counted(tried.length - untried.length, 'node class', 'node classes')}`;
  if (untried.length === 0) return okCheck(would);
  const names = someOf(untried.map(({ nodeClass }) => nameOf(nodeClass)));
  const untriedText = `EC2 would make a launch template for ${names}; a launch can be tried only once the first node needs it`;
  return okCheck(untried.length === tried.length ? untriedText : `${would}; ${untriedText}`);
}

/**
 * A template is created for the first launch and deleted when unused for a while. Without it a dry run of a launch is
 * not possible.
 */
const lacksTemplate = ({ status, reason }: ConditionChange): boolean =>
  status === 'Unknown' && reason === 'LaunchTemplateNotFound';

/** Whether the interruption queue exists, is accessible, and is being read. */
export function queueCheck(accountOf: AccountOf): Check {
  return {
    name: 'interruption-queue',
    needs,
    unanswered:
      'see INTERRUPTION_QUEUE: it is the name of a queue in this region, which deploy/iam-cloudformation.yaml makes',
    run: async () => {
      const queue = accountOf()?.queue;
      if (queue === undefined) {
        return warning(
          'INTERRUPTION_QUEUE is not set: spot interruptions come without warning',
          'make a queue with deploy/iam-cloudformation.yaml and set INTERRUPTION_QUEUE (cloud.interruptionQueue)',
        );
      }
      const { waiting } = await queue.look();
      if (waiting === undefined) {
        return warning(
          `${queue.name} exists, but its attributes may not be read`,
          'add sqs:GetQueueAttributes to the role',
        );
      }
      if (waiting <= mostWaiting) return okCheck(`${queue.name}, ${counted(waiting, 'message')} waiting`);
      return warning(
        `${queue.name} has ${counted(waiting, 'message')} not received yet`,
        'the operator that leads receives them: see its log, and operator',
      );
    },
  };
}
