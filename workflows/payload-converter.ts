import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';
import { messageOf } from '../core/error-message.js';
import { Unreadable } from './unreadable.js';

/**
 * The SDK's default converter, except that it returns `Unreadable` for payloads that it cannot decode: another encoding
 * (the Temporal UI offers `json/protobuf`) or broken JSON. An exception here would fail the workflow task again and
 * again. Handlers refuse `Unreadable` (handlers.ts). It is bundled with the workflows and used only there.
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
