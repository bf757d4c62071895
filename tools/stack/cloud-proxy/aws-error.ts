import { randomUUID } from 'node:crypto';
import { element, formatXml } from './xml.js';

/** An error answer of an AWS service. */
export class AwsError extends Error {
  override readonly name = 'AwsError';
  constructor(
    readonly code: string,
    message: string,
    readonly status = 400,
  ) {
    super(message);
  }
}

export type Protocol = 'ec2' | 'query' | 'json' | 'rest';

export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: Buffer | string;
}

/** An error in the shape of the service's protocol. */
export function errorReply(protocol: Protocol, { code, message, status }: AwsError): Reply {
  const requestId = randomUUID();
  if (protocol === 'json' || protocol === 'rest') {
    return {
      status,
      headers: {
        'content-type': 'application/x-amz-json-1.1',
        'x-amzn-errortype': code,
        'x-amzn-requestid': requestId,
      },
      body: JSON.stringify({ __type: code, message, Message: message }),
    };
  }
  const details = [element('Code', code), element('Message', message)];
  const answer =
    protocol === 'ec2'
      ? element('Response', [element('Errors', [element('Error', details)]), element('RequestID', requestId)])
      : element('ErrorResponse', [
          element('Error', [element('Type', status < 500 ? 'Sender' : 'Receiver'), ...details]),
          element('RequestId', requestId),
        ]);
  return {
    status,
    headers: { 'content-type': 'text/xml;charset=UTF-8' },
    body: `<?xml version="1.0"?>${formatXml(answer)}`,
  };
}
