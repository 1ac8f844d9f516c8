/** Duty: the node around turns in memory: it is alone, has no slot to claim with, and hears nothing of others. */
import { noTelemetry } from '../core/ports/telemetry.ts'
import type { TurnHost } from '../runtime/turn/turn-host.ts'

export function loneHost({ log, ...parts }: Pick<TurnHost, 'store' | 'blobs' | 'log' | 'policy'>): TurnHost {
  return {
    ...parts,
    log,
    wakeup: '',
    wake: () => {},
    plan: () => ({ kind: 'leave', wasBusy: false }),
    noteBusy: () => {},
    noteTimer: () => {},
    noteGate: () => {},
    poolOf: () => 'default',
    nodeId: 'test',
    describeKind: () => '',
    live: { isFollowed: () => false, publish: () => {} },
    telemetry: noTelemetry,
    workerLog: () => log,
  }
}
