import { stringify } from 'yaml';
import { iamPolicy } from './iam-policy.js';

/** The policy as JSON with shell-style variables, for `envsubst` and other tools. */
export function policyJson(): string {
  const policy = iamPolicy({
    partition: '${AWS_PARTITION}',
    region: '${AWS_REGION}',
    account: '${AWS_ACCOUNT_ID}',
    cluster: '${CLUSTER_NAME}',
    nodeRole: '${NODE_ROLE_NAME}',
    queue: '${INTERRUPTION_QUEUE}',
  });
  return `${JSON.stringify(policy, null, 2)}\n`;
}

const events: Readonly<Record<string, object>> = {
  ScheduledChangeRule: { source: ['aws.health'], 'detail-type': ['AWS Health Event'] },
  SpotInterruptionRule: { source: ['aws.ec2'], 'detail-type': ['EC2 Spot Instance Interruption Warning'] },
  RebalanceRule: { source: ['aws.ec2'], 'detail-type': ['EC2 Instance Rebalance Recommendation'] },
  InstanceStateChangeRule: { source: ['aws.ec2'], 'detail-type': ['EC2 Instance State-change Notification'] },
  CapacityReservationInterruptionRule: {
    source: ['aws.ec2'],
    'detail-type': ['EC2 Capacity Reservation Instance Interruption Warning'],
  },
};

const queueArn = { 'Fn::GetAtt': ['InterruptionQueue', 'Arn'] };

/** Only EventBridge may send, and only over TLS. */
const queuePolicy = {
  Type: 'AWS::SQS::QueuePolicy',
  Properties: {
    Queues: [{ Ref: 'InterruptionQueue' }],
    PolicyDocument: {
      Version: '2012-10-17',
      Statement: [
        {
          Sid: 'EventsMaySend',
          Effect: 'Allow',
          Principal: { Service: 'events.amazonaws.com' },
          Action: 'sqs:SendMessage',
          Resource: queueArn,
          Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
        },
        {
          Sid: 'NoPlainText',
          Effect: 'Deny',
          Principal: '*',
          Action: 'sqs:*',
          Resource: queueArn,
          Condition: { Bool: { 'aws:SecureTransport': false } },
        },
      ],
    },
  },
};

/** A CloudFormation stack with the policy, the interruption queue and the EventBridge rules for it. */
export function cloudFormationYaml(): string {
  const policy = iamPolicy({
    partition: '${AWS::Partition}',
    region: '${AWS::Region}',
    account: '${AWS::AccountId}',
    cluster: '${ClusterName}',
    nodeRole: '${NodeRoleName}',
    queue: '${ClusterName}',
  });
  return stringify(
    {
      AWSTemplateFormatVersion: '2010-09-09',
      Description: 'What Stowage needs in AWS: its policy, and a queue with interruption notices',
      Parameters: {
        ClusterName: { Type: 'String', Description: 'Name of the EKS cluster' },
        NodeRoleName: { Type: 'String', Description: 'Name of the role that nodes run under' },
      },
      Resources: {
        ControllerPolicy: {
          Type: 'AWS::IAM::ManagedPolicy',
          Properties: {
            ManagedPolicyName: { 'Fn::Sub': 'StowageControllerPolicy-${ClusterName}' },
            // `Fn::Sub` substitutes only in text, and some keys contain the cluster's name.
            PolicyDocument: { 'Fn::Sub': JSON.stringify(policy, null, 2) },
          },
        },
        InterruptionQueue: {
          Type: 'AWS::SQS::Queue',
          Properties: {
            QueueName: { 'Fn::Sub': '${ClusterName}' },
            MessageRetentionPeriod: 300,
            SqsManagedSseEnabled: true,
          },
        },
        InterruptionQueuePolicy: queuePolicy,
        ...Object.fromEntries(eventRules()),
      },
    },
    { lineWidth: 0 },
  );
}

function eventRules(): [string, object][] {
  return Object.entries(events).map(([name, pattern]): [string, object] => [
    name,
    {
      Type: 'AWS::Events::Rule',
      Properties: { EventPattern: pattern, Targets: [{ Id: 'InterruptionQueue', Arn: queueArn }] },
    },
  ]);
}
