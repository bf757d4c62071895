import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Component } from './components.js';
import { machineImages } from './cloud-proxy/images.js';
import { answers } from './http.js';

/** How moto's Python runs it on a port of loopback. `folder` holds the machine images that it knows. */
export function motoProgram(
  folder: string,
  port: number,
): Pick<Component, 'address' | 'args' | 'ready'> & { env: Record<string, string> } {
  mkdirSync(folder, { recursive: true });
  const images = join(folder, 'images.json');
  writeFileSync(images, JSON.stringify(machineImages()));
  const address = `http://127.0.0.1:${port}`;
  return {
    address,
    args: ['-m', 'moto.server', '--host=127.0.0.1', `--port=${port}`],
    env: {
      MOTO_AMIS_PATH: images,
      MOTO_ENABLE_AMI_VALIDATION: '1',
      MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION: '1',
      PYTHONDONTWRITEBYTECODE: '',
      PYTHONUNBUFFERED: '1',
    },
    ready: () => answers(`${address}/moto-api/`),
  };
}
