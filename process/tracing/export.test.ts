import { expect, test } from '@jest/globals';
import { ExportResultCode } from '@opentelemetry/core';
import type { ExportResult } from '@opentelemetry/core';
import type { SpanExporter } from '@opentelemetry/sdk-trace-base';
import { sayingOnce } from './export.js';

test('lost traces are logged once, and once when they are sent again', () => {
  const lines: string[] = [];
  const say = (_: object, message: string): void => void lines.push(message);
  const answers: ExportResult[] = [
    { code: ExportResultCode.SUCCESS },
    { code: ExportResultCode.FAILED, error: new Error('connect ECONNREFUSED') },
    { code: ExportResultCode.FAILED, error: new Error('connect ECONNREFUSED') },
    { code: ExportResultCode.SUCCESS },
  ];
  const collector: SpanExporter = { export: (_, done) => done(answers.shift()!), shutdown: () => Promise.resolve() };
  const results: ExportResultCode[] = [];
  const exporter = sayingOnce(collector, 'http://collector:4318/v1/traces', {
    ...{ debug: say, info: say, warn: say, error: say },
  });
  for (let sent = 0; sent < 4; sent++) exporter.export([], ({ code }) => results.push(code));

  expect(results).toEqual([0, 1, 1, 0]);
  expect(lines).toEqual(['traces cannot be sent, and are lost', 'traces are sent again']);
});
