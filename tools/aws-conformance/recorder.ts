import type { AwsOptions } from '../../cloud/aws/options.js';
import { calledBy } from '../stack/cloud-proxy/called.js';
import { catalogueActions, type RecordedCall, type Recording } from '../stack/cloud-proxy/recording.js';
import { scrubbed, type AccountNames } from './scrub.js';

/** Keeps what an account answers, step by step. */
export class Recorder {
  /** Of the suite, for what is heard from now on. */
  step = '';
  readonly #calls: RecordedCall[] = [];

  /** For the provider's `onExchange`. */
  readonly hear: NonNullable<AwsOptions['onExchange']> = (exchange) => {
    const { service, action, params } = calledBy(exchange, exchange.service);
    if (catalogueActions.includes(action)) return;
    const { status, headers, body } = exchange.answer;
    const errorType = headers['x-amzn-errortype'];
    const { 'content-type': contentType = '' } = headers;
    const answer = { status, contentType, ...(errorType !== undefined && { errorType }), body };
    this.#calls.push({ step: this.step, service, action, params, ...answer });
  };

  /** What was heard, with nothing of the account in it. Throws when that cannot be had. */
  recording(region: string, recordedAt: Date, names: AccountNames): Recording {
    return { version: 1, recordedAt: recordedAt.toISOString(), region, calls: scrubbed(this.#calls, names) };
  }
}
