/** A row of a worker as the store reads it, from the fields of its record. */
import type { ReadableRow } from '../../../src/client/worker-rows.ts'
import { noSignals } from '../../../src/store/person/open-asks.ts'
import { readRecord } from '../../../src/store/record/worker-record.ts'
import type { RecordFields } from '../../../src/store/script/replies.ts'

const none: Omit<ReadableRow, 'id' | 'record' | 'fieldDamage'> = {
  failureJson: null,
  damage: null,
  keyDamage: null,
  node: null,
  nodeSeenAt: null,
  readAt: 0,
  times: { queuedAt: null, dueAt: null, leaseEndsAt: null },
  isHosted: true,
  pause: null,
  historyLength: 0,
  updatedAt: null,
  wasCancelled: false,
  gate: null,
  pending: { inbox: 0, results: 0, signals: 0 },
  open: noSignals,
}

/** The row says that the worker runs, unless `fields` say something else. */
export function readableRow(id: string, fields: RecordFields, more: Partial<ReadableRow> = {}): ReadableRow {
  const { record, damage } = readRecord(id, { kind: 'planner', status: 'running', open: '1', ...fields })
  return { id, record, fieldDamage: damage, ...none, ...more }
}
