import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import { messageOf } from '../core/error-message.js';
import { Unreadable } from './unreadable.js';

/**
 * The SDK's default converter, but for payloads that it cannot read: another encoding (`json/protobuf` can be chosen in the Temporal
 * UI), or no JSON. Anybody who may reach Temporal can signal one by hand; if it threw, the workflow task would fail for ever. The
 * handlers refuse what stands for it (`handlers.ts`). Bundled with the workflows, and for them alone.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),
  fromPayload: <T>(...[payload, context, hint]: Parameters<typeof defaultPayloadConverter.fromPayload<T>>): T => {
    try {
      return defaultPayloadConverter.fromPayload(payload, context, hint);
    } catch (error) {
      return new Unreadable(
        `a payload ${encodingOf(payload)} cannot be read (${messageOf(error)}): give json/plain`,
      ) as T;
    }
  },
};

function encodingOf({ metadata }: Payload): string {
  const encoding = metadata?.['encoding'];
  return encoding == null ? 'without an encoding' : `with encoding ${new TextDecoder().decode(encoding)}`;
}
