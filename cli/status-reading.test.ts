import { describe, expect, test } from '@jest/globals';
import { DomainError } from '../core/failures.js';
import type { KubeClient } from '../kube/port.js';
import { clusterRows } from './status-objects.js';
import { arePoolsUnread, StatusReading } from './status-reading.js';

const failing = (errors: Readonly<Record<string, Error>>) =>
  ({
    list: async (kind: string) => (kind in errors ? Promise.reject(errors[kind]!) : Promise.resolve([])),
  }) as unknown as Pick<KubeClient, 'list'>;

const pending = {
  metadata: { namespace: 'shop', name: 'web' },
  spec: {},
  status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
};

describe('status: what could not be read (surfaces/nothing-unread-is-silent)', () => {
  test('has the reason, and the rest is shown', async () => {
    const reading = new StatusReading();
    const forbidden = new DomainError('Denied', 'events is forbidden');
    const rows = await clusterRows(reading.kube(failing({ Event: forbidden })), [pending as never], 0);

    expect(rows.unplaced).toEqual([]);
    expect(reading.unread).toEqual(['Events: events is forbidden']);
  });

  test('is not a node class kind of another cloud, but is a missing NodePool kind', async () => {
    const reading = new StatusReading();
    const absent = new DomainError('NotFound', 'the server could not find the requested resource');
    await clusterRows(reading.kube(failing({ KWOKNodeClass: absent, NodePool: absent })), [], 0);

    expect(reading.unread).toEqual(['NodePools: the server could not find the requested resource']);
  });

  test('with the API server down it is asked once', async () => {
    const away = new DomainError('Unavailable', 'connect ECONNREFUSED');
    const reading = new StatusReading();
    let asked = 0;
    const list = async (): Promise<never> => {
      asked++;
      return Promise.reject(away);
    };
    const kube = reading.kube({ list });
    expect(await kube.list('Pod')).toEqual([]);
    expect(await clusterRows(kube, [pending as never], 0)).toMatchObject({ pools: [], claims: [] });
    expect(asked).toBe(1);
    expect(reading.unread).toEqual(['all that Kubernetes has: connect ECONNREFUSED']);
  });

  test('of one kind: the other kinds are read', async () => {
    const reading = new StatusReading();
    const broken = new DomainError('Unavailable', 'conversion webhook failed', { status: 500 });
    const kube = reading.kube(failing({ NodeClaim: broken }));
    expect(await kube.list('NodeClaim')).toEqual([]);
    expect(await kube.list('NodePool')).toEqual([]);
    expect(reading.unread).toEqual(['NodeClaims: conversion webhook failed']);
    expect(arePoolsUnread(reading.unread)).toBe(false);
    expect(arePoolsUnread(['NodePools: nodepools is forbidden'])).toBe(true);
  });

  test('of another kind is not tried after a read without an answer', async () => {
    const reading = new StatusReading();
    await reading.or('the lease', Promise.reject(new DomainError('Unavailable', 'silent for 10 s')), undefined);
    expect(await reading.kube({ list: () => Promise.reject(new Error('asked')) }).list('Pod')).toEqual([]);
    expect(reading.unread).toEqual(['all that Kubernetes has: silent for 10 s']);
  });
});
