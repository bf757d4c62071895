import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { repositoryRoot } from '../paths.js';

interface ComposeFile {
  services: Record<string, { image?: string; depends_on?: string[] | Record<string, unknown>; ports?: string[] }>;
}

const read = (file: string): string => readFileSync(join(repositoryRoot(), file), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true }) as ComposeFile;

describe('docker-compose.yml', () => {
  test('runs the versions that the local stack builds', () => {
    const modules = read('tools/stack/kubernetes/go.mod');
    const version = (module: string): string => new RegExp(`${module} (v[\\d.]+)`).exec(modules)?.[1] ?? '';
    const image = (service: string): string => compose.services[service]?.image ?? '';

    for (const service of ['kubernetes', 'kube-scheduler', 'kube-controller-manager', 'manifests']) {
      expect(image(service)).toContain(`:${version('k8s.io/kubernetes')}`);
    }
    expect(image('kwok')).toContain(`:${version('sigs.k8s.io/kwok')}`);
    expect(image('etcd')).toContain(`:${version('go.etcd.io/etcd/server/v3')}`);
    expect(image('moto')).toContain(
      `:${/moto\S*==([\d.]+)/.exec(read('tools/stack/moto/requirements.txt'))?.[1] ?? ''}`,
    );
  });

  test('starts services only after existing ones', () => {
    const names = Object.keys(compose.services);
    for (const { depends_on: dependencies = [] } of Object.values(compose.services)) {
      const needed = Array.isArray(dependencies) ? dependencies : Object.keys(dependencies);
      for (const name of needed) expect(names).toContain(name);
    }
  });

  test('listens on loopback alone', () => {
    for (const { ports = [] } of Object.values(compose.services)) {
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });
});
