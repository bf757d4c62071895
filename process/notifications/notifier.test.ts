import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { regarding } from '../../core/events.js';
import type { EventToPublish } from '../../kube/port.js';
import { Notifier, notifying, signatureOf, type NotifierOptions } from './notifier.js';

interface Received {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

const event = (name: string, reason = 'AwaitsApproval'): EventToPublish => ({
  ...{ regarding: regarding('Node', { name }), type: 'Warning', reason, message: `${reason} ${name}` },
});

describe('notifications (surfaces/notifications)', () => {
  let server: Server;
  let received: Received[];
  /** Status of each answer, one after the other; the last one stays. */
  let answers: (number | 'cut')[];
  let folder: string;
  let warnings: string[];

  beforeEach(async () => {
    received = [];
    warnings = [];
    answers = [200];
    folder = mkdtempSync(join(tmpdir(), 'notify-'));
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (part) => (body += String(part)));
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
        if (answer === 'cut') request.socket.destroy();
        else response.writeHead(answer).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  });

  const notifier = (more: Partial<NotifierOptions> = {}): Notifier =>
    new Notifier({
      ...{ cluster: 'prod', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` },
      log: {
        warn: (_facts: unknown, text?: string) => void warnings.push(String(text)),
        info: () => undefined,
      },
      ...{ retriesAfterMs: [1, 1, 1], now: () => 1_700_000_000_000, ...more },
    });
  const parsed = () => received.map(({ body }) => JSON.parse(body) as { id: string; type: string; subject: string });

  test('a password in the URL is sent as basic authentication, and messages contain neither it nor another secret', async () => {
    const { port } = server.address() as AddressInfo;
    const said: string[] = [];
    const log = { warn: (facts: object) => void said.push(JSON.stringify(facts)), info: () => undefined };
    const subject = notifier({ url: `http://user:p%40ss@127.0.0.1:${port}/hook` });
    subject.notify(event('a'));
    await subject.idle();
    const broken = notifier({ url: 'http://user:hunter2@127.0.0.1:1/', secretFile: 'hunter2', log });
    broken.notify(event('b'));
    await broken.idle();

    expect(received[0]?.headers['authorization']).toBe(`Basic ${Buffer.from('user:p@ss').toString('base64')}`);
    expect(said).toHaveLength(1);
    expect(said[0]).not.toContain('hunter2');
  });

  test('are CloudEvents, signed over the bytes that are sent', async () => {
    const secretFile = join(folder, 'secret');
    // As `$(cat FILE)` of docs/notifications.md has it: without its line end alone.
    writeFileSync(secretFile, ' s3 cret \n');
    const subject = notifier({ secretFile });
    subject.notify(event('n1'));
    await subject.idle();

    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(headers['content-type']).toBe('application/cloudevents+json');
    expect(headers['x-stowage-signature-256']).toBe(signatureOf(' s3 cret ', body)['x-stowage-signature-256']);
    expect(JSON.parse(body)).toMatchObject({
      ...{ specversion: '1.0', source: '/stowage/prod', type: 'dev.stowage.question', subject: 'node/n1' },
      data: { cluster: 'prod', reason: 'AwaitsApproval', message: 'AwaitsApproval n1', object: { kind: 'Node' } },
    });
  });

  test('are retried to a failing receiver with the same id, in order', async () => {
    answers = ['cut', 503, 429, 200];
    const subject = notifier();
    subject.notify(event('n1'));
    subject.notify(event('n2', 'DrainForced'));
    await subject.idle();

    expect(parsed().map(({ subject }) => subject)).toEqual(['node/n1', 'node/n1', 'node/n1', 'node/n1', 'node/n2']);
    expect(new Set(parsed().map(({ id }) => id)).size).toBe(2);
    expect(warnings).toEqual([]);
  });

  test('that are refused for good, or too often, are dropped with a warning, and the next one is sent', async () => {
    answers = [400, 500, 500, 500, 500, 200];
    const subject = notifier();
    for (const name of ['bad', 'late', 'good']) subject.notify(event(name));
    await subject.idle();

    expect(parsed().map(({ subject }) => subject)).toEqual([
      'node/bad',
      ...Array<string>(4).fill('node/late'),
      'node/good',
    ]);
    expect(warnings).toEqual(['a notification was not taken', 'a notification was not taken']);
  });

  test('do not block on a silent receiver, and a limited number waits', () => {
    const never = notifier({ post: (() => new Promise(() => undefined)) as never });
    const published: string[] = [];
    const recorder = notifying(
      { publish: ({ regarding: { name } }: EventToPublish) => void published.push(name) },
      never,
    );
    for (let i = 0; i < 1500; i++) recorder.publish(event(`n${i}`));
    never.end();

    expect(published).toHaveLength(1500);
    expect(warnings).toEqual(['notifications are dropped: the receiver does not take them']);
  });

  test('are sent once for the same event, and only for requested kinds', async () => {
    const subject = notifier();
    for (let i = 0; i < 3; i++) subject.notify(event('n1'));
    subject.notify(event('n1', 'Nominated'));
    subject.notify(event('n1', 'constructor'));
    await subject.idle();

    expect(parsed()).toHaveLength(1);
  });

  test('about a node are not sent again for its NodeClaim', async () => {
    const subject = notifier();
    const blocked = (kind: 'Node' | 'NodeClaim', name: string, message: string): void =>
      subject.notify({ regarding: regarding(kind, { name }), type: 'Warning', reason: 'FailedDraining', message });
    blocked('Node', 'n1', 'stuck');
    blocked('NodeClaim', 'c1', 'stuck');
    blocked('NodeClaim', 'c2', 'for another reason');
    blocked('Node', 'n2', 'stuck');
    await subject.idle();

    expect(parsed().map(({ subject }) => subject)).toEqual(['node/n1', 'nodeclaim/c2', 'node/n2']);
  });
});
