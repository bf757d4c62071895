import proto from '@temporalio/proto';
import { millisecondsOf } from '../../../core/time.js';

const { Timestamp } = proto.google.protobuf;

/** Milliseconds of a duration on the wire; undefined where there is none, or none is meant by zero. */
export function millisOf(duration: Parameters<typeof millisecondsOf>[0]): number | undefined {
  const milliseconds = millisecondsOf(duration);
  return milliseconds === 0 ? undefined : milliseconds;
}

/** Milliseconds of the epoch as Temporal's API has them. */
export function timestampOf(ms: number): proto.google.protobuf.Timestamp {
  const seconds = Math.floor(ms / 1000);
  return Timestamp.fromObject({ seconds, nanos: Math.round((ms - seconds * 1000) * 1e6) });
}
