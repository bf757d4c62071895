import type { Program } from './described.js';

// What pages use of programs that are not ours. test/live/documented-programs.test.ts holds kubectl and temporal against the programs' own help,
// test/install/chart.test.ts helm.

export const kubectl: Program = {
  global: { '-n': 'value', '--namespace': 'value', '--kubeconfig': 'value' },
  commands: {
    apply: { '-f': 'value' },
    cordon: { '--selector': 'value' },
    'create clusterrolebinding': { '--clusterrole': 'value', '--group': 'value' },
    'create deployment': { '--image': 'value', '--replicas': 'value' },
    'create namespace': {},
    'create secret generic': { '--from-file': 'value', '--from-literal': 'value' },
    delete: {},
    describe: {},
    diff: { '-f': 'value' },
    drain: { '--ignore-daemonsets': 'switch', '--delete-emptydir-data': 'switch' },
    exec: {},
    get: { '-A': 'switch', '-o': 'value', '--watch': 'switch', '--field-selector': 'value' },
    logs: { '--follow': 'switch' },
    'port-forward': {},
    scale: { '--replicas': 'value' },
    'set resources': { '--requests': 'value' },
  },
};

const release = { '--set': 'value', '--values': 'value' } as const;

export const helm: Program = {
  global: { '--namespace': 'value' },
  commands: {
    install: { ...release, '--create-namespace': 'switch' },
    'repo add': {},
    rollback: {},
    uninstall: { '--no-hooks': 'switch' },
    upgrade: { ...release, '--reuse-values': 'switch' },
  },
};

export const docker: Program = {
  global: {},
  commands: {
    build: { '--tag': 'value' },
    'buildx build': { '--platform': 'value', '--build-arg': 'value', '--tag': 'value' },
    'buildx imagetools inspect': { '--format': 'value' },
    'compose cp': {},
    'compose up': { '--build': 'switch', '--wait': 'switch' },
    login: { '--username': 'value', '--password-stdin': 'switch' },
    push: {},
  },
};

export const temporal: Program = {
  global: {},
  commands: {
    'operator namespace create': { '--namespace': 'value', '--retention': 'value' },
    'operator namespace update': { '--namespace': 'value', '--retention': 'value' },
    'schedule list': {},
    'server start-dev': { '--db-filename': 'value' },
    'worker deployment describe': { '--name': 'value' },
    'workflow signal': { '--workflow-id': 'value', '--name': 'value', '--input': 'value' },
    'workflow terminate': { '--query': 'value', '--reason': 'value', '--yes': 'switch' },
    'workflow update execute': { '--workflow-id': 'value', '--name': 'value', '--input': 'value' },
  },
};

/** Of services whose client the project does not have, as AWS documents them; the others are held against their clients. */
export const aws: Program = {
  global: { '--region': 'value', '--query': 'value', '--output': 'value' },
  commands: {
    'autoscaling delete-tags': { '--tags': 'value' },
    'autoscaling suspend-processes': { '--auto-scaling-group-name': 'value', '--scaling-processes': 'value' },
    'cloudformation deploy': {
      '--stack-name': 'value',
      '--capabilities': 'value',
      '--template-file': 'value',
      '--parameter-overrides': 'value',
    },
    'ecr create-repository': { '--repository-name': 'value' },
    'ecr get-login-password': {},
    'sts get-caller-identity': {},
  },
};
