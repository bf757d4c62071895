import { z } from 'zod';
import { integer } from '../schema/fields.js';
import { withRules } from '../schema/rules.js';

/** 1–59000Gi, 1–64000G, 1–58Ti or 1–64T. */
const volumeSize = new RegExp(
  '^((59000|5[0-8][0-9]{3}|[1-4][0-9]{4}|[1-9][0-9]{0,3})Gi' +
    '|(64000|6[0-3][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3})G' +
    '|(5[0-8]|[1-4][0-9]|[1-9])Ti' +
    '|(6[0-4]|[1-5][0-9]|[1-9])T)$',
);

const ebs = withRules(
  z.object({
    deleteOnTermination: z.boolean().optional().describe('Whether the volume is deleted with the instance.'),
    encrypted: z.boolean().optional().describe('Whether the volume is encrypted.'),
    iops: integer({ format: 'int64' }).optional().describe('Operations per second, for gp3, io1 and io2.'),
    kmsKeyID: z.string().optional().describe('Key that encrypts the volume.'),
    snapshotID: z.string().optional().describe('Snapshot from which the volume is created.'),
    throughput: integer({ format: 'int64' }).optional().describe('MiB per second, for gp3.'),
    volumeInitializationRate: integer({ min: 100, max: 300 })
      .optional()
      .describe('MiB per second at which the snapshot is loaded.'),
    volumeSize: z.string().regex(volumeSize).optional().describe('Size in Gi, G, Ti or T; rounded up to whole GiB.'),
    volumeType: z.enum(['standard', 'io1', 'io2', 'gp2', 'sc1', 'st1', 'gp3']).optional().describe('Type of volume.'),
  }),
  {
    message: 'snapshotID or volumeSize must be set',
    cel: 'has(self.snapshotID) || has(self.volumeSize)',
    holds: (self) => self.snapshotID !== undefined || self.volumeSize !== undefined,
  },
  {
    message: 'volumeInitializationRate needs a snapshotID',
    cel: "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
    holds: (self) =>
      self.volumeInitializationRate === undefined || (self.snapshotID !== undefined && self.snapshotID !== ''),
    field: 'snapshotID',
  },
);

export const blockDeviceMappings = withRules(
  z
    .array(
      z.object({
        deviceName: z.string().optional().describe('Name of the device, such as /dev/xvda.'),
        ebs: ebs.optional().describe('The volume.'),
        rootVolume: z
          .boolean()
          .optional()
          .describe('Whether the kubelet stores its files on this volume; at most one.'),
      }),
    )
    .max(50),
  {
    message: 'at most one block device may be the rootVolume',
    cel: 'self.filter(d, has(d.rootVolume) && d.rootVolume).size() <= 1',
    holds: (devices) => devices.filter(({ rootVolume }) => rootVolume === true).length <= 1,
  },
);

export type BlockDeviceMapping = z.output<typeof blockDeviceMappings>[number];
