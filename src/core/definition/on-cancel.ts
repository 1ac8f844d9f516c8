/** Duty: the last step that a kind may define for its cancelled runs: what `onCancel` may do, and how long it may take. */
import type { KeptBlob } from '../blob.ts'
import { preview } from '../check/preview.ts'
import { ConfigError } from '../errors.ts'
import type { BlobName } from '../history/chat/media.ts'
import { policy } from '../policy.ts'
import type { DeepReadonly } from '../read-only.ts'
import type { WorkerIdentity } from './worker-identity.ts'
import type { WorkerLog } from './worker-log.ts'

/** What `onCancel` of an agent may do. What it sends leaves with the commit that ends the run. */
export interface AgentCancelSelf extends WorkerIdentity {
  /** Number of the run that was cancelled, from 1. */
  readonly run: number
  /** Aborts when `onCancelMs` is over, or when the node loses the worker. Then nothing will be committed: stop working. */
  readonly signal: AbortSignal
  readonly log: WorkerLog
  /** The same if `onCancel` of this run is called again after a crash. Pass it to services that must not do the same work twice. */
  readonly idempotencyKey: string
  /** Sends an input message to a worker that was not cancelled with this one, by reference or id. */
  send(this: void, to: { readonly id: string } | string, value: unknown): void
  /** The bytes of a medium, as for handlers. */
  blob(this: void, medium: BlobName): Promise<KeptBlob | null>
}

/** What `onCancel` of a handler may do. The rest of `Self` throws an error: a cancelled run starts nothing more, and has its result. */
export interface CancelSelf<State = unknown> extends AgentCancelSelf {
  /** The state after the last commit or the last `setState`. Read-only at every depth. */
  readonly state: DeepReadonly<State>
  /** Sets the state with which the next run begins, if only this run was cancelled. */
  setState(this: void, next: DeepReadonly<State>): void
}

/** Throws a ConfigError that names the wrong field. */
export function checkOnCancel({ onCancel, onCancelMs }: { onCancel?: unknown; onCancelMs?: unknown }): void {
  if (onCancel !== undefined && typeof onCancel !== 'function')
    throw new ConfigError(`onCancel must be a function: onCancel(self, reason) { … }, not ${preview(onCancel)}.`)
  if (onCancelMs === undefined) return
  if (onCancel === undefined) throw new ConfigError('onCancelMs limits onCancel, and there is none.')
  if (!(Number.isInteger(onCancelMs) && (onCancelMs as number) >= 1 && (onCancelMs as number) <= policy.timeoutMsMax))
    throw new ConfigError(
      `onCancelMs must be a whole number from 1 to ${policy.timeoutMsMax}, not ${preview(onCancelMs)}.`,
    )
}
