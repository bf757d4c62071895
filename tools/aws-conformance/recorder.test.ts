import { describe, expect, test } from '@jest/globals';
import type { RecordedCall } from '../stack/cloud-proxy/recording.js';
import { scrubbed } from './recorder.js';

const names = { cluster: 'prod', identity: 'ProdNodes', run: 'mf3k2' };

const ec2 = (body: string, params: object = {}): RecordedCall => {
  return { step: 's', service: 'ec2', action: 'DescribeInstances', params, status: 200, contentType: 'text/xml', body };
};
const bodies = (...calls: RecordedCall[]): string[] => scrubbed(calls, names).map(({ body }) => body);
const bodyOf = (text: string): string => bodies(ec2(text))[0]!;

describe('recordings of an AWS account without its identity', () => {
  test('have placeholders for ids, the same in requests and answers', () => {
    const [first, second] = scrubbed(
      [
        ec2('<a>i-0123456789abcdef0</a><b>subnet-0aaaaaaaaaaaaaaaa</b>'),
        ec2('', { InstanceId: { '1': 'i-0123456789abcdef0' } }),
      ],
      names,
    );
    expect(first!.body).toBe('<a>i-00000000000000001</a><b>subnet-00000000000000001</b>');
    expect(second!.params).toEqual({ InstanceId: { '1': 'i-00000000000000001' } });
  });

  test.each([
    ['<ownerId>998877665544</ownerId>', '<ownerId>123456789012</ownerId>'],
    ['<ip>10.12.0.7</ip><n>ip-10-12-0-7.ec2.internal</n>', '<ip>198.18.0.1</ip><n>ip-198-18-0-1.ec2.internal</n>'],
    ['<m>0a:ff:12:34:56:78</m>', '<m>02:00:00:00:00:00</m>'],
    ['<v6>2600:1f14:abc:de00::17</v6>', '<v6>2001:db8::1</v6>'],
    ['<id>AIPAJ7SEMQ2EXAMPLEAB</id>', '<id>AIPA00000000000000001</id>'],
    [
      '<requestId>59dbff89-35bd-4eac-99ed-be587EXAMPLE</requestId>',
      '<requestId>59dbff89-35bd-4eac-99ed-be587EXAMPLE</requestId>',
    ],
    [
      '<requestId>59dbff89-35bd-4eac-99ed-be5870000000</requestId>',
      '<requestId>00000000-0000-0000-0000-000000000000</requestId>',
    ],
    [
      '<fleetId>fleet-59dbff89-35bd-4eac-99ed-be5870000000</fleetId>',
      '<fleetId>fleet-00000000-0000-0000-0000-000000000001</fleetId>',
    ],
    ['<nextToken>eyJ2IjoiMiJ9</nextToken>', '<nextToken>page-1</nextToken>'],
    ['<groupName>payroll</groupName>', '<groupName>-</groupName>'],
    ['<item><key>owner</key><value>Jane</value></item>', '<item><key>owner</key><value>-</value></item>'],
    [
      '<item><key>karpenter.sh/nodepool</key><value>aws-conformance</value></item>',
      '<item><key>karpenter.sh/nodepool</key><value>aws-conformance</value></item>',
    ],
    [
      '<path>/karpenter/us-west-2/prod/uid/</path><p>prod_12345</p>',
      '<path>/karpenter/us-west-2/recorded/uid/</path><p>recorded_12345</p>',
    ],
    ['<n>prod-eu</n><n>nonprod</n>', '<n>prod-eu</n><n>nonprod</n>'],
    ['<t>aws-conformance-mf3k2-7</t>', '<t>aws-conformance-run-7</t>'],
    ['<role>ProdNodes</role>', '<role>NodeRole</role>'],
    ['<member><Key>owner</Key><Value>Jane</Value></member>', '<member><Key>owner</Key><Value>-</Value></member>'],
    ['<createdBy>arn:aws:sts::998877665544:assumed-role/Jane/x</createdBy>', '<createdBy>-</createdBy>'],
    [
      '<m>User: arn:aws:sts::998877665544:assumed-role/Jane/x is not authorized. Encoded authorization failure message: abc123</m>',
      '<m>User: arn:aws:sts::123456789012:assumed-role/Controller/session is not authorized. Encoded authorization failure message: -</m>',
    ],
    ['<time>2026-11-25T03:09:10.000Z</time><v>1.36.10</v>', '<time>2026-11-25T03:09:10.000Z</time><v>1.36.10</v>'],
  ])('%s is recorded as %s', (text, kept) => {
    expect(bodyOf(text)).toBe(kept);
  });

  test('leave device names alone though the cluster is named like their folder', () => {
    const [call] = scrubbed([ec2('<d>/dev/xvda</d><c>dev</c>')], { ...names, cluster: 'dev' });
    expect(call!.body).toBe('<d>/dev/xvda</d><c>recorded</c>');
  });

  test('have of EKS only what the provider reads, without endpoint and certificates', () => {
    const cluster = {
      name: 'prod',
      arn: 'arn:aws:eks:us-west-2:998877665544:cluster/prod',
      endpoint: 'https://A1B2.gr7.us-west-2.eks.amazonaws.com',
      certificateAuthority: { data: 'U0VDUkVU' },
      kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16' },
      resourcesVpcConfig: { vpcId: 'vpc-0123' },
      tags: { costCenter: 'x' },
    };
    const [body] = bodies({ ...ec2(JSON.stringify({ cluster })), service: 'eks', action: 'GET /clusters/prod' });
    expect(JSON.parse(body!)).toEqual({
      cluster: {
        name: 'recorded',
        arn: 'arn:aws:eks:us-west-2:123456789012:cluster/recorded',
        endpoint: 'https://cluster.example',
        certificateAuthority: { data: 'Q0E=' },
        kubernetesNetworkConfig: { serviceIpv4Cidr: '198.18.0.1/16' },
      },
    });
  });

  test('have no user data of an instance', () => {
    const params = { LaunchTemplateData: { UserData: 'Y2VydGlmaWNhdGU=', ImageId: 'ami-0123456789abcdef0' } };
    const [call] = scrubbed([ec2('<userData>Y2VydGlmaWNhdGU=</userData>', params)], names);
    expect(JSON.stringify(call)).not.toContain('Y2VydGlmaWNhdGU=');
  });

  test('are not written where anything of the account is left', () => {
    // A number with a digit before it is no account's by its form.
    const arn = 'arn:aws:iam::998877665544:role/x';
    expect(() => scrubbed([ec2(`<a>${arn}</a><odd>1998877665544</odd>`)], names)).toThrow(
      'still has 12 characters that are the account’s'.replace('’', "'"),
    );
  });
});
