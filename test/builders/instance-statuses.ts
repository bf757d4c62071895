import type { DescribeInstanceStatusCommandInput, InstanceStatus } from '@aws-sdk/client-ec2';

const filters: Readonly<Record<string, (status: InstanceStatus) => readonly (string | undefined)[]>> = {
  'event.code': ({ Events = [] }) => Events.map(({ Code }) => Code),
  'instance-status.status': ({ InstanceStatus }) => [InstanceStatus?.Status],
  'system-status.status': ({ SystemStatus }) => [SystemStatus?.Status],
};

/** The statuses that EC2 answers with: those that all filters hold for. */
export const statusesFor = (
  statuses: readonly InstanceStatus[],
  { Filters = [] }: DescribeInstanceStatusCommandInput,
): InstanceStatus[] =>
  statuses.filter((status) =>
    Filters.every(({ Name = '', Values = [] }) => filters[Name]!(status).some((each) => each && Values.includes(each))),
  );
