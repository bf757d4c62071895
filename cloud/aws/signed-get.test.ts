import { expect, test } from 'vitest';
import { signedHeaders } from './signed-get.js';

// The request `get-vanilla` of AWS' published test suite for Signature Version 4.
test('signs as AWS does', () => {
  const headers = signedHeaders({
    url: new URL('https://example.amazonaws.com/'),
    region: 'us-east-1',
    service: 'service',
    credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' },
    now: Date.parse('2015-08-30T12:36:00Z'),
  });
  expect(headers).toEqual({
    'x-amz-date': '20150830T123600Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, ' +
      'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
  });
});
