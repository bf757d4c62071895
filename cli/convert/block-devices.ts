import { parseQuantity } from '../../core/quantities.js';
import { FieldError } from '../objects/check.js';
import { present } from './fields.js';
import type { Fields } from './fields.js';

const plain = /^[1-9][0-9]{0,4}(Gi|G|Ti|T)$/;
const gibi = 2 ** 30;

/** Block devices are kept; sizes are converted to whole Gi if v1 does not accept their unit. */
export function convertBlockDeviceMappings(owner: Fields): object[] | undefined {
  return owner.objects('blockDeviceMappings')?.map((mapping) => {
    const ebs = mapping.object('ebs');
    const converted = present({
      deviceName: mapping.text('deviceName'),
      rootVolume: mapping.flag('rootVolume'),
      ebs: ebs === undefined ? undefined : volume(ebs),
    });
    mapping.finish();
    return converted;
  });
}

function volume(ebs: Fields): object {
  const size = volumeSize(ebs);
  const snapshotID = ebs.text('snapshotID');
  if (size === undefined && snapshotID === undefined) {
    ebs.notes.check(ebs.at('volumeSize'), 'v1 wants a size or a snapshot; 20Gi, the size that applied, is written');
  }
  const converted = present({
    deleteOnTermination: ebs.flag('deleteOnTermination'),
    encrypted: ebs.flag('encrypted'),
    iops: ebs.whole('iops'),
    kmsKeyID: ebs.text('kmsKeyID'),
    snapshotID,
    throughput: ebs.whole('throughput'),
    volumeInitializationRate: ebs.whole('volumeInitializationRate'),
    volumeSize: size ?? (snapshotID === undefined ? '20Gi' : undefined),
    volumeType: ebs.text('volumeType'),
  });
  ebs.finish();
  return converted;
}

function volumeSize(ebs: Fields): string | undefined {
  const size = ebs.take('volumeSize');
  if (size === undefined || (typeof size === 'string' && plain.test(size))) return size;
  let bytes: number;
  try {
    bytes = parseQuantity(size as string | number, 'volumeSize');
  } catch {
    throw new FieldError(ebs.at('volumeSize'), 'a size such as 20Gi', size);
  }
  const whole = `${Math.max(1, Math.ceil(bytes / gibi))}Gi`;
  ebs.notes.changed(ebs.at('volumeSize'), `${size as string | number} becomes ${whole}`);
  return whole;
}
