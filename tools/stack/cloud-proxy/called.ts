import type { Protocol } from './aws-error.js';
import { parseQuery, type Params } from './query.js';

/** What a request to AWS asks for. */
export interface Called {
  readonly service: string;
  /** A name such as `CreateFleet`; method and path where a service has no names. */
  readonly action: string;
  readonly protocol: Protocol;
  readonly params: Params | Record<string, unknown>;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const servicesByTarget: Readonly<Record<string, string>> = {
  AmazonSQS: 'sqs',
  AmazonSSM: 'ssm',
  AWSPriceListService: 'pricing',
  AWSEvents: 'events',
};

/** Takes a request to `service`, as it was signed for, apart. */
export function calledBy({ method, path, headers, body }: Sent, service: string): Called {
  const target = headers['x-amz-target'];
  if (target !== undefined) {
    const [prefix = '', action = ''] = target.split('.');
    const params = JSON.parse(body === '' ? '{}' : body) as Record<string, unknown>;
    return { service: servicesByTarget[prefix.split('_')[0]!] ?? service, action, protocol: 'json', params };
  }
  if (headers['content-type']?.includes('x-www-form-urlencoded') === true) {
    const params = parseQuery(body);
    const action = typeof params['Action'] === 'string' ? params['Action'] : '';
    return { service, action, protocol: service === 'ec2' ? 'ec2' : 'query', params };
  }
  return { service, action: `${method} ${path.split('?')[0]!}`, protocol: 'rest', params: {} };
}
