import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import type { Failure, Payload } from './run.js';

export const toPayload = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);

export const toPayloads = (values: readonly unknown[]): Payload[] => values.map(toPayload);

export const fromPayload = (payload: Payload | null | undefined): unknown =>
  payload === null || payload === undefined ? undefined : defaultPayloadConverter.fromPayload(payload);

export const fromPayloads = (payloads: readonly Payload[] | null | undefined): unknown[] =>
  (payloads ?? []).map(fromPayload);

export const toFailure = (error: unknown): Failure =>
  defaultFailureConverter.errorToFailure(error, defaultPayloadConverter);

export const toError = (failure: Failure): Error =>
  defaultFailureConverter.failureToError(failure, defaultPayloadConverter);
