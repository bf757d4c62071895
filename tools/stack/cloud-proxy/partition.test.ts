import { expect, test } from '@jest/globals';
import { isEndpoint, partitionOf } from './partition.js';

test.each([
  ['ec2.us-west-2.amazonaws.com', 'us-west-2', true],
  ['iam.amazonaws.com', 'us-west-2', true],
  ['ec2.us-east-1.amazonaws.com', 'us-west-2', false],
  ['iam.amazonaws.com', 'us-gov-west-1', false],
  ['iam.us-gov.amazonaws.com', 'us-gov-west-1', true],
  ['api.pricing.us-east-1.amazonaws.com', 'us-gov-west-1', false],
  ['ec2.cn-north-1.amazonaws.com', 'cn-north-1', false],
  ['ec2.cn-north-1.amazonaws.com.cn', 'cn-north-1', true],
  ['api.pricing.cn-northwest-1.amazonaws.com.cn', 'cn-north-1', true],
])('partitions: %s is an endpoint for %s: %s', (host, region, is) => {
  expect(isEndpoint(host, region)).toBe(is);
});

test.each([
  ['eu-central-1', 'aws', 'USD'],
  ['us-gov-east-1', 'aws-us-gov', 'USD'],
  ['cn-northwest-1', 'aws-cn', 'CNY'],
])('partitions: %s is of partition %s and bills in %s', (region, name, currency) => {
  expect(partitionOf(region)).toMatchObject({ name, currency });
});
