import type { AmiFamily } from '../../api/aws/ec2-node-class.js';
import type { BlockDeviceMapping } from '../../api/aws/block-devices.js';

/**
 * Differences between AMI families that matter to Stowage (instance-types/family-traits, launch-templates/user-data).
 */
interface FamilyTraits {
  readonly os: 'linux' | 'windows';
  /** Value of `node.kubernetes.io/windows-build`. */
  readonly windowsBuild?: string;
  /** The device for ephemeral storage of pods. */
  readonly ephemeralDevice?: string;
  readonly blockDevices: readonly BlockDeviceMapping[];
  /** Whether ENIs limit the number of pods; otherwise 110. */
  readonly eniLimitsPods: boolean;
  readonly podsPerCore: boolean;
  /** Whether memory reserved for kubelet follows the ENI pod limit, also where `maxPods` is set. */
  readonly memoryReservedByEniPods: boolean;
  /** Whether kubelet registers the taints, so that Stowage must not write them to the Node. */
  readonly kubeletTaints: boolean;
}

const gp3 = (deviceName: string, volumeSize: string): BlockDeviceMapping => ({
  deviceName,
  ebs: { encrypted: true, volumeType: 'gp3', volumeSize, deleteOnTermination: true },
});

const amazonLinux: FamilyTraits = {
  os: 'linux',
  ephemeralDevice: '/dev/xvda',
  blockDevices: [gp3('/dev/xvda', '20Gi')],
  eniLimitsPods: true,
  podsPerCore: true,
  memoryReservedByEniPods: true,
  kubeletTaints: true,
};

const windows = (windowsBuild: string): FamilyTraits => ({
  os: 'windows',
  windowsBuild,
  ephemeralDevice: '/dev/sda1',
  blockDevices: [gp3('/dev/sda1', '50Gi')],
  eniLimitsPods: false,
  podsPerCore: true,
  memoryReservedByEniPods: false,
  kubeletTaints: true,
});

export const families: Readonly<Record<AmiFamily, FamilyTraits>> = {
  AL2: amazonLinux,
  AL2023: amazonLinux,
  Bottlerocket: {
    os: 'linux',
    ephemeralDevice: '/dev/xvdb',
    blockDevices: [gp3('/dev/xvda', '4Gi'), gp3('/dev/xvdb', '20Gi')],
    eniLimitsPods: true,
    podsPerCore: false,
    memoryReservedByEniPods: false,
    kubeletTaints: true,
  },
  Custom: {
    os: 'linux',
    blockDevices: [],
    eniLimitsPods: true,
    podsPerCore: true,
    memoryReservedByEniPods: true,
    kubeletTaints: false,
  },
  Windows2019: windows('10.0.17763'),
  Windows2022: windows('10.0.20348'),
  Windows2025: windows('10.0.26100'),
};
