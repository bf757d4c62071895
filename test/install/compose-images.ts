import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Toolchain } from '../../tools/stack/toolchain.js';
import { buildStandIn, type Docker, type StandIn } from './docker.js';

const services = 'stowage-test/services:1';
const postgresqlBin = '/usr/lib/postgresql/15/bin';
const asPostgres = 'setpriv --reuid=postgres --regid=postgres --clear-groups';

/** As the official image: a cluster of the user that the environment names, on its volume. */
const postgresqlScript = `#!/bin/sh
set -e
data=/var/lib/postgresql/data/cluster
mkdir -p "$data" && chown -R postgres:postgres /var/lib/postgresql
if [ ! -s "$data/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" > /tmp/password && chown postgres /tmp/password
  ${asPostgres} initdb -D "$data" -U "$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256
  rm /tmp/password
  echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
fi
# Where pg_isready looks.
mkdir -p /var/run/postgresql && chown postgres /var/run/postgresql
exec ${asPostgres} postgres -D "$data" -c listen_addresses='*' -c unix_socket_directories=/var/run/postgresql
`;

/** As auto-setup: databases, schemas, server, namespace. */
const temporalScript = `#!/bin/sh
set -e
export PGHOST="$POSTGRES_SEEDS"
sql() { temporal-sql-tool --plugin "$DB" --ep "$POSTGRES_SEEDS" -p "$DB_PORT" -u "$POSTGRES_USER" --pw "$POSTGRES_PWD" --db "$@"; }
for pair in temporal:temporal temporal_visibility:visibility; do
  db=\${pair%%:*}
  sql "$db" create
  sql "$db" setup-schema -v 0.0 || true
  sql "$db" update-schema -d "/etc/temporal/schema/\${pair##*:}/versioned"
done
(
  until temporal operator cluster health --address 127.0.0.1:7233; do sleep 1; done
  temporal operator namespace create --address 127.0.0.1:7233 --namespace default --retention 24h || true
) &
exec temporal-server --root /etc/temporal --config config --env docker start
`;

const database = (name: string): object => ({
  sql: {
    ...{ pluginName: 'postgres12', databaseName: name, connectAddr: 'postgresql:5432', connectProtocol: 'tcp' },
    ...{ user: 'temporal', password: 'temporal', maxConns: 20, maxIdleConns: 20, maxConnLifetime: '1h' },
  },
});
const service = (grpcPort: number, membershipPort: number): object => ({
  rpc: { grpcPort, membershipPort, bindOnIP: '0.0.0.0' },
});

/** One process with all four services, as auto-setup runs it. */
const temporalConfig = {
  log: { stdout: true, level: 'warn' },
  persistence: {
    ...{ defaultStore: 'default', visibilityStore: 'visibility', numHistoryShards: 4 },
    datastores: { default: database('temporal'), visibility: database('temporal_visibility') },
  },
  global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
  services: {
    frontend: service(7233, 6933),
    matching: service(7235, 6935),
    history: service(7234, 6934),
    worker: service(7239, 6939),
  },
  clusterMetadata: {
    ...{ enableGlobalNamespace: false, failoverVersionIncrement: 10 },
    ...{ masterClusterName: 'active', currentClusterName: 'active' },
    clusterInformation: {
      active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: '127.0.0.1:7233' },
    },
  },
  publicClient: { hostPort: '127.0.0.1:7233' },
};

const uiConfig = {
  ...{ temporalGrpcAddress: 'temporal:7233', host: '0.0.0.0', port: 8080, enableUi: true },
  ...{ defaultNamespace: 'default', cors: { allowOrigins: ['*'] }, auth: { enabled: false } },
};

const asJson = (value: object): { text: string } => ({ text: JSON.stringify(value) });

/** One program alone, found by its name. */
function ofProgram(tag: string, name: string, program: string, entry = false): StandIn {
  const path = `/usr/local/bin/${name}`;
  const lines = ['FROM scratch', 'ENV PATH=/usr/local/bin', `COPY ${name} ${path}`];
  return {
    tag,
    files: { [name]: program },
    dockerfile: [...lines, ...(entry ? [`ENTRYPOINT ["${path}"]`] : []), ''].join('\n'),
  };
}

function standIns(tools: Toolchain): StandIn[] {
  const { temporalServer } = tools;
  const inServer = (name: string): string => join(temporalServer, name);
  const kubernetes = (name: string): string => `registry.k8s.io/${name}:v1.36.1`;
  return [
    ofProgram('quay.io/coreos/etcd:v3.6.8', 'etcd', tools.etcd),
    ofProgram(kubernetes('kube-apiserver'), 'kube-apiserver', tools.apiserver),
    ofProgram(kubernetes('kube-scheduler'), 'kube-scheduler', tools.scheduler),
    ofProgram(kubernetes('kube-controller-manager'), 'kube-controller-manager', tools.controllerManager),
    ofProgram(kubernetes('kubectl'), 'kubectl', tools.kubectl, true),
    ofProgram('registry.k8s.io/kwok/kwok:v0.8.0', 'kwok', tools.kwok, true),
    {
      tag: 'postgres:16',
      files: { 'start.sh': { text: postgresqlScript } },
      dockerfile: `FROM ${services}\nENV PATH=${postgresqlBin}:/usr/local/bin:/usr/bin:/bin\nCOPY start.sh /\nENTRYPOINT ["/start.sh"]\n`,
    },
    {
      tag: 'temporalio/auto-setup:1.29.1',
      files: {
        temporal: tools.temporal,
        'temporal-server': inServer('bin/temporal-server'),
        'temporal-sql-tool': inServer('bin/temporal-sql-tool'),
        schema: inServer('schema'),
        'docker.yaml': asJson(temporalConfig),
        'start.sh': { text: temporalScript },
      },
      dockerfile: `FROM ${services}
COPY temporal temporal-server temporal-sql-tool /usr/local/bin/
ADD schema.tar /etc/temporal/schema/
COPY docker.yaml /etc/temporal/config/docker.yaml
COPY start.sh /
ENTRYPOINT ["/start.sh"]
`,
    },
    {
      tag: 'temporalio/ui:2.42.1',
      files: { 'temporal-ui': inServer('bin/temporal-ui'), 'docker.yaml': asJson(uiConfig) },
      dockerfile: `FROM ${services}
COPY temporal-ui /usr/local/bin/
COPY docker.yaml /etc/ui/config/docker.yaml
ENTRYPOINT ["temporal-ui", "--root", "/etc/ui", "--env", "docker", "start"]
`,
    },
    {
      tag: 'motoserver/moto:5.2.5',
      files: { packages: sitePackages(tools.motoPython) },
      dockerfile: `FROM ${services}
ADD packages.tar /packages/
ENV PYTHONPATH=/packages PYTHONDONTWRITEBYTECODE=1
ENTRYPOINT ["python3", "-m", "moto.server", "--host=0.0.0.0", "--port=5000"]
`,
    },
  ];
}

/** Of the virtual environment that has moto. */
function sitePackages(python: string): string {
  const lib = join(python, '../../lib');
  const version = readdirSync(lib).find((name) => name.startsWith('python3')) ?? '';
  return join(lib, version, 'site-packages');
}

/** Every public image that docker-compose.yml names, of this machine's own parts: nothing is pulled. */
export async function buildComposeImages(docker: Docker, folder: string, tools: Toolchain): Promise<string[]> {
  await docker.run(['import', tools.servicesImage, services]);
  const made = standIns(tools);
  for (const each of made) await buildStandIn(docker, folder, each);
  return made.map(({ tag }) => tag);
}
