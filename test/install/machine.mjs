// What a machine needs to run containers and a kubelet, and what this one lacks of it. Plain JavaScript on Node's built-ins alone.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const packages = [
  'docker.io',
  // Names of a network of containers are resolved by rules within each of them.
  'iptables',
  'iproute2',
  'containernetworking-plugins',
  'conntrack',
  'socat',
  'ethtool',
  'debootstrap',
];
/** By name and bit: for namespaces, mounts and bridges. */
const capabilities = { CAP_NET_ADMIN: 12, CAP_SYS_ADMIN: 21, CAP_SYS_CHROOT: 18, CAP_MKNOD: 27 };

const isInstalled = (name) => spawnSync('dpkg-query', ['-W', name], { stdio: 'ignore' }).status === 0;

/**
 * What this machine lacks for the test of docker-compose.yml besides, for a person; undefined for nothing. moto is installed by the
 * machine's Python, and runs in Debian's.
 */
export function lacksForCompose() {
  const { stdout = '' } = spawnSync(process.env.PYTHON || 'python3', ['--version'], { encoding: 'utf8' });
  const version = /Python (\d+\.\d+)/.exec(stdout ?? '')?.[1];
  return version === '3.11'
    ? undefined
    : `Python is ${version ?? 'absent'}; moto's packages have to be those of Python 3.11`;
}

/** What this machine lacks, for a person; undefined for nothing. Installs Debian packages that are missing. */
export function lacks(say) {
  if (process.platform !== 'linux') return `this is ${process.platform}; containers need Linux`;
  if (process.getuid?.() !== 0) return 'it needs root, for namespaces and bridges';
  const held = BigInt(`0x${/^CapEff:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
  const missing = Object.entries(capabilities).filter(([, bit]) => ((held >> BigInt(bit)) & 1n) === 0n);
  if (missing.length > 0) return `root has no ${missing.map(([name]) => name).join(', ')} here`;
  if (spawnSync('apt-get', ['--version'], { stdio: 'ignore' }).status !== 0) return 'it needs apt-get, for containerd';
  const absent = packages.filter((name) => !isInstalled(name));
  if (absent.length === 0) return undefined;
  say(`installing ${absent.join(', ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', ['update', '-qq'], { stdio: 'ignore', env });
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', ...absent], { stdio: 'pipe', env });
  } catch (error) {
    return `apt-get cannot install ${absent.join(', ')}: ${String(error.stderr ?? error)
      .trim()
      .split('\n')
      .at(-1)}`;
  }
  return undefined;
}
