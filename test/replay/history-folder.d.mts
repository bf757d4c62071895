import type { History } from '@temporalio/worker';

export interface RecordedHistory {
  readonly version: string;
  readonly shape: string;
  readonly history: History;
}

export function currentVersion(): string;
export function recordedTypes(): readonly string[];
export function recordedHistories(type: string): readonly RecordedHistory[];
export function versionsOf(type: string): readonly string[];
export function keepHistory(type: string, version: string, history: History, workflowId: string): boolean;
export function writeCounts(): Readonly<Record<string, number>>;
export function expectedCounts(): Readonly<Record<string, number>>;
